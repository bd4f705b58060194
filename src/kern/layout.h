/* SPDX-License-Identifier: MIT
 * Packed tiles, shared by the packers and by the kernels of every instruction set.
 *
 * A tile is 16 rows x one block of columns. Its quantized values stand in vectors of 64 bytes in which bytes
 * 4r..4r+3 belong to row r and to four consecutive columns, so that one 32-bit lane of a byte dot product is one row
 * and no sum crosses lanes. 256-bit kernels use the two halves (rows 0-7 and 8-15). Per-row scales stand in front of
 * the values that they scale, so a strip is read as one sequential stream. All numbers are little endian; f16 scales
 * are those of the file.
 *
 * In a group of vectors, value i of a byte belongs to the columns 4i..4i+3 (byte 4r + c to column 4i + c):
 *   nibbles 32   four vectors j, 32 columns: value j in the low nibble, value 4 + j in the high one.
 *   fives 32     five vectors j, 32 columns, 5 bits a value: value j in the low bits. Values 5, 6, 7 lie in the high
 *                ones: low three bits of value 5 in vector 0, of 6 in 2, of 7 in 4; upper two bits of 5 in bits 5-6 of
 *                vector 1, of 6 in those of vector 3; bit 3 of value 7 in bit 7 of vector 1, its bit 4 in bit 7 of
 *                vector 3.
 *   sixes 16     three vectors j, 16 columns, 6 bits a value: value j in the low bits, bits 2j and 2j + 1 of value 3 in
 *                the high.
 *   twos 16      one vector, 16 columns: bits 2i, 2i + 1 are value i.
 * (One AND gives most values of fives and sixes; separate vectors for the upper bits cost half as much again.)
 *
 *   F32, F16, BF16   one column: 16 values
 *   Q4_0, IQ4_NL     f16 d[16]; nibbles 32
 *   Q4_1             f16 d[16], m[16]; nibbles 32
 *   Q5_0             f16 d[16]; fives 32
 *   Q5_1             f16 d[16], m[16]; fives 32
 *   Q8_0             f16 d[16]; eight vectors of int8, vector j for columns 4j..4j+3
 *   Q4_K             f16 d[16], dmin[16]; 4 x (u8 scale[2][16], min[2][16]; 2 x nibbles 32)
 *   Q5_K             f16 d[16], dmin[16]; 4 x (u8 scale[2][16], min[2][16]; 2 x fives 32)
 *   Q6_K, Q3_K       f16 d[16]; 4 x (int8 scale[4][16]; 4 x sixes 16), values 0..63 stand for -32..31
 *   Q2_K             f16 d[16], dmin[16]; 4 x (u8 [4][16], scale in the low and min in the high nibble; 4 x twos 16)
 *   IQ4_XS           f16 d[16]; 4 x (int8 scale[2][16]; 2 x nibbles 32) */
#ifndef ST_KERN_LAYOUT_H
#define ST_KERN_LAYOUT_H

#include "kern/kern.h"

#include <string.h>

enum {
    ST_VECTOR = 64, /* bytes: 16 rows x 4 columns */
    ST_HALVES = 32, /* bytes of 16 f16 */
    ST_NIBBLES = 4 * ST_VECTOR,
    ST_FIVES = 5 * ST_VECTOR,
    ST_SIXES = 3 * ST_VECTOR,
    ST_CHUNKS = 4, /* chunks of 64 columns in a tile of 256 */

    ST_TILE_Q4_0 = ST_HALVES + ST_NIBBLES,
    ST_TILE_Q4_1 = 2 * ST_HALVES + ST_NIBBLES,
    ST_TILE_Q5_0 = ST_HALVES + ST_FIVES,
    ST_TILE_Q5_1 = 2 * ST_HALVES + ST_FIVES,
    ST_TILE_Q8_0 = ST_HALVES + 8 * ST_VECTOR,

    ST_CHUNK_Q4_K = 64 + 2 * ST_NIBBLES,
    ST_CHUNK_Q5_K = 64 + 2 * ST_FIVES,
    ST_CHUNK_Q6_K = 64 + 4 * ST_SIXES,
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
static inline const int8_t *st_qblock_q(const uint8_t *block) {
    return (const int8_t *)block;
}
static inline const float *st_qblock_d(const uint8_t *block, uint32_t n) {
    return (const float *)(block + 32 * (size_t)n);
}
static inline const float *st_qblock_ds(const uint8_t *block, uint32_t n) {
    return st_qblock_d(block, n) + n;
}
static inline const int16_t *st_qblock_sums(const uint8_t *block, uint32_t n) {
    return (const int16_t *)(st_qblock_ds(block, n) + n);
}

static inline uint32_t st_load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void st_store32(uint8_t *p, uint32_t v) {
    memcpy(p, &v, sizeof(v));
}

/* One row's part of "fives 32" from its eight words of four values. */
static inline void st_put_fives(uint8_t *to, const uint32_t v[8]) {
    const uint32_t one = 0x01010101, two = 0x03030303, three = 0x07070707;
    st_store32(to, v[0] | ((v[5] & three) << 5));
    st_store32(to + ST_VECTOR, v[1] | (((v[5] >> 3) & two) << 5) | (((v[7] >> 3) & one) << 7));
    st_store32(to + 2 * ST_VECTOR, v[2] | ((v[6] & three) << 5));
    st_store32(to + 3 * ST_VECTOR, v[3] | (((v[6] >> 3) & two) << 5) | (((v[7] >> 4) & one) << 7));
    st_store32(to + 4 * ST_VECTOR, v[4] | ((v[7] & three) << 5));
}

/* Packers, by format; see st_kern_format.pack. */
typedef void st_pack_fn(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols);
st_pack_fn st_pack_f32, st_pack_f16, st_pack_q4_0, st_pack_q4_1, st_pack_q5_0, st_pack_q5_1, st_pack_q8_0;
st_pack_fn st_pack_q2_k, st_pack_q3_k, st_pack_q4_k, st_pack_q5_k, st_pack_q6_k, st_pack_iq4_xs;

#endif
