/* SPDX-License-Identifier: MIT
 * The dequantizers behind st_dequantize, by family. Each expands n_blocks blocks of src. The order of the operations is
 * part of the format: results are compared bit for bit, and these files are compiled without contraction. */
#ifndef ST_GGUF_DEQUANT_H
#define ST_GGUF_DEQUANT_H

#include <stddef.h>

typedef void st_dequant_fn(const void *src, float *dst, size_t n_blocks);

st_dequant_fn st_dequant_q4_0, st_dequant_q4_1, st_dequant_q5_0, st_dequant_q5_1, st_dequant_q8_0;
st_dequant_fn st_dequant_q2_k, st_dequant_q3_k, st_dequant_q4_k, st_dequant_q5_k, st_dequant_q6_k;
st_dequant_fn st_dequant_iq4_nl, st_dequant_iq4_xs;

#endif
