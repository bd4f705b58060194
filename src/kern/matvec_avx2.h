/* SPDX-License-Identifier: MIT
 * Matrix-vector products of quantized types with AVX2, one token: called by the products of matmul_avx2.c. */
#ifndef ST_KERN_MATVEC_AVX2_H
#define ST_KERN_MATVEC_AVX2_H

#include "kern/kern.h"

typedef void st_matvec_fn(const st_matrix *w, const uint8_t *quant, uint32_t strip_lo, uint32_t strip_hi, float *y);
st_matvec_fn st_matvec_q4_0_avx2, st_matvec_q4_1_avx2, st_matvec_q5_0_avx2, st_matvec_q5_1_avx2, st_matvec_q8_0_avx2;
st_matvec_fn st_matvec_iq4_nl_avx2, st_matvec_iq4_xs_avx2, st_matvec_q2_k_avx2, st_matvec_q4_k_avx2,
    st_matvec_q5_k_avx2;
st_matvec_fn st_matvec_q6_k_avx2;

#endif
