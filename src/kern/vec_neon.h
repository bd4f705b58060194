/* SPDX-License-Identifier: MIT
 * A vector of floats with NEON; see vec_avx2.h. Included by *_neon.c only. */
#ifndef ST_KERN_VEC_NEON_H
#define ST_KERN_VEC_NEON_H

#include "kern/neon.h"

#define ISA(name) st_##name##_neon

typedef float32x4_t vec;
typedef uint32x4_t vec_mask;
enum { LANES = 4 };

ST_INLINE vec vec_set(float x) {
    return vdupq_n_f32(x);
}
ST_INLINE vec vec_load(const float *p) {
    return vld1q_f32(p);
}
ST_INLINE void vec_store(float *p, vec v) {
    vst1q_f32(p, v);
}
ST_INLINE vec vec_load_first(const float *p, uint32_t n) {
    float v[LANES] = {0};
    memcpy(v, p, n * sizeof(float));
    return vld1q_f32(v);
}
ST_INLINE void vec_store_first(float *p, vec x, uint32_t n) {
    float v[LANES];
    vst1q_f32(v, x);
    memcpy(p, v, n * sizeof(float));
}
ST_INLINE vec vec_load_halves(const void *p, int lanes) {
    (void)lanes;
    return load_halves(p);
}

ST_INLINE vec vec_add(vec a, vec b) {
    return vaddq_f32(a, b);
}
ST_INLINE vec vec_sub(vec a, vec b) {
    return vsubq_f32(a, b);
}
ST_INLINE vec vec_mul(vec a, vec b) {
    return vmulq_f32(a, b);
}
ST_INLINE vec vec_div(vec a, vec b) {
    return vdivq_f32(a, b);
}
ST_INLINE vec vec_fma(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}
ST_INLINE vec vec_fnma(vec a, vec b, vec c) {
    return vfmsq_f32(c, a, b);
}
ST_INLINE vec vec_max(vec a, vec b) {
    return vmaxq_f32(a, b);
}
ST_INLINE vec vec_min(vec a, vec b) {
    return vminq_f32(a, b);
}
ST_INLINE vec vec_round(vec v) {
    return vrndnq_f32(v);
}
ST_INLINE vec vec_negated(vec v) {
    return vnegq_f32(v);
}
ST_INLINE vec vec_size(vec v) {
    return vabsq_f32(v);
}
ST_INLINE vec vec_with_sign(vec v, vec s) {
    return vbslq_f32(vdupq_n_u32(0x80000000), s, v);
}

ST_INLINE float32x4_t power_of_two(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}
ST_INLINE vec vec_times_power(vec v, vec n) {
    return vmulq_f32(v, power_of_two(vcvtq_s32_f32(n)));
}
ST_INLINE vec vec_times_far_power(vec v, vec n) {
    const int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(v, power_of_two(half)), power_of_two(vsubq_s32(whole, half)));
}

ST_INLINE vec_mask vec_at_least(vec a, vec b) {
    return vcgeq_f32(a, b);
}
ST_INLINE vec_mask vec_between(uint32_t at, uint32_t lo, uint32_t hi) {
    const uint32x4_t i = vaddq_u32((uint32x4_t){0, 1, 2, 3}, vdupq_n_u32(at));
    return vandq_u32(vcgeq_u32(i, vdupq_n_u32(lo)), vcleq_u32(i, vdupq_n_u32(hi)));
}
ST_INLINE vec vec_select(vec_mask m, vec yes, vec no) {
    return vbslq_f32(m, yes, no);
}
ST_INLINE vec vec_keep(vec_mask m, vec v) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), m));
}

ST_INLINE float lanes_sum(vec v) {
    return vaddvq_f32(v);
}
ST_INLINE float lanes_max(vec v) {
    return vmaxvq_f32(v);
}
ST_INLINE float vec_first(vec v) {
    return vgetq_lane_f32(v, 0);
}

typedef float vec_factor;
ST_INLINE vec_factor vec_factor_at(const float *p) {
    return *p;
}
ST_INLINE vec vec_fma_by(vec v, vec_factor by, vec sum) {
    return vfmaq_n_f32(sum, v, by);
}

#define VEC_HOLD(sum)
ST_INLINE void vec_fetch(const char *p) {
    (void)p; /* no machine to measure it on */
}

#endif
