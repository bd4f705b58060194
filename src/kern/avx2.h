/* SPDX-License-Identifier: MIT
 * What the AVX2 kernels share. Included by *_avx2.c only.
 *
 * The order of every sum over quantized blocks, in matrix-vector and matrix-matrix kernels alike, so that both give the
 * same bits: for each (row, token) one float accumulator starts at 0 and takes the blocks of 32 columns in order of k:
 *     acc = fma(float(I), d_w * d_x, acc)
 *     acc = fma(m, ds_x, acc)                    Q4_1, Q5_1 (m), Q4_K, Q5_K (m = -(dmin * float(min)))
 *     acc = fma(float(M), -(dmin * d_x), acc)    Q2_K
 * where I is an exact integer: sum w x, or sum scale w x with the integer scales of a K-quant (one or two a block); and
 * M is sum min x. w is signed for Q4_0, Q5_0, Q6_K, Q3_K, Q8_0, IQ4_NL and IQ4_XS, else as stored.
 *
 * Products of unsigned weights with int8 activations add up in 16 bits; a lane of 32 bits is one row, with one sum of
 * columns k % 4 < 2 and one of the others. 15 * 127 * 2 * 8 = 30480 and 31 * 127 * 2 * 4 = 31496 do not overflow. Where
 * weights have an offset, the sums of the activations times the offset are taken off in the same 16 bits, modulo 2^16,
 * after which 8 * 127 * 16, 16 * 127 * 16 = 32512 (32 columns of Q5_0) and 32 * 127 * 8 = 32512 (16 columns of Q6_K)
 * fit again. Signed weights of 8 bits go in as |w| against x with the sign of w: 128 * 127 * 2 = 32512 for one pair. */
#ifndef ST_KERN_AVX2_H
#define ST_KERN_AVX2_H

#include "kern/inline.h"
#include "kern/layout.h"
#include "kern/scalar.h"

#include <immintrin.h>
#include <string.h>

ST_KERN_OPS_DECL(avx2);

ST_INLINE __m256i load256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

ST_INLINE void store256(void *p, __m256i v) {
    _mm256_store_si256((__m256i *)p, v);
}

/* Loaded to stay in a register: the compiler cannot know that it could load it again. */
ST_INLINE __m256i load256_once(const void *p) {
    __m256i v = load256(p);
    __asm__("" : "+x"(v));
    return v;
}

/* Makes the compiler have a sum in a register here, rather than put it off to where it is used, with all that it is
 * made of waiting in spill slots. */
#define HOLD(sum) __asm__ volatile("" : "+x"(sum))

/* Whatever was loaded before has to be loaded again, rather than kept in a register, or in a spill slot when those run
 * out. */
#define FORGET_LOADS() __asm__ volatile("" : : : "memory")

/* Four bytes, or one float, in every lane; from memory this costs no arithmetic. */
ST_INLINE __m256i broadcast4(const void *p) {
    int32_t v;
    memcpy(&v, p, sizeof(v));
    return _mm256_set1_epi32(v);
}

/* Eight f16. */
ST_INLINE __m256 load_halves(const void *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

ST_INLINE __m256i low_nibbles(__m256i v) {
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}
ST_INLINE __m256i high_nibbles(__m256i v) {
    return low_nibbles(_mm256_srli_epi16(v, 4));
}

/* Eight bytes, one a row, to 16-bit pairs (b, b) in the row's lane; and as float. */
ST_INLINE __m256i byte_pairs(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof(v));
    const __m256i spread = _mm256_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5, -1,
                                            5, -1, 6, -1, 6, -1, 7, -1, 7, -1);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(v), spread);
}

ST_INLINE __m256i signed_byte_pairs(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof(v));
    const __m256i spread = _mm256_setr_epi8(-1, 0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5,
                                            -1, 5, -1, 6, -1, 6, -1, 7, -1, 7);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(_mm256_set1_epi64x(v), spread), 8);
}

ST_INLINE __m256 byte_floats(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* The values of eight rows, by four columns. */
typedef struct fives {
    __m256i v0, v1, v2, v3, v4, v5, v6, v7;
} fives;
typedef struct sixes {
    __m256i v0, v1, v2, v3;
} sixes;

#define BITS_DOWN(v, shift, mask) _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8(mask))
#define BITS(v, mask) _mm256_and_si256(v, _mm256_set1_epi8(mask))
/* The values that lie in the high bits of the vectors a, b, c, d, e. */
#define FIVE_5(a, b) _mm256_or_si256(BITS_DOWN(a, 5, 7), BITS_DOWN(b, 2, 0x18))
#define FIVE_6(c, d) FIVE_5(c, d)
#define FIVE_7(b, d, e) _mm256_or_si256(_mm256_or_si256(BITS_DOWN(e, 5, 7), BITS_DOWN(b, 4, 8)), BITS_DOWN(d, 3, 16))
#define SIX_3(a, b, c) _mm256_or_si256(_mm256_or_si256(BITS_DOWN(a, 6, 3), BITS_DOWN(b, 4, 12)), BITS_DOWN(c, 2, 48))

ST_INLINE fives load_fives(const uint8_t *p) {
    const __m256i a = load256(p), b = load256(p + 64), c = load256(p + 128), d = load256(p + 192), e = load256(p + 256);
    return (fives){BITS(a, 31), BITS(b, 31),  BITS(c, 31),  BITS(d, 31),
                   BITS(e, 31), FIVE_5(a, b), FIVE_6(c, d), FIVE_7(b, d, e)};
}

ST_INLINE sixes load_sixes(const uint8_t *p) {
    const __m256i a = load256(p), b = load256(p + 64), c = load256(p + 128);
    return (sixes){BITS(a, 63), BITS(b, 63), BITS(c, 63), SIX_3(a, b, c)};
}

ST_INLINE __m256i add16(__m256i a, __m256i b) {
    return _mm256_add_epi16(a, b);
}
ST_INLINE __m256i sub16(__m256i a, __m256i b) {
    return _mm256_sub_epi16(a, b);
}
ST_INLINE __m256i add32(__m256i a, __m256i b) {
    return _mm256_add_epi32(a, b);
}
ST_INLINE __m256i pairs_to_lanes(__m256i v) {
    return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}

/* The signed byte products of one vector, added up in each lane. */
ST_INLINE __m256i dot_signed(__m256i w, __m256i x) {
    return pairs_to_lanes(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)));
}

/* Across a vector, in one fixed order. */
ST_INLINE float lanes256_sum(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
ST_INLINE uint32_t lanes256_sum32(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
ST_INLINE float lanes256_max(__m256 v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* Fetches what stands at p, of `bytes`, from line to line. Running past the end of the weights does no harm. */
ST_INLINE void fetch_lines(const uint8_t *p, int bytes) {
#define LINE(at)                                                                                                       \
    if (bytes > (at)) _mm_prefetch((const char *)p + (at), _MM_HINT_T0);
    LINE(0)
    LINE(64)
    LINE(128)
    LINE(192)
    LINE(256)
    LINE(320)
    LINE(384)
    LINE(448)
    LINE(512)
#undef LINE
}

/* How many bytes before it is used: the hardware fetches too, but not far enough to keep up while a block is unpacked.
 * NEAR: where there is little to unpack. */
enum { AHEAD = 896, NEAR = 448 };
ST_INLINE void fetch_ahead(const uint8_t *p, int bytes) {
    fetch_lines(p + AHEAD, bytes);
}

#endif
