/* SPDX-License-Identifier: MIT
 * What arithmetic gives with AVX-VNNI. */
#include "kern/avxvnni.h"

/* The compiler has to take x for another one each time. */
#define HIDE(x) __asm__ volatile("" : "+x"(x))

enum { SUMS = 8, A_VECTOR = 32 }; /* products */
_Static_assert(ST_BURN_ROUND % (SUMS * A_VECTOR) == 0, "a round is so many times all sums");

/* Eight sums, as the kernels have them. vpdpbusd has a latency of up to five cycles, and some processors start two in
 * each; but here and there sums begin anew after some products, without waiting for those before. */
uint32_t st_burn_dots_avxvnni(uint32_t rounds) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i x = _mm256_set1_epi8(1), total = zero;
    for (; rounds > 0; rounds--) {
        __m256i s0 = zero, s1 = zero, s2 = zero, s3 = zero, s4 = zero, s5 = zero, s6 = zero, s7 = zero;
        for (int i = 0; i < ST_BURN_ROUND / (SUMS * A_VECTOR); i++) {
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum = add_dot4(sum, x, x);
            ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)
#undef ADD
        }
        s0 = add32(add32(s0, s1), add32(s2, s3));
        s4 = add32(add32(s4, s5), add32(s6, s7));
        total = add32(total, add32(s0, s4));
    }
    return lanes256_sum32(total);
}
