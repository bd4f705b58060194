/* SPDX-License-Identifier: MIT
 * What the tables of AVX2 and AVX-VNNI share. Included by table_*.c only. */
#ifndef ST_KERN_TABLE_AVX2_H
#define ST_KERN_TABLE_AVX2_H

#include "kern/avx2.h"
#include "kern/turns_avx2.h"

/* All kernels but the products of many tokens and the peaks of arithmetic. */
#define ST_TABLE_AVX2                                                                                                  \
    .turn =                                                                                                            \
        {                                                                                                              \
            [ST_F32] = st_turn_f32_avx2,       [ST_F16] = st_turn_f16_avx2,   [ST_BF16] = st_turn_bf16_avx2,           \
            [ST_Q4_0] = st_turn_q4_0_avx2,     [ST_Q4_1] = st_turn_q4_1_avx2, [ST_Q5_0] = st_turn_q5_0_avx2,           \
            [ST_Q5_1] = st_turn_q5_1_avx2,     [ST_Q8_0] = st_turn_q8_0_avx2, [ST_IQ4_NL] = st_turn_iq4_nl_avx2,       \
            [ST_IQ4_XS] = st_turn_iq4_xs_avx2, [ST_Q2_K] = st_turn_q2_k_avx2, [ST_Q3_K] = st_turn_q6_k_avx2,           \
            [ST_Q4_K] = st_turn_q4_k_avx2,     [ST_Q5_K] = st_turn_q5_k_avx2, [ST_Q6_K] = st_turn_q6_k_avx2,           \
    },                                                                                                                 \
    .turn_tokens = ST_TURN_TOKENS_AVX2, .turn_strips = ST_TURN_STRIPS_AVX2, ST_KERN_OPS(avx2)

#endif
