/* SPDX-License-Identifier: MIT
 * A block of 32 columns of four rows in registers: the unpacking of every tile, the same for all tables of arm64. */
#ifndef ST_KERN_BLOCK_NEON_H
#define ST_KERN_BLOCK_NEON_H

#include "gguf/blocks.h"
#include "kern/neon.h"

/* What a format does not have is left alone, and its kernels do not look at it. */
typedef struct block4 {
    int8x16_t w0, w1, w2, w3, w4, w5, w6, w7; /* vector j: columns 4j..4j+3 of the rows */
    int32x4_t by0, by1;                       /* a row's integer scales of columns 0-15 and 16-31 */
    int32x4_t min0, min1;                     /* Q2_K: its integer minima, likewise */
    float32x4_t d;
    float32x4_t m; /* Q2_K: -dmin; others: the whole minimum */
} block4;

/* Rows 4g..4g+3 of block i of a tile. */
typedef block4 load_fn(const uint8_t *tile, uint32_t i, uint32_t g);

/* Vector j's part of four rows, where p is vector 0's. */
ST_INLINE uint8x16_t vector_at(const uint8_t *p, uint32_t j) {
    return vld1q_u8(p + ST_VECTOR * j);
}

#define SIGNED(v) vreinterpretq_s8_u8(v)
#define BITS(v, mask) SIGNED(vandq_u8(v, vdupq_n_u8(mask)))
#define BITS_DOWN(v, shift, mask) vandq_u8(vshrq_n_u8(v, shift), vdupq_n_u8(mask))
#define TOP(v, shift) SIGNED(vshrq_n_u8(v, shift))

ST_INLINE block4 load_nibbles(const uint8_t *p) {
    const uint8x16_t a = vector_at(p, 0), b = vector_at(p, 1), c = vector_at(p, 2), d = vector_at(p, 3);
    return (block4){.w0 = BITS(a, 15),
                    .w1 = BITS(b, 15),
                    .w2 = BITS(c, 15),
                    .w3 = BITS(d, 15),
                    .w4 = TOP(a, 4),
                    .w5 = TOP(b, 4),
                    .w6 = TOP(c, 4),
                    .w7 = TOP(d, 4)};
}

/* The values of a block of fives that lie in the high bits of its vectors a, b, c, d, e: see layout.h. */
#define FIVE_5(a, b) SIGNED(vorrq_u8(vshrq_n_u8(a, 5), BITS_DOWN(b, 2, 0x18)))
#define FIVE_6(c, d) FIVE_5(c, d)
#define FIVE_7(b, d, e) SIGNED(vorrq_u8(vorrq_u8(vshrq_n_u8(e, 5), BITS_DOWN(b, 4, 8)), BITS_DOWN(d, 3, 16)))

ST_INLINE block4 load_fives(const uint8_t *p) {
    const uint8x16_t a = vector_at(p, 0), b = vector_at(p, 1), c = vector_at(p, 2), d = vector_at(p, 3),
                     e = vector_at(p, 4);
    return (block4){.w0 = BITS(a, 31),
                    .w1 = BITS(b, 31),
                    .w2 = BITS(c, 31),
                    .w3 = BITS(d, 31),
                    .w4 = BITS(e, 31),
                    .w5 = FIVE_5(a, b),
                    .w6 = FIVE_6(c, d),
                    .w7 = FIVE_7(b, d, e)};
}

/* ---- per-row numbers ---- */

ST_INLINE float32x4_t row_halves(const uint8_t *halves, uint32_t g) {
    return load_halves(halves + 8 * g);
}

/* Four bytes, one a row. */
ST_INLINE uint16x4_t row_bytes(const uint8_t *bytes, uint32_t g) {
    return vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(st_load32(bytes + 4 * g)))));
}

ST_INLINE int32x4_t unsigned_bytes(const uint8_t *bytes, uint32_t g) {
    return vreinterpretq_s32_u32(vmovl_u16(row_bytes(bytes, g)));
}

ST_INLINE int32x4_t signed_bytes(const uint8_t *bytes, uint32_t g) {
    const int8x8_t v = vreinterpret_s8_u32(vdup_n_u32(st_load32(bytes + 4 * g)));
    return vmovl_s16(vget_low_s16(vmovl_s8(v)));
}

/* ---- blocks of 32 ---- */

ST_INLINE block4 load_q4_0(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    block4 b = load_nibbles(tile + ST_HALVES + 16 * g);
    b.d = row_halves(tile, g);
    return b;
}

ST_INLINE block4 load_q4_1(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    block4 b = load_nibbles(tile + 2 * ST_HALVES + 16 * g);
    b.d = row_halves(tile, g);
    b.m = row_halves(tile + ST_HALVES, g);
    return b;
}

ST_INLINE block4 load_q5_0(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    block4 b = load_fives(tile + ST_HALVES + 16 * g);
    b.d = row_halves(tile, g);
    return b;
}

ST_INLINE block4 load_q5_1(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    block4 b = load_fives(tile + 2 * ST_HALVES + 16 * g);
    b.d = row_halves(tile, g);
    b.m = row_halves(tile + ST_HALVES, g);
    return b;
}

ST_INLINE block4 load_q8_0(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    const uint8_t *p = tile + ST_HALVES + 16 * g;
    return (block4){.w0 = SIGNED(vector_at(p, 0)),
                    .w1 = SIGNED(vector_at(p, 1)),
                    .w2 = SIGNED(vector_at(p, 2)),
                    .w3 = SIGNED(vector_at(p, 3)),
                    .w4 = SIGNED(vector_at(p, 4)),
                    .w5 = SIGNED(vector_at(p, 5)),
                    .w6 = SIGNED(vector_at(p, 6)),
                    .w7 = SIGNED(vector_at(p, 7)),
                    .d = row_halves(tile, g)};
}

/* The values that nibbles stand for. */
ST_INLINE block4 load_iq4(const uint8_t *p) {
    const int8x16_t table = vld1q_s8(st_iq4_values);
    block4 b = load_nibbles(p);
#define MAPPED(v) vqtbl1q_s8(table, vreinterpretq_u8_s8(v))
    b.w0 = MAPPED(b.w0);
    b.w1 = MAPPED(b.w1);
    b.w2 = MAPPED(b.w2);
    b.w3 = MAPPED(b.w3);
    b.w4 = MAPPED(b.w4);
    b.w5 = MAPPED(b.w5);
    b.w6 = MAPPED(b.w6);
    b.w7 = MAPPED(b.w7);
#undef MAPPED
    return b;
}

ST_INLINE block4 load_iq4_nl(const uint8_t *tile, uint32_t i, uint32_t g) {
    (void)i;
    block4 b = load_iq4(tile + ST_HALVES + 16 * g);
    b.d = row_halves(tile, g);
    return b;
}

/* ---- blocks of 256 ---- */

ST_INLINE block4 load_iq4_xs(const uint8_t *tile, uint32_t i, uint32_t g) {
    const uint8_t *chunk = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_IQ4_XS;
    block4 b = load_iq4(chunk + 32 + ST_NIBBLES * (i % 2) + 16 * g);
    b.by0 = signed_bytes(chunk + 16 * (i % 2), g);
    b.d = row_halves(tile, g);
    return b;
}

/* Scales and minima of Q4_K and Q5_K; `head` has those of the block. */
ST_INLINE void set_scales_k(block4 *b, const uint8_t *tile, const uint8_t *head, uint32_t g) {
    b->by0 = unsigned_bytes(head, g);
    b->d = row_halves(tile, g);
    b->m = vmulq_f32(vnegq_f32(row_halves(tile + ST_HALVES, g)), vcvtq_f32_s32(unsigned_bytes(head + 32, g)));
}

ST_INLINE block4 load_q4_k(const uint8_t *tile, uint32_t i, uint32_t g) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q4_K;
    block4 b = load_nibbles(chunk + 64 + ST_NIBBLES * (i % 2) + 16 * g);
    set_scales_k(&b, tile, chunk + 16 * (i % 2), g);
    return b;
}

ST_INLINE block4 load_q5_k(const uint8_t *tile, uint32_t i, uint32_t g) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q5_K;
    block4 b = load_fives(chunk + 64 + ST_FIVES * (i % 2) + 16 * g);
    set_scales_k(&b, tile, chunk + 16 * (i % 2), g);
    return b;
}

/* The value of sixes that lies in the high bits of the vectors a, b, c. */
#define SIX_3(a, b, c) SIGNED(vorrq_u8(vorrq_u8(vshrq_n_u8(a, 6), BITS_DOWN(b, 4, 12)), BITS_DOWN(c, 2, 48)))

ST_INLINE block4 load_q6_k(const uint8_t *tile, uint32_t i, uint32_t g) {
    const uint8_t *chunk = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q6_K, *head = chunk + 32 * (i % 2);
    const uint8_t *p = chunk + 64 + 2 * ST_SIXES * (i % 2) + 16 * g;
    const uint8x16_t a = vector_at(p, 0), b = vector_at(p, 1), c = vector_at(p, 2);
    const uint8x16_t d = vector_at(p, 3), e = vector_at(p, 4), f = vector_at(p, 5);
    return (block4){.w0 = BITS(a, 63),
                    .w1 = BITS(b, 63),
                    .w2 = BITS(c, 63),
                    .w3 = SIX_3(a, b, c),
                    .w4 = BITS(d, 63),
                    .w5 = BITS(e, 63),
                    .w6 = BITS(f, 63),
                    .w7 = SIX_3(d, e, f),
                    .by0 = signed_bytes(head, g),
                    .by1 = signed_bytes(head + 16, g),
                    .d = row_halves(tile, g)};
}

ST_INLINE block4 load_q2_k(const uint8_t *tile, uint32_t i, uint32_t g) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q2_K, *head = chunk + 32 * (i % 2);
    const uint8_t *p = chunk + 64 + 2 * ST_VECTOR * (i % 2) + 16 * g;
    const uint8x16_t a = vector_at(p, 0), b = vector_at(p, 1);
    const int32x4_t h0 = unsigned_bytes(head, g), h1 = unsigned_bytes(head + 16, g), low = vdupq_n_s32(15);
    return (block4){.w0 = BITS(a, 3),
                    .w1 = SIGNED(BITS_DOWN(a, 2, 3)),
                    .w2 = SIGNED(BITS_DOWN(a, 4, 3)),
                    .w3 = TOP(a, 6),
                    .w4 = BITS(b, 3),
                    .w5 = SIGNED(BITS_DOWN(b, 2, 3)),
                    .w6 = SIGNED(BITS_DOWN(b, 4, 3)),
                    .w7 = TOP(b, 6),
                    .by0 = vandq_s32(h0, low),
                    .by1 = vandq_s32(h1, low),
                    .min0 = vshrq_n_s32(h0, 4),
                    .min1 = vshrq_n_s32(h1, 4),
                    .d = row_halves(tile, g),
                    .m = vnegq_f32(row_halves(tile + ST_HALVES, g))};
}

/* ---- what the kernels have to do with a block, by format ---- */

typedef struct shape {
    uint32_t tile_bytes, blocks; /* of 32 columns in a tile */
    enum { NOT_SCALED, ONE_SCALE, TWO_SCALES } scales;
    int offset; /* of the weights */
    enum { NO_MIN, ONE_MIN, TWO_MINS } minima;
    bool bytes; /* weights of 8 bits, else at most 6 */
} shape;

/* X(format, shape) for each. */
#define ST_NEON_FORMATS(X)                                                                                             \
    X(q4_0, ((shape){ST_TILE_Q4_0, 1, NOT_SCALED, 8, NO_MIN, false}))                                                  \
    X(q4_1, ((shape){ST_TILE_Q4_1, 1, NOT_SCALED, 0, ONE_MIN, false}))                                                 \
    X(q5_0, ((shape){ST_TILE_Q5_0, 1, NOT_SCALED, 16, NO_MIN, false}))                                                 \
    X(q5_1, ((shape){ST_TILE_Q5_1, 1, NOT_SCALED, 0, ONE_MIN, false}))                                                 \
    X(q8_0, ((shape){ST_TILE_Q8_0, 1, NOT_SCALED, 0, NO_MIN, true}))                                                   \
    X(iq4_nl, ((shape){ST_TILE_Q4_0, 1, NOT_SCALED, 0, NO_MIN, true}))                                                 \
    X(iq4_xs, ((shape){ST_TILE_IQ4_XS, 8, ONE_SCALE, 0, NO_MIN, true}))                                                \
    X(q2_k, ((shape){ST_TILE_Q2_K, 8, TWO_SCALES, 0, TWO_MINS, false}))                                                \
    X(q4_k, ((shape){ST_TILE_Q4_K, 8, ONE_SCALE, 0, ONE_MIN, false}))                                                  \
    X(q5_k, ((shape){ST_TILE_Q5_K, 8, ONE_SCALE, 0, ONE_MIN, false}))                                                  \
    X(q6_k, ((shape){ST_TILE_Q6_K, 8, TWO_SCALES, 32, NO_MIN, false}))

#endif
