/* SPDX-License-Identifier: MIT
 * Tensor types of GGUF files: names, block shapes, and which of them we read. Numbers are those of the GGUF
 * specification (ggml_type). */
#ifndef ST_GGUF_TYPES_H
#define ST_GGUF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum st_type {
    ST_F32 = 0,
    ST_F16 = 1,
    ST_Q4_0 = 2,
    ST_Q4_1 = 3,
    ST_Q5_0 = 6,
    ST_Q5_1 = 7,
    ST_Q8_0 = 8,
    ST_Q8_1 = 9,
    ST_Q2_K = 10,
    ST_Q3_K = 11,
    ST_Q4_K = 12,
    ST_Q5_K = 13,
    ST_Q6_K = 14,
    ST_Q8_K = 15,
    ST_IQ4_NL = 20,
    ST_IQ4_XS = 23,
    ST_I8 = 24,
    ST_I16 = 25,
    ST_I32 = 26,
    ST_I64 = 27,
    ST_F64 = 28,
    ST_BF16 = 30,
    ST_TYPE_COUNT = 64, /* room for all known numbers */
};

typedef struct st_type_info {
    const char *name;   /* as people write it: "Q4_K" */
    uint32_t block_len; /* elements of a block; rows are whole blocks */
    uint32_t block_bytes;
    bool readable; /* we can turn it into numbers (st_dequantize, st_quantize) */
} st_type_info;

/* NULL for a number that no version of the format has given out (42, say) as far as we know. */
const st_type_info *st_type_find(uint32_t type);
/* The type of a name, case-insensitive ("q4_k"), or -1. */
int st_type_by_name(const char *name);

/* Scalar dequantizer, the reference for every kernel: n elements (whole blocks) of src to dst, exactly as the format
 * defines (no contraction). src may be unaligned. Only readable types. */
void st_dequantize(uint32_t type, const void *src, float *dst, size_t n);

/* Quantizer for synthetic weights and tests: n elements (whole blocks), round to nearest with scales taken from the
 * extremes in one pass. dst may be unaligned. NaN becomes some finite value, values beyond a block's range are clamped.
 * Every readable type has it; returns false, and writes nothing, for any other. */
bool st_quantize(uint32_t type, const float *src, void *dst, size_t n);

float st_half_to_float(uint16_t h);
uint16_t st_float_to_half(float f); /* round to nearest even */
float st_bfloat_to_float(uint16_t h);
uint16_t st_float_to_bfloat(float f); /* round to nearest even */

#endif
