/* SPDX-License-Identifier: MIT
 * Products of float matrices with NEON, for all tables of arm64: see vec_products.inc. */
#include "kern/vec_neon.h"

enum { MOST_TOKENS = 3, STRIPS = 1 };

/* Sixteen rows. */
typedef struct column {
    float32x4_t a, b, c, d;
} column;

ST_INLINE column column_zero(void) {
    const float32x4_t none = vdupq_n_f32(0);
    return (column){none, none, none, none};
}

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

ST_INLINE column add_product(column sum, column w, const float *x) {
    return (column){vfmaq_n_f32(sum.a, w.a, *x), vfmaq_n_f32(sum.b, w.b, *x), vfmaq_n_f32(sum.c, w.c, *x),
                    vfmaq_n_f32(sum.d, w.d, *x)};
}

ST_INLINE void store_sums(float *y, column even, column odd) {
    vst1q_f32(y, vaddq_f32(even.a, odd.a));
    vst1q_f32(y + 4, vaddq_f32(even.b, odd.b));
    vst1q_f32(y + 8, vaddq_f32(even.c, odd.c));
    vst1q_f32(y + 12, vaddq_f32(even.d, odd.d));
}

/* No machine to measure on whether it would help. */
ST_INLINE void fetch_ahead(const uint8_t *p, int bytes) {
    (void)p;
    (void)bytes;
}
ST_INLINE void fetch_pair(const uint8_t *p, int bytes) {
    fetch_ahead(p, bytes);
}

#include "kern/vec_products.inc"
