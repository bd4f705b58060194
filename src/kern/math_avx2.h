/* SPDX-License-Identifier: MIT
 * exp of eight floats, and sums and maxima across a vector in one fixed order. */
#ifndef ST_KERN_MATH_AVX2_H
#define ST_KERN_MATH_AVX2_H

#include "kern/avx2.h"

/* 2^n for n in -126..127. */
ST_INLINE __m256 power_of_two(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* e^r for |r| <= ln 2 / 2, where x = n ln 2 + r: the polynomial of Cephes' expf (Moshier 1992). */
ST_INLINE __m256 exp_rest(__m256 x, __m256 n) {
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    return _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
}

ST_INLINE __m256 exp_whole(__m256 x) {
    return _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504088896341f)),
                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* e^x within 2 ulp; 0 below -104, infinity above 88.73, NaN stays NaN. 2^n in two factors, so that results near the
 * smallest numbers come out. */
ST_INLINE __m256 exp_avx2(__m256 x) {
    x = _mm256_max_ps(_mm256_set1_ps(-110.0f), _mm256_min_ps(_mm256_set1_ps(90.0f), x)); /* in this order NaN passes */
    const __m256 n = exp_whole(x);
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(exp_rest(x, n), power_of_two(half)),
                         power_of_two(_mm256_sub_epi32(whole, half)));
}

/* The same for x up to 1, except that it gives 1e-38 instead of anything smaller. */
ST_INLINE __m256 exp_down(__m256 x) {
    x = _mm256_max_ps(_mm256_set1_ps(-87.0f), x);
    const __m256 n = exp_whole(x);
    return _mm256_mul_ps(exp_rest(x, n), power_of_two(_mm256_cvtps_epi32(n)));
}

/* tanh within 3 ulp (Cephes' tanhf, Moshier 1992): a polynomial near 0, where the other form would cancel. */
ST_INLINE __m256 tanh_avx2(__m256 x) {
    const __m256 sign = _mm256_set1_ps(-0.0f), size = _mm256_andnot_ps(sign, x), z = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(-5.70498872745e-3f);
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(2.06390887954e-2f));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(-5.37397155531e-2f));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(1.33314422036e-1f));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(-3.33332819422e-1f));
    const __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(p, z), x, x), one = _mm256_set1_ps(1);
    const __m256 e = exp_avx2(_mm256_add_ps(size, size));
    const __m256 far = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2), _mm256_add_ps(e, one)));
    const __m256 is_far = _mm256_cmp_ps(size, _mm256_set1_ps(0.625f), _CMP_GE_OQ);
    return _mm256_blendv_ps(near, _mm256_or_ps(far, _mm256_and_ps(sign, x)), is_far);
}

ST_INLINE float lanes_sum(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

ST_INLINE float lanes_max(__m256 v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* All ones in the lanes below n. */
ST_INLINE __m256i first_lanes(uint32_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#endif
