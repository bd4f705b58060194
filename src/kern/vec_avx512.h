/* SPDX-License-Identifier: MIT
 * A vector of floats with AVX-512; see vec_avx2.h. Included by *_avx512.c only. */
#ifndef ST_KERN_VEC_AVX512_H
#define ST_KERN_VEC_AVX512_H

#include "kern/avx512.h"

#define ISA(name) st_##name##_avx512

typedef __m512 vec;
typedef __mmask16 vec_mask;
enum { LANES = 16 };

/* Ones in the lanes below n, n in 0..16. */
ST_INLINE vec_mask first_lanes(uint32_t n) {
    return (vec_mask)((1u << n) - 1);
}

ST_INLINE vec vec_set(float x) {
    return _mm512_set1_ps(x);
}
ST_INLINE vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}
ST_INLINE void vec_store(float *p, vec v) {
    _mm512_storeu_ps(p, v);
}
ST_INLINE vec vec_load_first(const float *p, uint32_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
ST_INLINE void vec_store_first(float *p, vec v, uint32_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), v);
}
ST_INLINE vec vec_load_halves(const void *p, int lanes) {
    if (lanes == LANES) return load_half_lanes(p);
    return _mm512_cvtph_ps(_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p)));
}

ST_INLINE vec vec_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
ST_INLINE vec vec_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
ST_INLINE vec vec_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
ST_INLINE vec vec_div(vec a, vec b) {
    return _mm512_div_ps(a, b);
}
ST_INLINE vec vec_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
ST_INLINE vec vec_fnma(vec a, vec b, vec c) {
    return _mm512_fnmadd_ps(a, b, c);
}
ST_INLINE vec vec_max(vec a, vec b) {
    return _mm512_max_ps(a, b);
}
ST_INLINE vec vec_min(vec a, vec b) {
    return _mm512_min_ps(a, b);
}
ST_INLINE vec vec_round(vec v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ST_INLINE vec vec_negated(vec v) {
    return negated(v);
}
ST_INLINE vec vec_size(vec v) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), v);
}
ST_INLINE vec vec_with_sign(vec v, vec s) {
    return _mm512_or_ps(v, _mm512_and_ps(_mm512_set1_ps(-0.0f), s));
}

ST_INLINE vec vec_times_power(vec v, vec n) {
    return _mm512_scalef_ps(v, n);
}
ST_INLINE vec vec_times_far_power(vec v, vec n) {
    return _mm512_scalef_ps(v, n);
}

ST_INLINE vec_mask vec_at_least(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}
ST_INLINE vec_mask vec_between(uint32_t at, uint32_t lo, uint32_t hi) {
    return (vec_mask)((~0ull >> (63 - hi) & ~0ull << lo) >> at);
}
ST_INLINE vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm512_mask_blend_ps(m, no, yes);
}
ST_INLINE vec vec_keep(vec_mask m, vec v) {
    return _mm512_maskz_mov_ps(m, v);
}

ST_INLINE __m256 upper_half(vec v) {
    return _mm512_extractf32x8_ps(v, 1);
}
ST_INLINE float lanes_sum(vec v) {
    return lanes256_sum(_mm256_add_ps(_mm512_castps512_ps256(v), upper_half(v)));
}
ST_INLINE float lanes_max(vec v) {
    return lanes256_max(_mm256_max_ps(_mm512_castps512_ps256(v), upper_half(v)));
}
ST_INLINE float vec_first(vec v) {
    return _mm256_cvtss_f32(_mm512_castps512_ps256(v));
}

typedef __m512 vec_factor;
ST_INLINE vec_factor vec_factor_at(const float *p) {
    return _mm512_set1_ps(*p);
}
ST_INLINE vec vec_fma_by(vec v, vec_factor by, vec sum) {
    return _mm512_fmadd_ps(by, v, sum);
}

#ifdef ST_EMULATE_AVX512
#define VEC_HOLD(sum)
#else
#define VEC_HOLD(sum) __asm__ volatile("" : "+v"(sum))
#endif
ST_INLINE void vec_fetch(const char *p) {
    _mm_prefetch(p, _MM_HINT_T0);
}

#endif
