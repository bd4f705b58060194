/* SPDX-License-Identifier: MIT */
#ifndef ST_KERN_MATMUL_AVX512_H
#define ST_KERN_MATMUL_AVX512_H

#include "kern/format.h"

ST_KERN_MATMUL_DECL(st_matmul_f32_avx512);
ST_KERN_MATMUL_DECL(st_matmul_f16_avx512);
ST_KERN_MATMUL_DECL(st_matmul_bf16_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q4_0_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q4_1_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q5_0_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q5_1_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q8_0_avx512);
ST_KERN_MATMUL_DECL(st_matmul_iq4_nl_avx512);
ST_KERN_MATMUL_DECL(st_matmul_iq4_xs_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q2_k_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q4_k_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q5_k_avx512);
ST_KERN_MATMUL_DECL(st_matmul_q6_k_avx512);

#endif
