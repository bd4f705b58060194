/* SPDX-License-Identifier: MIT */
#include "gguf/dequant.h"

#include "gguf/blocks.h"

static void dequant_f32(const void *src, float *dst, size_t n) {
    memcpy(dst, src, n * sizeof *dst);
}

static void dequant_f16(const void *src, float *dst, size_t n) {
    const uint8_t *halves = src;
    for (size_t i = 0; i < n; i++) dst[i] = st_half_at(halves + 2 * i);
}

static void dequant_bf16(const void *src, float *dst, size_t n) {
    const uint8_t *halves = src;
    for (size_t i = 0; i < n; i++) dst[i] = st_bfloat_to_float(st_u16_at(halves + 2 * i));
}

static st_dequant_fn *const dequant_table[ST_TYPE_COUNT] = {
    [ST_F32] = dequant_f32,      [ST_F16] = dequant_f16,          [ST_BF16] = dequant_bf16,
    [ST_Q4_0] = st_dequant_q4_0, [ST_Q4_1] = st_dequant_q4_1,     [ST_Q5_0] = st_dequant_q5_0,
    [ST_Q5_1] = st_dequant_q5_1, [ST_Q8_0] = st_dequant_q8_0,     [ST_Q2_K] = st_dequant_q2_k,
    [ST_Q3_K] = st_dequant_q3_k, [ST_Q4_K] = st_dequant_q4_k,     [ST_Q5_K] = st_dequant_q5_k,
    [ST_Q6_K] = st_dequant_q6_k, [ST_IQ4_NL] = st_dequant_iq4_nl, [ST_IQ4_XS] = st_dequant_iq4_xs,
};

void st_dequantize(uint32_t type, const void *src, float *dst, size_t n) {
    dequant_table[type](src, dst, n / st_type_find(type)->block_len);
}
