/* SPDX-License-Identifier: MIT
 * The tables of arm64. They differ in how they multiply quantized matrices only, and not in a bit of their results. */
#include "kern/neon.h"

#define TABLE(isa)                                                                                                     \
    const st_kern st_kern_##isa = {                                                                                    \
        .name = #isa,                                                                                                  \
        .formats = ST_ALL_FORMATS,                                                                                     \
        .matmul =                                                                                                      \
            {                                                                                                          \
                [ST_F32] = st_matmul_f32_neon,                                                                         \
                [ST_F16] = st_matmul_f16_neon,                                                                         \
                [ST_BF16] = st_matmul_bf16_neon,                                                                       \
                [ST_Q4_0] = st_matmul_q4_0_##isa,                                                                      \
                [ST_Q4_1] = st_matmul_q4_1_##isa,                                                                      \
                [ST_Q5_0] = st_matmul_q5_0_##isa,                                                                      \
                [ST_Q5_1] = st_matmul_q5_1_##isa,                                                                      \
                [ST_Q8_0] = st_matmul_q8_0_##isa,                                                                      \
                [ST_IQ4_NL] = st_matmul_iq4_nl_##isa,                                                                  \
                [ST_IQ4_XS] = st_matmul_iq4_xs_##isa,                                                                  \
                [ST_Q2_K] = st_matmul_q2_k_##isa,                                                                      \
                [ST_Q3_K] = st_matmul_q6_k_##isa, /* packed as Q6_K */                                                 \
                [ST_Q4_K] = st_matmul_q4_k_##isa,                                                                      \
                [ST_Q5_K] = st_matmul_q5_k_##isa,                                                                      \
                [ST_Q6_K] = st_matmul_q6_k_##isa,                                                                      \
            },                                                                                                         \
        .quantize = st_quantize_neon,                                                                                  \
        .rms_norm = st_rms_norm_neon,                                                                                  \
        .add = st_add_neon,                                                                                            \
        .scale = st_scale_neon,                                                                                        \
        .softcap = st_softcap_neon,                                                                                    \
        .gate = st_gate_neon,                                                                                          \
        .rope = st_rope_neon,                                                                                          \
        .kv_store = {[ST_KV_F16] = st_kv_store_f16_neon, [ST_KV_F32] = st_kv_store_f32_neon},                          \
        .attention = {[ST_KV_F16] = st_attention_f16_neon, [ST_KV_F32] = st_attention_f32_neon},                       \
        .argmax = st_argmax_neon,                                                                                      \
        .dot = st_dot_neon,                                                                                            \
        .stream = st_stream_neon,                                                                                      \
        .burn = {[ST_BURN_DOTS] = st_burn_dots_##isa, [ST_BURN_F32] = st_burn_f32_neon},                               \
    }
TABLE(neon);
TABLE(dotprod);
TABLE(i8mm);
