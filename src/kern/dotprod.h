/* SPDX-License-Identifier: MIT
 * The byte dot product of the tables dotprod and i8mm. */
#ifndef ST_KERN_DOTPROD_H
#define ST_KERN_DOTPROD_H

#include "kern/matmul_neon.h"

ST_INLINE int32x4_t dot16(int32x4_t start, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d, int8x16_t x,
                          bool bytes) {
    (void)bytes;
    start = vdotq_laneq_s32(start, a, x, 0);
    start = vdotq_laneq_s32(start, b, x, 1);
    start = vdotq_laneq_s32(start, c, x, 2);
    return vdotq_laneq_s32(start, d, x, 3);
}

#endif
