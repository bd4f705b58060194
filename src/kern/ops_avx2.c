/* SPDX-License-Identifier: MIT
 * Vector operations with AVX2. */
#include "kern/quantize_avx2.h"
#include "kern/vec_avx2.h"

#include <math.h>

ST_INLINE void quantize(__m256 a, __m256 b, __m256 c, __m256 d, qtoken to) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
#define SIZE(v) _mm256_and_si256(_mm256_castps_si256(v), magnitude) /* as bits: see largest() in ops_scalar.c */
    const __m256i sizes = _mm256_max_epi32(_mm256_max_epi32(SIZE(a), SIZE(b)), _mm256_max_epi32(SIZE(c), SIZE(d)));
#undef SIZE
    const __m128 top = largest_lane(sizes);
    const __m256 by = _mm256_broadcastss_ps(scale_of(top)), keep = _mm256_broadcastss_ps(is_fine(top));
#define ROUNDED(v) _mm256_cvtps_epi32(_mm256_and_ps(_mm256_mul_ps(v, by), keep))
    const __m256i low = _mm256_packs_epi32(ROUNDED(a), ROUNDED(b)), high = _mm256_packs_epi32(ROUNDED(c), ROUNDED(d));
#undef ROUNDED
    /* packs works in halves: put the groups of four back in order */
    store_block(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)),
                top, to);
}

ST_INLINE void quantize_whole(const float *x, uint32_t n, qtoken to) {
    (void)n;
    quantize(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16), _mm256_loadu_ps(x + 24), to);
}

/* The last, incomplete block. */
static void quantize_rest(const float *x, uint32_t n, qtoken to) {
#define PART(from) vec_load_first(x + (from), n > (from) ? n - (from) : 0)
    quantize(PART(0), PART(8), PART(16), PART(24), to);
#undef PART
}

void st_quantize_avx2(const st_panel *panel, uint32_t block_lo, uint32_t block_hi) {
    quantize_blocks(panel, block_lo, block_hi, quantize_whole, quantize_rest);
}

/* Products of a and b, summed in four chains of eight. */
ST_INLINE float dot(const float *a, const float *b, uint32_t n) {
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        s0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), s0);
        s1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8), s1);
        s2 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 16), _mm256_loadu_ps(b + i + 16), s2);
        s3 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 24), _mm256_loadu_ps(b + i + 24), s3);
    }
    for (; i < n; i += 8) {
        const __m256i m = first_lanes(n - i);
        s0 = _mm256_fmadd_ps(_mm256_maskload_ps(a + i, m), _mm256_maskload_ps(b + i, m), s0);
    }
    return lanes_sum(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
}

#include "kern/vec_ops.inc"

/* Pairs (2i, 2i + 1), four at a time: x c -+ swapped x s. */
ST_INLINE uint32_t rope_neighbours(float *x, const float *cos_sin, uint32_t n_pairs) {
    uint32_t i = 0;
    for (; i + 4 <= n_pairs; i += 4) {
        const __m256 v = _mm256_loadu_ps(x + 2 * i), turn = _mm256_loadu_ps(cos_sin + 2 * i);
        const __m256 across = _mm256_mul_ps(_mm256_permute_ps(v, 0xb1), _mm256_movehdup_ps(turn));
        _mm256_storeu_ps(x + 2 * i, _mm256_addsub_ps(_mm256_mul_ps(v, _mm256_moveldup_ps(turn)), across));
    }
    return i;
}

/* Pairs (i, i + half), eight at a time. */
ST_INLINE uint32_t rope_halves(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t half) {
    uint32_t i = 0;
    for (; i + 8 <= n_pairs; i += 8) {
        const __m256 t0 = _mm256_loadu_ps(cos_sin + 2 * i), t1 = _mm256_loadu_ps(cos_sin + 2 * i + 8);
        const __m256d c4 = _mm256_castps_pd(_mm256_shuffle_ps(t0, t1, 0x88)),
                      s4 = _mm256_castps_pd(_mm256_shuffle_ps(t0, t1, 0xdd));
        const __m256 c = _mm256_castpd_ps(_mm256_permute4x64_pd(c4, 0xd8)),
                     s = _mm256_castpd_ps(_mm256_permute4x64_pd(s4, 0xd8));
        const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + half + i);
        _mm256_storeu_ps(x + i, _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)));
        _mm256_storeu_ps(x + half + i, _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c)));
    }
    return i;
}

void st_rope_avx2(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox) {
    const uint32_t half = head_dim / 2;
    uint32_t i = neox ? rope_halves(x, cos_sin, n_pairs, half) : rope_neighbours(x, cos_sin, n_pairs);
    for (; i < n_pairs; i++) {
        float *a = x + (neox ? i : 2 * i), *b = neox ? a + half : a + 1;
        const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], a0 = *a, b0 = *b;
        *a = a0 * c - b0 * s;
        *b = a0 * s + b0 * c;
    }
}

/* The largest number of x, or -infinity. maxps gives its second operand when the first is NaN. */
static float largest_number(const float *x, uint32_t n) {
    __m256 t0 = _mm256_set1_ps(-INFINITY), t1 = t0, t2 = t0, t3 = t0;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        t0 = _mm256_max_ps(_mm256_loadu_ps(x + i), t0);
        t1 = _mm256_max_ps(_mm256_loadu_ps(x + i + 8), t1);
        t2 = _mm256_max_ps(_mm256_loadu_ps(x + i + 16), t2);
        t3 = _mm256_max_ps(_mm256_loadu_ps(x + i + 24), t3);
    }
    float top = lanes_max(_mm256_max_ps(_mm256_max_ps(t0, t1), _mm256_max_ps(t2, t3)));
    for (; i < n; i++)
        if (x[i] > top) top = x[i];
    return top;
}

uint32_t st_argmax_avx2(const float *x, uint32_t n) {
    const float top = largest_number(x, n);
    const __m256 wanted = _mm256_set1_ps(top);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const int hit = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + i), wanted, _CMP_EQ_OQ));
        if (hit) return i + (uint32_t)__builtin_ctz((unsigned)hit);
    }
    for (; i < n; i++)
        if (x[i] == top) return i;
    return 0; /* nothing but NaN */
}

void st_kv_store_f16_avx2(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    uint16_t *to = (uint16_t *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    uint16_t *row = (uint16_t *)v + (size_t)slot * head_dim;
    for (uint32_t d = 0; d < head_dim; d += 8) {
        uint16_t halves[8];
        _mm_storeu_si128((__m128i *)halves, _mm256_cvtps_ph(_mm256_loadu_ps(key + d), _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128((__m128i *)(row + d), _mm256_cvtps_ph(_mm256_loadu_ps(value + d), _MM_FROUND_TO_NEAREST_INT));
        for (uint32_t i = 0; i < 8; i++) to[(size_t)(d + i) * 16] = halves[i];
    }
}

void st_kv_store_f32_avx2(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    float *to = (float *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    for (uint32_t d = 0; d < head_dim; d++) to[(size_t)d * 16] = key[d];
    memcpy((float *)v + (size_t)slot * head_dim, value, head_dim * sizeof(float));
}
