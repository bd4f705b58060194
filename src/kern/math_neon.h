/* SPDX-License-Identifier: MIT
 * exp and tanh of four floats; see math_avx2.h, whose polynomials these are. */
#ifndef ST_KERN_MATH_NEON_H
#define ST_KERN_MATH_NEON_H

#include "kern/neon.h"

/* 2^n for n in -126..127. */
ST_INLINE float32x4_t power_of_two(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

/* e^r for |r| <= ln 2 / 2, where x = n ln 2 + r: the polynomial of Cephes' expf (Moshier 1992). */
ST_INLINE float32x4_t exp_rest(float32x4_t x, float32x4_t n) {
    float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(0.693359375f));
    r = vfmsq_f32(r, n, vdupq_n_f32(-2.12194440e-4f));
    float32x4_t p = vdupq_n_f32(1.9875691500e-4f);
    p = vfmaq_f32(vdupq_n_f32(1.3981999507e-3f), p, r);
    p = vfmaq_f32(vdupq_n_f32(8.3334519073e-3f), p, r);
    p = vfmaq_f32(vdupq_n_f32(4.1665795894e-2f), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.6666665459e-1f), p, r);
    p = vfmaq_f32(vdupq_n_f32(5.0000001201e-1f), p, r);
    return vaddq_f32(vfmaq_f32(r, p, vmulq_f32(r, r)), vdupq_n_f32(1));
}

ST_INLINE float32x4_t exp_whole(float32x4_t x) {
    return vrndnq_f32(vmulq_f32(x, vdupq_n_f32(1.44269504088896341f)));
}

/* e^x within 2 ulp; 0 below -104, infinity above 88.73, NaN stays NaN. 2^n in two factors, so that results near the
 * smallest numbers come out. */
ST_INLINE float32x4_t exp_neon(float32x4_t x) {
    x = vmaxq_f32(vdupq_n_f32(-110), vminq_f32(vdupq_n_f32(90), x));
    const float32x4_t n = exp_whole(x);
    const int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(exp_rest(x, n), power_of_two(half)), power_of_two(vsubq_s32(whole, half)));
}

/* The same for x up to 1, except that it gives 1e-38 instead of anything smaller. */
ST_INLINE float32x4_t exp_down(float32x4_t x) {
    x = vmaxq_f32(vdupq_n_f32(-87), x);
    const float32x4_t n = exp_whole(x);
    return vmulq_f32(exp_rest(x, n), power_of_two(vcvtq_s32_f32(n)));
}

/* tanh within 3 ulp (Cephes' tanhf, Moshier 1992): a polynomial near 0, where the other form would cancel. */
ST_INLINE float32x4_t tanh_neon(float32x4_t x) {
    const float32x4_t size = vabsq_f32(x), z = vmulq_f32(x, x), one = vdupq_n_f32(1);
    float32x4_t p = vdupq_n_f32(-5.70498872745e-3f);
    p = vfmaq_f32(vdupq_n_f32(2.06390887954e-2f), p, z);
    p = vfmaq_f32(vdupq_n_f32(-5.37397155531e-2f), p, z);
    p = vfmaq_f32(vdupq_n_f32(1.33314422036e-1f), p, z);
    p = vfmaq_f32(vdupq_n_f32(-3.33332819422e-1f), p, z);
    const float32x4_t near = vfmaq_f32(x, vmulq_f32(p, z), x);
    const float32x4_t e = exp_neon(vaddq_f32(size, size));
    const float32x4_t far = vsubq_f32(one, vdivq_f32(vdupq_n_f32(2), vaddq_f32(e, one)));
    const float32x4_t far_signed = vbslq_f32(vdupq_n_u32(0x80000000), x, far);
    return vbslq_f32(vcgeq_f32(size, vdupq_n_f32(0.625f)), far_signed, near);
}

#endif
