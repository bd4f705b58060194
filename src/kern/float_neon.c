/* SPDX-License-Identifier: MIT
 * Products of float matrices with NEON, for all tables of arm64. Of every row and token there are two sums, of even and
 * of odd columns, each in order of k with fused multiply-add, added at the end: enough to hide the latency in a
 * matrix-vector product, and few enough that three tokens fit the registers. */
#include "kern/neon.h"

/* Sixteen rows. */
typedef struct column {
    float32x4_t a, b, c, d;
} column;
typedef column column_fn(const uint8_t *p);

ST_INLINE column column_f32(const uint8_t *p) {
    const float *f = (const float *)p;
    return (column){vld1q_f32(f), vld1q_f32(f + 4), vld1q_f32(f + 8), vld1q_f32(f + 12)};
}

ST_INLINE column column_f16(const uint8_t *p) {
    return (column){load_halves(p), load_halves(p + 8), load_halves(p + 16), load_halves(p + 24)};
}

ST_INLINE float32x4_t load_bfloats(const uint8_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}

ST_INLINE column column_bf16(const uint8_t *p) {
    return (column){load_bfloats(p), load_bfloats(p + 8), load_bfloats(p + 16), load_bfloats(p + 24)};
}

/* Even and odd sums of up to three tokens. */
typedef struct chains {
    column even0, even1, even2, odd0, odd1, odd2;
} chains;

#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)

ST_INLINE column add_product(column sum, column w, float x) {
    return (column){vfmaq_n_f32(sum.a, w.a, x), vfmaq_n_f32(sum.b, w.b, x), vfmaq_n_f32(sum.c, w.c, x),
                    vfmaq_n_f32(sum.d, w.d, x)};
}

ST_INLINE void store_sums(float *y, column even, column odd) {
    vst1q_f32(y, vaddq_f32(even.a, odd.a));
    vst1q_f32(y + 4, vaddq_f32(even.b, odd.b));
    vst1q_f32(y + 8, vaddq_f32(even.c, odd.c));
    vst1q_f32(y + 12, vaddq_f32(even.d, odd.d));
}

ST_INLINE void product(const st_matrix *w, const uint8_t *strip, const float *x, size_t stride, int tokens,
                       column_fn *get, size_t column_bytes, float *y, size_t ldy) {
    const float32x4_t none = vdupq_n_f32(0);
    const column zero = {none, none, none, none};
    chains s = {zero, zero, zero, zero, zero, zero};
    column c;
#define EVEN(t) s.even##t = add_product(s.even##t, c, x[stride * (t)]);
#define ODD(t) s.odd##t = add_product(s.odd##t, c, x[stride * (t) + 1]);
    for (uint32_t k = w->cols / 2; k > 0; k--, x += 2, strip += 2 * column_bytes) {
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
#define STORE(t) store_sums(y + ldy * (t), s.even##t, s.odd##t);
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

ST_KERN_MATMUL_DECL(st_matmul_f32_neon) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f32, 64);
}
ST_KERN_MATMUL_DECL(st_matmul_f16_neon) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_f16, 32);
}
ST_KERN_MATMUL_DECL(st_matmul_bf16_neon) {
    matmul(w, panel, strip_lo, strip_hi, y, ldy, column_bf16, 32);
}
