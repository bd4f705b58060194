/* SPDX-License-Identifier: MIT
 * What quantising activations has in common with AVX2 and AVX-512: all that follows the rounding. */
#ifndef ST_KERN_QUANTIZE_AVX2_H
#define ST_KERN_QUANTIZE_AVX2_H

#include "kern/avx2.h"

#include <math.h>

/* One token's part of a block: see st_panel. */
typedef struct qtoken {
    int8_t *q;
    float *d, *ds;
    int16_t *sums;
} qtoken;

/* The largest of the lanes, in all lanes. */
ST_INLINE __m128 largest_lane(__m256i v) {
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_castsi128_ps(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* By what a block is multiplied whose largest |x| is top; and all ones, unless it has to become zeros. */
ST_INLINE __m128 scale_of(__m128 top) {
    return _mm_div_ps(_mm_set1_ps(127), top);
}
ST_INLINE __m128 is_fine(__m128 top) {
    return _mm_and_ps(_mm_cmpgt_ps(top, _mm_set1_ps(ST_QUANT_TINY)), _mm_cmplt_ps(top, _mm_set1_ps(INFINITY)));
}

/* Stores a block's values in order, and what goes with them. */
ST_INLINE void store_block(__m256i bytes, __m128 top, qtoken to) {
    _mm256_storeu_si256((__m256i *)to.q, bytes);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
    const __m256i twos = add16(pairs, _mm256_shuffle_epi32(pairs, 0xb1));
    const __m256i halves = add16(twos, _mm256_shuffle_epi32(twos, 0x4e)); /* in every lane the two sums of its half */
    const __m128i four = _mm_unpacklo_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storel_epi64((__m128i *)to.sums, four);
    const __m128i two = _mm_madd_epi16(four, _mm_set1_epi16(1));
    const __m128 total = _mm_cvtepi32_ps(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1))),
                 scale = _mm_div_ps(top, _mm_set1_ps(127));
    _mm_store_ss(to.d, scale);
    _mm_store_ss(to.ds, _mm_mul_ss(scale, total));
}

/* Quantizes 32 floats at x, or the first n < 32 and zeros. */
typedef void quantize_fn(const float *x, uint32_t n, qtoken to);

ST_INLINE void quantize_blocks(const st_panel *panel, uint32_t block_lo, uint32_t block_hi, quantize_fn *block_whole,
                               quantize_fn *block_rest) {
    const uint32_t n = panel->n;
    for (uint32_t b = block_lo; b < block_hi; b++) {
        uint8_t *block = panel->quant + (size_t)b * n * ST_QBLOCK_BYTES;
        float *d = (float *)(block + 32 * (size_t)n), *ds = d + n;
        int16_t *sums = (int16_t *)(ds + n);
        const uint32_t left = panel->cols - 32 * b;
        for (uint32_t t = 0; t < n; t++) {
            const float *x = panel->x + t * panel->stride + 32 * b;
            const qtoken to = {(int8_t *)block + 32 * t, d + t, ds + t, sums + 4 * t};
            if (left < 32)
                block_rest(x, left, to);
            else
                block_whole(x, 32, to);
        }
    }
}

#endif
