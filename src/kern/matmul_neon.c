/* SPDX-License-Identifier: MIT
 * Products of quantized matrices for processors without byte dot products. Products of bytes add up in 16 bits, a row's
 * in two lanes, before they are widened: 63 * 127 * 4 = 32004 and 128 * 127 * 2 = 32512 do not overflow. */
#include "kern/matmul_neon.h"

/* Two rows a vector. */
typedef struct sums16 {
    int16x8_t lo, hi;
} sums16;

/* Column group j of x, in the lanes of two rows. */
#define GROUP(x, j) vreinterpret_s8_s32(vdup_laneq_s32(vreinterpretq_s32_s8(x), j))

ST_INLINE sums16 first_products(int8x16_t w, int8x8_t x) {
    return (sums16){vmull_s8(vget_low_s8(w), x), vmull_s8(vget_high_s8(w), x)};
}

ST_INLINE sums16 more_products(sums16 s, int8x16_t w, int8x8_t x) {
    return (sums16){vmlal_s8(s.lo, vget_low_s8(w), x), vmlal_s8(s.hi, vget_high_s8(w), x)};
}

ST_INLINE int32x4_t add_widened(int32x4_t start, sums16 s) {
    return vaddq_s32(start, vpaddq_s32(vpaddlq_s16(s.lo), vpaddlq_s16(s.hi)));
}

ST_INLINE int32x4_t dot16(int32x4_t start, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d, int8x16_t x,
                          bool bytes) {
    sums16 s = more_products(first_products(a, GROUP(x, 0)), b, GROUP(x, 1));
    if (bytes) {
        start = add_widened(start, s);
        s = first_products(c, GROUP(x, 2));
    } else {
        s = more_products(s, c, GROUP(x, 2));
    }
    return add_widened(start, more_products(s, d, GROUP(x, 3)));
}

#define MATMUL(format, shape) ST_NEON_MATMUL(neon, format, shape)
ST_NEON_FORMATS(MATMUL)
