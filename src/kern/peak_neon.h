/* SPDX-License-Identifier: MIT
 * What measuring the arithmetic of the arm64 tables shares: the frame of st_kern.burn. */
#ifndef ST_KERN_PEAK_NEON_H
#define ST_KERN_PEAK_NEON_H

#include "kern/neon.h"

/* The compiler has to take x for another one each time. */
#define HIDE(x) __asm__ volatile("" : "+w"(x))

/* A table's st_kern.burn[ST_BURN_DOTS]: eight sums side by side, each of which `ADD(sum)` adds `each` products to. */
#define ST_NEON_BURN_DOTS(isa, each, ADD)                                                                              \
    uint32_t st_burn_dots_##isa(uint32_t rounds) {                                                                     \
        int8x16_t x = vdupq_n_s8(1);                                                                                   \
        int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;                  \
        for (; rounds > 0; rounds--)                                                                                   \
            for (int i = 0; i < ST_BURN_ROUND / (8 * (each)); i++) {                                                   \
                ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)                                        \
            }                                                                                                          \
        s0 = vaddq_s32(vaddq_s32(s0, s1), vaddq_s32(s2, s3));                                                          \
        s4 = vaddq_s32(vaddq_s32(s4, s5), vaddq_s32(s6, s7));                                                          \
        return (uint32_t)vaddvq_s32(vaddq_s32(s0, s4));                                                                \
    }

#endif
