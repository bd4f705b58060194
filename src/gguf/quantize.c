/* SPDX-License-Identifier: MIT */
#include "gguf/quantize.h"

static void quantize_f32(const float *src, void *dst, size_t n) {
    memcpy(dst, src, n * sizeof *src);
}

static void quantize_f16(const float *src, void *dst, size_t n) {
    uint8_t *out = dst;
    for (size_t i = 0; i < n; i++) {
        uint16_t half = st_float_to_half(src[i]);
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

static void quantize_bf16(const float *src, void *dst, size_t n) {
    uint8_t *out = dst;
    for (size_t i = 0; i < n; i++) {
        uint16_t half = st_float_to_bfloat(src[i]);
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

static st_quantize_fn *const quantize_table[ST_TYPE_COUNT] = {
    [ST_F32] = quantize_f32,      [ST_F16] = quantize_f16,          [ST_BF16] = quantize_bf16,
    [ST_Q4_0] = st_quantize_q4_0, [ST_Q4_1] = st_quantize_q4_1,     [ST_Q5_0] = st_quantize_q5_0,
    [ST_Q5_1] = st_quantize_q5_1, [ST_Q8_0] = st_quantize_q8_0,     [ST_Q2_K] = st_quantize_q2_k,
    [ST_Q3_K] = st_quantize_q3_k, [ST_Q4_K] = st_quantize_q4_k,     [ST_Q5_K] = st_quantize_q5_k,
    [ST_Q6_K] = st_quantize_q6_k, [ST_IQ4_NL] = st_quantize_iq4_nl, [ST_IQ4_XS] = st_quantize_iq4_xs,
};

bool st_quantize(uint32_t type, const float *src, void *dst, size_t n) {
    if (type >= ST_TYPE_COUNT || !quantize_table[type]) return false;
    quantize_table[type](src, dst, n / st_type_find(type)->block_len);
    return true;
}
