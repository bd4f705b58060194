/* SPDX-License-Identifier: MIT
 * The one AVX-VNNI intrinsic that src/kern uses, as a plain loop over what Intel's Intrinsics Guide says of it. */
#ifndef ST_TESTS_CHECKKERN_EMULATE_AVXVNNI_H
#define ST_TESTS_CHECKKERN_EMULATE_AVXVNNI_H

#include <immintrin.h>
#include <stdint.h>

typedef union emu256 {
    __m256i i;
    uint8_t u8[32];
    int8_t s8[32];
    int32_t s32[8];
} emu256;

/* In each lane four products of unsigned bytes of w and signed ones of x, added to sum without saturation. */
static inline __m256i emu256_dpbusd(__m256i sum, __m256i w, __m256i x) {
    const emu256 b = {w}, c = {x};
    emu256 r = {sum};
    for (int i = 0; i < 32; i++) r.s32[i / 4] += b.u8[i] * c.s8[i];
    return r.i;
}

#define _mm256_dpbusd_avx_epi32 emu256_dpbusd

#endif
