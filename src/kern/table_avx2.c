/* SPDX-License-Identifier: MIT */
#include "kern/table_avx2.h"
#include "kern/avx2.h"
#include "kern/matmul_avx2.h"

const st_kern st_kern_avx2 = {
    .name = "avx2",
    .formats = ST_ALL_FORMATS,
    .matmul =
        {
            [ST_F32] = st_matmul_f32_avx2,
            [ST_F16] = st_matmul_f16_avx2,
            [ST_BF16] = st_matmul_bf16_avx2,
            [ST_Q4_0] = st_matmul_q4_0_avx2,
            [ST_Q4_1] = st_matmul_q4_1_avx2,
            [ST_Q5_0] = st_matmul_q5_0_avx2,
            [ST_Q5_1] = st_matmul_q5_1_avx2,
            [ST_Q8_0] = st_matmul_q8_0_avx2,
            [ST_IQ4_NL] = st_matmul_iq4_nl_avx2,
            [ST_IQ4_XS] = st_matmul_iq4_xs_avx2,
            [ST_Q2_K] = st_matmul_q2_k_avx2,
            [ST_Q3_K] = st_matmul_q6_k_avx2,
            [ST_Q4_K] = st_matmul_q4_k_avx2,
            [ST_Q5_K] = st_matmul_q5_k_avx2,
            [ST_Q6_K] = st_matmul_q6_k_avx2,
        },
    ST_TABLE_AVX2,
    .burn = {[ST_BURN_DOTS] = st_burn_dots_avx2, [ST_BURN_F32] = st_burn_f32_avx2},
};
