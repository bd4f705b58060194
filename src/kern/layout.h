/* SPDX-License-Identifier: MIT
 * Packed tiles, shared by the packers and by the kernels of every instruction set.
 *
 * A tile is 16 rows x one block of columns. Its quantized values stand in vectors of 64 bytes in which bytes
 * 4r..4r+3 belong to row r and to four consecutive columns, so that one 32-bit lane of a byte dot product is one row and no
 * sum crosses lanes. 256-bit kernels use the two halves (rows 0-7 and 8-15). Per-row scales stand in front of the values
 * that they scale, so a strip is read as one sequential stream. All numbers are little endian; f16 scales are those of the file.
 *
 * "nibbles 32" below are four vectors for 32 columns: low nibbles of vector j are columns 4j..4j+3, high nibbles are
 * columns 16+4j..16+4j+3. "fifth 32" is one vector: bit j of a byte is the fifth bit for columns 4j.., bit 4+j for columns 16+4j...
 *
 *   F32, F16, BF16   one column: 16 values
 *   Q4_0, IQ4_NL     f16 d[16]; nibbles 32
 *   Q4_1             f16 d[16], m[16]; nibbles 32
 *   Q5_0             f16 d[16]; fifth 32; nibbles 32
 *   Q5_1             f16 d[16], m[16]; fifth 32; nibbles 32
 *   Q8_0             f16 d[16]; eight vectors of int8, vector j for columns 4j..4j+3
 *   Q4_K             f16 d[16], dmin[16]; 4 x (u8 scale[2][16], min[2][16]; nibbles 32, nibbles 32)
 *   Q5_K             f16 d[16], dmin[16]; 4 x (u8 scale[2][16], min[2][16]; 2 x (fifth 32; nibbles 32))
 *   Q6_K, Q3_K       f16 d[16]; 4 x (int8 scale[4][16]; 4 x (L0, L1, H)): a triple of vectors holds 16 columns as values
 *                    0..63 that stand for -32..31. Columns 0-3 are the low nibbles of L0, 4-7 of L1, 8-11 the high nibbles of
 *                    L0, 12-15 of L1; bits 2i, 2i+1 of H are the upper two bits for columns 4i..4i+3.
 *   Q2_K             f16 d[16], dmin[16]; 4 x (u8 [4][16], scale in the low and min in the high nibble; four vectors), a vector
 *                    holds 16 columns: bits 2i, 2i+1 for columns 4i..4i+3.
 *   IQ4_XS           f16 d[16]; 4 x (int8 scale[2][16]; nibbles 32, nibbles 32) */
#ifndef ST_KERN_LAYOUT_H
#define ST_KERN_LAYOUT_H

#include "kern/kern.h"

enum {
    ST_VECTOR = 64,        /* bytes: 16 rows x 4 columns */
    ST_HALVES = 32,        /* bytes of 16 f16 */
    ST_NIBBLES = 4 * ST_VECTOR,
    ST_FIFTH = ST_VECTOR,
    ST_CHUNKS = 4,         /* chunks of 64 columns in a tile of 256 */

    ST_TILE_Q4_0 = ST_HALVES + ST_NIBBLES,
    ST_TILE_Q4_1 = 2 * ST_HALVES + ST_NIBBLES,
    ST_TILE_Q5_0 = ST_HALVES + ST_FIFTH + ST_NIBBLES,
    ST_TILE_Q5_1 = 2 * ST_HALVES + ST_FIFTH + ST_NIBBLES,
    ST_TILE_Q8_0 = ST_HALVES + 8 * ST_VECTOR,

    ST_CHUNK_Q4_K = 64 + 2 * ST_NIBBLES,
    ST_CHUNK_Q5_K = 64 + 2 * (ST_FIFTH + ST_NIBBLES),
    ST_CHUNK_Q6_K = 64 + 4 * 3 * ST_VECTOR,
    ST_CHUNK_Q2_K = 64 + 4 * ST_VECTOR,
    ST_CHUNK_IQ4_XS = 32 + 2 * ST_NIBBLES,

    ST_TILE_Q4_K = 2 * ST_HALVES + ST_CHUNKS * ST_CHUNK_Q4_K,
    ST_TILE_Q5_K = 2 * ST_HALVES + ST_CHUNKS * ST_CHUNK_Q5_K,
    ST_TILE_Q6_K = ST_HALVES + ST_CHUNKS * ST_CHUNK_Q6_K,
    ST_TILE_Q2_K = 2 * ST_HALVES + ST_CHUNKS * ST_CHUNK_Q2_K,
    ST_TILE_IQ4_XS = ST_HALVES + ST_CHUNKS * ST_CHUNK_IQ4_XS,
};

/* A block whose largest value is not above this is stored as zeros: 127 / it might not be finite. */
#define ST_QUANT_TINY 1e-30f

/* Parts of one block of a panel (see ST_QBLOCK_BYTES), n tokens. */
static inline const int8_t *st_qblock_q(const uint8_t *block) { return (const int8_t *)block; }
static inline const float *st_qblock_d(const uint8_t *block, uint32_t n) { return (const float *)(block + 32 * (size_t)n); }
static inline const float *st_qblock_ds(const uint8_t *block, uint32_t n) { return st_qblock_d(block, n) + n; }
static inline const int16_t *st_qblock_sum(const uint8_t *block, uint32_t n) {
    return (const int16_t *)(st_qblock_ds(block, n) + n);
}

/* Packers, by format; see st_kern_format.pack. */
typedef void st_pack_fn(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols);
st_pack_fn st_pack_f32, st_pack_f16, st_pack_q4_0, st_pack_q4_1, st_pack_q5_0, st_pack_q5_1, st_pack_q8_0;
st_pack_fn st_pack_q2_k, st_pack_q3_k, st_pack_q4_k, st_pack_q5_k, st_pack_q6_k, st_pack_iq4_xs;

#endif
