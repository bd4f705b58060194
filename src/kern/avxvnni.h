/* SPDX-License-Identifier: MIT
 * What the AVX-VNNI kernels share: the byte dot product of AVX-512 VNNI in registers of 256 bits, which Intel's clients
 * have since Alder Lake and AMD's since Zen 5. Included by *_avxvnni.c only.
 *
 * Sums over quantized blocks are those that avx2.h defines, bit for bit, as with AVX-512 (avx512.h): what is signed
 * goes in with an offset, and integer scales are multiplied in as floats, which is exact. */
#ifndef ST_KERN_AVXVNNI_H
#define ST_KERN_AVXVNNI_H

#include "kern/avx2.h"

/* Tests compile these kernels with a function in the place of the intrinsic, to run them on any processor. */
#ifdef ST_EMULATE_AVXVNNI
#include ST_EMULATE_AVXVNNI
#endif

/* sum + the products of four unsigned bytes of w and four signed ones of x, in each lane of 32 bits. */
ST_INLINE __m256i add_dot4(__m256i sum, __m256i w, __m256i x) {
    return _mm256_dpbusd_avx_epi32(sum, w, x);
}

uint32_t st_burn_dots_avxvnni(uint32_t rounds);

#endif
