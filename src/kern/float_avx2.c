/* SPDX-License-Identifier: MIT
 * Products of float matrices with AVX2. Of every row and token there are two sums, of even and of odd columns, each in
 * order of k with fused multiply-add, added at the end: enough to hide the latency in a matrix-vector product, and few
 * enough that three tokens fit the registers. */
#include "kern/avx2.h"
#include "kern/matmul_avx2.h"

/* Sixteen values of one column to floats. */
typedef struct column {
    __m256 lo, hi;
} column;
typedef column column_fn(const uint8_t *p);

ST_INLINE column column_f32(const uint8_t *p) {
    return (column){_mm256_loadu_ps((const float *)p), _mm256_loadu_ps((const float *)p + 8)};
}

ST_INLINE column column_f16(const uint8_t *p) { return (column){load_halves(p), load_halves(p + 16)}; }

ST_INLINE __m256 load_bfloats(const uint8_t *p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

ST_INLINE column column_bf16(const uint8_t *p) { return (column){load_bfloats(p), load_bfloats(p + 16)}; }

/* Even and odd sums of up to three tokens. */
typedef struct chains {
    column even0, even1, even2, odd0, odd1, odd2;
} chains;

#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)

ST_INLINE column add_product(column sum, column w, const float *x) {
    const __m256 v = _mm256_broadcast_ss(x);
    return (column){_mm256_fmadd_ps(w.lo, v, sum.lo), _mm256_fmadd_ps(w.hi, v, sum.hi)};
}

ST_INLINE void product(const st_matrix *w, const uint8_t *strip, const float *x, size_t stride, int tokens,
                       column_fn *get, size_t column_bytes, float *y, size_t ldy) {
    const column zero = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    chains s = {zero, zero, zero, zero, zero, zero};
    column c;
#define EVEN(t) s.even##t = add_product(s.even##t, c, x + stride * (t));
#define ODD(t) s.odd##t = add_product(s.odd##t, c, x + stride * (t) + 1);
    for (uint32_t k = w->cols / 2; k > 0; k--, x += 2, strip += 2 * column_bytes) {
        fetch_ahead(strip, (int)(2 * column_bytes));
        c = get(strip);
        FOR_TOKENS(EVEN)
        c = get(strip + column_bytes);
        FOR_TOKENS(ODD)
    }
    if (w->cols % 2) {
        c = get(strip);
        FOR_TOKENS(EVEN)
    }
#undef EVEN
#undef ODD
#define STORE(t)                                                                                                       \
    {                                                                                                                  \
        _mm256_storeu_ps(y + ldy * (t), _mm256_add_ps(s.even##t.lo, s.odd##t.lo));                                     \
        _mm256_storeu_ps(y + ldy * (t) + 8, _mm256_add_ps(s.even##t.hi, s.odd##t.hi));                                 \
    }
    FOR_TOKENS(STORE)
#undef STORE
}

ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      column_fn *get, size_t column_bytes) {
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *strip = w->data + s * w->strip_bytes;
        float *to = y + (size_t)s * ST_STRIP;
        const float *x = panel->x;
        uint32_t left = panel->n;
        for (; left >= 3; left -= 3, x += 3 * panel->stride, to += 3 * ldy)
            product(w, strip, x, panel->stride, 3, get, column_bytes, to, ldy);
        if (left == 2) product(w, strip, x, panel->stride, 2, get, column_bytes, to, ldy);
        if (left == 1) product(w, strip, x, panel->stride, 1, get, column_bytes, to, ldy);
    }
}

ST_KERN_MATMUL_DECL(st_matmul_f32_avx2) { matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f32, 64); }
ST_KERN_MATMUL_DECL(st_matmul_f16_avx2) { matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f16, 32); }
ST_KERN_MATMUL_DECL(st_matmul_bf16_avx2) { matmul(w, panel, strip_lo, strip_hi, y, ldy, column_bf16, 32); }
