/* SPDX-License-Identifier: MIT
 * Products of float matrices with AVX-512, in the order of float_avx2.c: of every row and token a sum of even and one
 * of odd columns, added at the end. */
#include "kern/avx512.h"
#include "kern/matmul_avx512.h"

/* Sixteen values of one column to floats. */
typedef __m512 column_fn(const uint8_t *p);

ST_INLINE __m512 column_f32(const uint8_t *p) {
    return _mm512_loadu_ps(p);
}
ST_INLINE __m512 column_f16(const uint8_t *p) {
    return load_half_lanes(p);
}
ST_INLINE __m512 column_bf16(const uint8_t *p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* Even and odd sums of up to six tokens. */
typedef struct chains {
    __m512 even0, even1, even2, even3, even4, even5, odd0, odd1, odd2, odd3, odd4, odd5;
} chains;

#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)                                                                                               \
    if (tokens > 3) X(3)                                                                                               \
    if (tokens > 4) X(4)                                                                                               \
    if (tokens > 5) X(5)

ST_INLINE void product(const st_matrix *w, const uint8_t *strip, const float *x, size_t stride, int tokens,
                       column_fn *get, size_t column_bytes, float *y, size_t ldy) {
    const __m512 zero = _mm512_setzero_ps();
    chains s = {zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero};
    __m512 c;
#define EVEN(t) s.even##t = _mm512_fmadd_ps(c, _mm512_set1_ps(x[stride * (t)]), s.even##t);
#define ODD(t) s.odd##t = _mm512_fmadd_ps(c, _mm512_set1_ps(x[stride * (t) + 1]), s.odd##t);
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
#define STORE(t) _mm512_storeu_ps(y + ldy * (t), _mm512_add_ps(s.even##t, s.odd##t));
    FOR_TOKENS(STORE)
#undef STORE
}

ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      column_fn *get, size_t column_bytes) {
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *strip = w->data + s * w->strip_bytes;
        float *to = y + (size_t)s * ST_STRIP;
        const float *x = panel->x;
        const size_t stride = panel->stride;
        uint32_t left = panel->n;
        for (; left >= 6; left -= 6, x += 6 * stride, to += 6 * ldy)
            product(w, strip, x, stride, 6, get, column_bytes, to, ldy);
        for (; left >= 2; left -= 2, x += 2 * stride, to += 2 * ldy)
            product(w, strip, x, stride, 2, get, column_bytes, to, ldy);
        if (left == 1) product(w, strip, x, stride, 1, get, column_bytes, to, ldy);
    }
}

ST_KERN_MATMUL_DECL(st_matmul_f32_avx512) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f32, 64);
}
ST_KERN_MATMUL_DECL(st_matmul_f16_avx512) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f16, 32);
}
ST_KERN_MATMUL_DECL(st_matmul_bf16_avx512) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_bf16, 32);
}
