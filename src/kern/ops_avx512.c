/* SPDX-License-Identifier: MIT
 * Vector operations with AVX-512; those that are not here are the AVX2 ones. */
#include "kern/quantize_avx2.h"
#include "kern/vec_avx512.h"

ST_INLINE void quantize(__m512 a, __m512 b, qtoken to) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
#define SIZE(v) _mm512_and_si512(_mm512_castps_si512(v), magnitude) /* as bits: see largest() in ops_scalar.c */
    const __m512i sizes = _mm512_max_epi32(SIZE(a), SIZE(b));
#undef SIZE
    const __m128 top =
        largest_lane(_mm256_max_epi32(_mm512_castsi512_si256(sizes), _mm512_extracti64x4_epi64(sizes, 1)));
    const __m512 by = _mm512_broadcastss_ps(scale_of(top)), keep = _mm512_broadcastss_ps(is_fine(top));
#define BYTES(v) _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_and_ps(_mm512_mul_ps(v, by), keep)))
    store_block(_mm256_inserti128_si256(_mm256_castsi128_si256(BYTES(a)), BYTES(b), 1), top, to);
#undef BYTES
}

ST_INLINE void quantize_whole(const float *x, uint32_t n, qtoken to) {
    (void)n;
    quantize(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16), to);
}

/* The last, incomplete block. */
static void quantize_rest(const float *x, uint32_t n, qtoken to) {
    quantize(vec_load_first(x, n < 16 ? n : 16), vec_load_first(x + 16, n > 16 ? n - 16 : 0), to);
}

void st_quantize_avx512(const st_panel *panel, uint32_t block_lo, uint32_t block_hi) {
    quantize_blocks(panel, block_lo, block_hi, quantize_whole, quantize_rest);
}

/* Products of a and b, summed in four chains of sixteen. */
ST_INLINE float dot(const float *a, const float *b, uint32_t n) {
    vec s0 = vec_set(0), s1 = s0, s2 = s0, s3 = s0;
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64) {
        s0 = vec_fma(vec_load(a + i), vec_load(b + i), s0);
        s1 = vec_fma(vec_load(a + i + 16), vec_load(b + i + 16), s1);
        s2 = vec_fma(vec_load(a + i + 32), vec_load(b + i + 32), s2);
        s3 = vec_fma(vec_load(a + i + 48), vec_load(b + i + 48), s3);
    }
    for (; i < n; i += 16) {
        const uint32_t left = n - i < 16 ? n - i : 16;
        s0 = vec_fma(vec_load_first(a + i, left), vec_load_first(b + i, left), s0);
    }
    return lanes_sum(vec_add(vec_add(s0, s1), vec_add(s2, s3)));
}

#include "kern/vec_ops.inc"
