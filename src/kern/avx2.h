/* SPDX-License-Identifier: MIT
 * What the AVX2 kernels share. Included by *_avx2.c only.
 *
 * The order of every sum over quantized blocks, in matrix-vector and matrix-matrix kernels alike, so that both give the
 * same bits: for each (row, token) one float accumulator starts at 0 and takes the blocks of 32 columns in order of k:
 *     acc = fma(float(I), d_w * d_x, acc)
 *     acc = fma(m, ds_x, acc)                              Q4_0 (m = -8 d_w), Q5_0 (-16 d_w), Q4_1, Q5_1 (m), Q4_K, Q5_K
 *     acc = fma(float(M), -(dmin * d_x), acc)              Q2_K
 * where I is an exact integer: sum w x for Q4_0 to Q8_0 and IQ4_NL (w as stored, without offset for Q4_0 and Q5_0); with
 * scales, sum scale w x over the block's one or two scales for the others, less 32 sum scale x for Q6_K; M is sum min x; and
 * m of Q4_K and Q5_K is -(dmin * float(min)).
 *
 * Products of unsigned weights with int8 activations add up in 16 bits without overflow for as long as shown:
 * 15 * 127 * 2 * 8 = 30480 (4 bits), 31 * 127 * 2 * 4 = 31496 (5 bits), 63 * 127 * 2 * 2 = 32004 (6 bits). Signed weights go in
 * as |w| against x with the sign of w: 128 * 127 * 2 = 32512 for one pair. */
#ifndef ST_KERN_AVX2_H
#define ST_KERN_AVX2_H

#include "kern/layout.h"
#include "kern/scalar.h"

#include <immintrin.h>
#include <string.h>

#define ST_INLINE static inline __attribute__((always_inline))

ST_KERN_OPS_DECL(avx2);

ST_INLINE __m256i load256(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

/* The same, to stay in a register: the compiler cannot know that it could load it again. */
ST_INLINE __m256i load256_once(const void *p) {
    __m256i v = load256(p);
    __asm__("" : "+x"(v));
    return v;
}

/* Four bytes, or one float, in every lane; from memory this costs no arithmetic. */
ST_INLINE __m256i broadcast4(const void *p) {
    int32_t v;
    memcpy(&v, p, sizeof(v));
    return _mm256_set1_epi32(v);
}

/* Eight f16. */
ST_INLINE __m256 load_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }

ST_INLINE __m256i low_nibbles(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
ST_INLINE __m256i high_nibbles(__m256i v) { return low_nibbles(_mm256_srli_epi16(v, 4)); }

/* Eight bytes, one a row, to 16-bit pairs (b, b) in the row's lane; and as float. */
ST_INLINE __m256i byte_pairs(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof(v));
    const __m256i spread = _mm256_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5, -1, 5,
                                            -1, 6, -1, 6, -1, 7, -1, 7, -1);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(v), spread);
}

ST_INLINE __m256i signed_byte_pairs(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof(v));
    const __m256i spread = _mm256_setr_epi8(-1, 0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5, -1,
                                            5, -1, 6, -1, 6, -1, 7, -1, 7);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(_mm256_set1_epi64x(v), spread), 8);
}

ST_INLINE __m256 byte_floats(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* Two rows of eight bytes, p[row] and p[16 + row], to 16-bit pairs (p[row], p[16 + row]). */
ST_INLINE __m256i two_byte_pairs(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(
        _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)(p + 16))));
}

ST_INLINE __m256i two_signed_byte_pairs(const uint8_t *p) {
    return _mm256_cvtepi8_epi16(
        _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)(p + 16))));
}

/* Fifth bits (see layout.h) of the columns 4j.. and 16 + 4j.., as 0 or 16. */
#define FIFTH_LOW(h, j) _mm256_and_si256(_mm256_slli_epi16((h), 4 - (j)), _mm256_set1_epi8(16))
#define FIFTH_HIGH(h, j) _mm256_and_si256(_mm256_srli_epi16((h), (j)), _mm256_set1_epi8(16))

ST_INLINE __m256i add16(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
ST_INLINE __m256i add32(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
ST_INLINE __m256i pairs_to_lanes(__m256i v) { return _mm256_madd_epi16(v, _mm256_set1_epi16(1)); }

/* The signed byte products of one vector, added up in each lane. */
ST_INLINE __m256i dot_signed(__m256i w, __m256i x) {
    return pairs_to_lanes(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)));
}

#endif
