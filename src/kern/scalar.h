/* SPDX-License-Identifier: MIT
 * The scalar kernels: the reference of all variants, and what other tables fall back to. */
#ifndef ST_KERN_SCALAR_H
#define ST_KERN_SCALAR_H

#include "kern/format.h"

ST_KERN_OPS_DECL(scalar);

ST_KERN_MATMUL_DECL(st_matmul_f32_scalar);
ST_KERN_MATMUL_DECL(st_matmul_f16_scalar);
ST_KERN_MATMUL_DECL(st_matmul_bf16_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q4_0_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q4_1_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q5_0_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q5_1_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q8_0_scalar);
ST_KERN_MATMUL_DECL(st_matmul_iq4_nl_scalar);
ST_KERN_MATMUL_DECL(st_matmul_iq4_xs_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q2_k_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q4_k_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q5_k_scalar);
ST_KERN_MATMUL_DECL(st_matmul_q6_k_scalar);

#endif
