/* SPDX-License-Identifier: MIT
 * The quantizers behind st_quantize, by family, and the rounding they share. One pass: scales come from the extremes of
 * a block, are rounded to what the file holds, and the codes are taken with the rounded scale. */
#ifndef ST_GGUF_QUANTIZE_H
#define ST_GGUF_QUANTIZE_H

#include "gguf/blocks.h"

#include <math.h>
#include <stddef.h>

typedef void st_quantize_fn(const float *src, void *dst, size_t n_blocks);

st_quantize_fn st_quantize_q4_0, st_quantize_q4_1, st_quantize_q5_0, st_quantize_q5_1, st_quantize_q8_0;
st_quantize_fn st_quantize_q2_k, st_quantize_q3_k, st_quantize_q4_k, st_quantize_q5_k, st_quantize_q6_k;
st_quantize_fn st_quantize_iq4_nl, st_quantize_iq4_xs;

/* x rounded to the nearest integer of lo..hi; NaN gives lo. */
static inline int st_round(float x, int lo, int hi) {
    if (!(x > (float)lo)) return lo;
    if (x >= (float)hi) return hi;
    return (int)lrintf(x);
}

/* 1 / x, or 0 for 0: a block of zeros gets zero codes. */
static inline float st_inverse(float x) {
    return x == 0.0f ? 0.0f : 1.0f / x;
}

/* Stores x as a half, limited to the largest finite one, and returns the value stored. */
static inline float st_half_store(uint8_t dst[2], float x) {
    uint16_t half = st_float_to_half(fminf(fmaxf(x, -65504.0f), 65504.0f));
    memcpy(dst, &half, sizeof half);
    return st_half_to_float(half);
}

/* Smallest and largest item, both limited to finite values; NaN is passed over. */
static inline void st_bounds(const float *x, unsigned n, float *lo, float *hi) {
    float low = INFINITY, high = -INFINITY;
    for (unsigned i = 0; i < n; i++) {
        if (x[i] < low) low = x[i];
        if (x[i] > high) high = x[i];
    }
    if (low > high) low = high = 0.0f; /* nothing but NaN */
    *lo = fmaxf(low, -1e30f);
    *hi = fminf(high, 1e30f);
}

/* The item of largest magnitude, with its sign. */
static inline float st_extreme(const float *x, unsigned n) {
    float lo, hi;
    st_bounds(x, n, &lo, &hi);
    return -lo > hi ? lo : hi;
}

#endif
