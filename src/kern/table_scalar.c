/* SPDX-License-Identifier: MIT */
#include "kern/scalar.h"

const st_kern st_kern_scalar = {
    .name = "scalar",
    .formats = ST_ALL_FORMATS,
    .matmul =
        {
            [ST_F32] = st_matmul_f32_scalar,
            [ST_F16] = st_matmul_f16_scalar,
            [ST_BF16] = st_matmul_bf16_scalar,
            [ST_Q4_0] = st_matmul_q4_0_scalar,
            [ST_Q4_1] = st_matmul_q4_1_scalar,
            [ST_Q5_0] = st_matmul_q5_0_scalar,
            [ST_Q5_1] = st_matmul_q5_1_scalar,
            [ST_Q8_0] = st_matmul_q8_0_scalar,
            [ST_IQ4_NL] = st_matmul_iq4_nl_scalar,
            [ST_IQ4_XS] = st_matmul_iq4_xs_scalar,
            [ST_Q2_K] = st_matmul_q2_k_scalar,
            [ST_Q3_K] = st_matmul_q6_k_scalar, /* packed as Q6_K */
            [ST_Q4_K] = st_matmul_q4_k_scalar,
            [ST_Q5_K] = st_matmul_q5_k_scalar,
            [ST_Q6_K] = st_matmul_q6_k_scalar,
        },
    .quantize = st_quantize_scalar,
    .rms_norm = st_rms_norm_scalar,
    .add = st_add_scalar,
    .scale = st_scale_scalar,
    .softcap = st_softcap_scalar,
    .gate = st_gate_scalar,
    .rope = st_rope_scalar,
    .kv_store = {[ST_KV_F16] = st_kv_store_f16_scalar, [ST_KV_F32] = st_kv_store_f32_scalar},
    .attention = {[ST_KV_F16] = st_attention_f16_scalar, [ST_KV_F32] = st_attention_f32_scalar},
    .argmax = st_argmax_scalar,
    .dot = st_dot_scalar,
    .stream = st_stream_scalar,
    .burn = {[ST_BURN_DOTS] = st_burn_dots_scalar, [ST_BURN_F32] = st_burn_f32_scalar},
};
