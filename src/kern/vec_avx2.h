/* SPDX-License-Identifier: MIT
 * A vector of floats with AVX2: what vec_math.inc, vec_ops.inc, vec_attention.inc and vec_products.inc are written in.
 * vec_avx512.h and vec_neon.h offer the same. Included by *_avx2.c only. */
#ifndef ST_KERN_VEC_AVX2_H
#define ST_KERN_VEC_AVX2_H

#include "kern/avx2.h"

#define ISA(name) st_##name##_avx2 /* what the templates define */

typedef __m256 vec;
typedef __m256 vec_mask;
enum { LANES = 8 };

/* All ones in the lanes below n. */
ST_INLINE __m256i first_lanes(uint32_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

ST_INLINE vec vec_set(float x) {
    return _mm256_set1_ps(x);
}
ST_INLINE vec vec_load(const float *p) {
    return _mm256_loadu_ps(p);
}
ST_INLINE void vec_store(float *p, vec v) {
    _mm256_storeu_ps(p, v);
}
/* The first n lanes; the others of what is loaded are 0. */
ST_INLINE vec vec_load_first(const float *p, uint32_t n) {
    return _mm256_maskload_ps(p, first_lanes(n));
}
ST_INLINE void vec_store_first(float *p, vec v, uint32_t n) {
    _mm256_maskstore_ps(p, first_lanes(n), v);
}
/* LANES f16; a table of more lanes than 8 can also load the first 8 of them. */
ST_INLINE vec vec_load_halves(const void *p, int lanes) {
    (void)lanes;
    return load_halves(p);
}

ST_INLINE vec vec_add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}
ST_INLINE vec vec_sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}
ST_INLINE vec vec_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}
ST_INLINE vec vec_div(vec a, vec b) {
    return _mm256_div_ps(a, b);
}
/* a b + c; c - a b */
ST_INLINE vec vec_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
ST_INLINE vec vec_fnma(vec a, vec b, vec c) {
    return _mm256_fnmadd_ps(a, b, c);
}
/* Where b is NaN, so is the result. */
ST_INLINE vec vec_max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}
ST_INLINE vec vec_min(vec a, vec b) {
    return _mm256_min_ps(a, b);
}
ST_INLINE vec vec_round(vec v) {
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ST_INLINE vec vec_negated(vec v) {
    return _mm256_xor_ps(v, _mm256_set1_ps(-0.0f));
}
ST_INLINE vec vec_size(vec v) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}
/* v, which is not negative, with the sign of s. */
ST_INLINE vec vec_with_sign(vec v, vec s) {
    return _mm256_or_ps(v, _mm256_and_ps(_mm256_set1_ps(-0.0f), s));
}

ST_INLINE __m256 power_of_two(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
/* v 2^n for whole n in -126..127; and in -160..130 for v from 1/2 to 2, in two factors, so that results near the
 * smallest numbers come out. */
ST_INLINE vec vec_times_power(vec v, vec n) {
    return _mm256_mul_ps(v, power_of_two(_mm256_cvtps_epi32(n)));
}
ST_INLINE vec vec_times_far_power(vec v, vec n) {
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(v, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
}

ST_INLINE vec_mask vec_at_least(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
}
/* The lanes l with lo <= at + l <= hi, which are positions of a block of ST_ATTN_BLOCK. */
ST_INLINE vec_mask vec_between(uint32_t at, uint32_t lo, uint32_t hi) {
    const __m256i i = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)at));
    const __m256i out = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)lo), i),
                                        _mm256_cmpgt_epi32(i, _mm256_set1_epi32((int)hi)));
    return _mm256_castsi256_ps(_mm256_xor_si256(out, _mm256_set1_epi32(-1)));
}
ST_INLINE vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm256_blendv_ps(no, yes, m);
}
/* 0 in the lanes without. */
ST_INLINE vec vec_keep(vec_mask m, vec v) {
    return _mm256_and_ps(v, m);
}

ST_INLINE float lanes_sum(vec v) {
    return lanes256_sum(v);
}
ST_INLINE float lanes_max(vec v) {
    return lanes256_max(v);
}
ST_INLINE float vec_first(vec v) {
    return _mm256_cvtss_f32(v);
}

/* One number that multiplies vectors. */
typedef __m256 vec_factor;
ST_INLINE vec_factor vec_factor_at(const float *p) {
    return _mm256_broadcast_ss(p);
}
ST_INLINE vec vec_fma_by(vec v, vec_factor by, vec sum) {
    return _mm256_fmadd_ps(by, v, sum);
}

#define VEC_HOLD(sum) HOLD(sum)
ST_INLINE void vec_fetch(const char *p) {
    _mm_prefetch(p, _MM_HINT_T0);
}

#endif
