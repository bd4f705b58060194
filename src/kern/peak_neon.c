/* SPDX-License-Identifier: MIT
 * What memory and arithmetic give with NEON. */
#include "kern/peak_neon.h"

ST_INLINE uint64x2_t load_words(const uint8_t *p) {
    return vreinterpretq_u64_u8(vld1q_u8(p));
}

uint64_t st_stream_neon(const uint8_t *data, size_t bytes, enum st_stream_order order) {
    const st_stream_walk walk = st_stream_walk_of(bytes, order);
    uint64x2_t s0 = vdupq_n_u64(0), s1 = s0, s2 = s0, s3 = s0;
#define ADD_LINE(p)                                                                                                    \
    s0 = vaddq_u64(s0, load_words(p));                                                                                 \
    s1 = vaddq_u64(s1, load_words((p) + 16));                                                                          \
    s2 = vaddq_u64(s2, load_words((p) + 32));                                                                          \
    s3 = vaddq_u64(s3, load_words((p) + 48));
    for (size_t i = 0; i < walk.n; i++) {
        const uint8_t *p = data + i * walk.step;
        ADD_LINE(p)
        ADD_LINE(p + walk.apart)
        ADD_LINE(p + 2 * walk.apart)
        ADD_LINE(p + 3 * walk.apart)
    }
    for (size_t i = walk.n * 256; i < bytes; i += 64) {
        ADD_LINE(data + i)
    }
#undef ADD_LINE
    return vaddvq_u64(vaddq_u64(vaddq_u64(s0, s1), vaddq_u64(s2, s3)));
}

/* Sixteen columns of four rows, as the matrix products of at most 6 bits do them: four byte products summed in 16 bits,
 * and one widening. */
ST_INLINE int32x4_t add_products(int32x4_t sum, int8x16_t x) {
    int16x8_t lo = vmull_s8(vget_low_s8(x), vget_low_s8(x)), hi = vmull_s8(vget_high_s8(x), vget_high_s8(x));
    for (int i = 0; i < 3; i++) {
        HIDE(x);
        lo = vmlal_s8(lo, vget_low_s8(x), vget_low_s8(x));
        hi = vmlal_s8(hi, vget_high_s8(x), vget_high_s8(x));
    }
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(lo), vpaddlq_s16(hi)));
}

#define ADD_PRODUCTS(sum)                                                                                              \
    HIDE(x);                                                                                                           \
    sum = add_products(sum, x);
ST_NEON_BURN_DOTS(neon, 64, ADD_PRODUCTS)

uint32_t st_burn_f32_neon(uint32_t rounds) {
    const float32x4_t y = vdupq_n_f32(1);
    float32x4_t x = y, s0 = vdupq_n_f32(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / 32; i++) {
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum = vfmaq_f32(sum, x, y);
            ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)
#undef ADD
        }
    return (uint32_t)(vaddvq_f32(s0) + vaddvq_f32(s1) + vaddvq_f32(s2) + vaddvq_f32(s3) + vaddvq_f32(s4) +
                      vaddvq_f32(s5) + vaddvq_f32(s6) + vaddvq_f32(s7));
}
