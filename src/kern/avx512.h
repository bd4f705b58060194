/* SPDX-License-Identifier: MIT
 * What the AVX-512 kernels share. Included by *_avx512.c only.
 *
 * Sums over quantized blocks are those that avx2.h defines, bit for bit: integers are exact here and there, and the
 * floats are added in the same order. vpdpbusd takes unsigned weights: what is signed goes in with an offset (128 for
 * bytes, or what the format has), and the sum starts at minus the offset times the sum of the activations. Integer
 * scales are multiplied in as floats: 31 * 127 * 32 * 63 (Q5_K), 32 * 127 * 16 * 128 * 2 (Q6_K) and 127 * 127 * 32 * 32
 * (IQ4_XS) are below 2^24, so that is exact as well. */
#ifndef ST_KERN_AVX512_H
#define ST_KERN_AVX512_H

#include "kern/avx2.h"

/* Tests compile these kernels with functions in the place of the intrinsics, to run them on any processor. */
#ifdef ST_EMULATE_AVX512
#include ST_EMULATE_AVX512
#endif

ST_KERN_OPS_DECL(avx512);

ST_INLINE __m512i load512(const void *p) {
    return _mm512_loadu_si512(p);
}

/* Four bytes, or one float, in every lane. */
ST_INLINE __m512i spread4(const void *p) {
    int32_t v;
    memcpy(&v, p, sizeof(v));
    return _mm512_set1_epi32(v);
}

/* Sixteen f16; sixteen bytes. */
ST_INLINE __m512 load_half_lanes(const void *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
ST_INLINE __m512 byte_lanes(const void *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
ST_INLINE __m512 signed_byte_lanes(const void *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

ST_INLINE __m512 negated(__m512 v) {
    return _mm512_xor_ps(v, _mm512_set1_ps(-0.0f));
}

ST_INLINE __m512i bits512(__m512i v, char mask) {
    return _mm512_and_si512(v, _mm512_set1_epi8(mask));
}
ST_INLINE __m512i bits_down512(__m512i v, unsigned shift, char mask) {
    return bits512(_mm512_srli_epi16(v, shift), mask);
}
/* The bits of v, shifted down, under the mask, and those of rest. */
ST_INLINE __m512i with_bits512(__m512i v, unsigned shift, char mask, __m512i rest) {
    return _mm512_ternarylogic_epi32(_mm512_srli_epi16(v, shift), _mm512_set1_epi8(mask), rest, 0xea); /* ab + c */
}

#endif
