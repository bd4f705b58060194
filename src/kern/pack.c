/* SPDX-License-Identifier: MIT
 * Packing of float types and of types with blocks of 32 columns. */
#include "gguf/blocks.h"
#include "kern/layout.h"

void st_pack_f32(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    if (rows < ST_STRIP) memset(strip, 0, (size_t)cols * ST_STRIP * 4);
    for (uint32_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < rows; r++)
            memcpy(strip + ((size_t)k * ST_STRIP + r) * 4, src + r * row_bytes + k * 4, 4);
}

/* Also for BF16: any two bytes. */
void st_pack_f16(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    if (rows < ST_STRIP) memset(strip, 0, (size_t)cols * ST_STRIP * 2);
    for (uint32_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < rows; r++)
            memcpy(strip + ((size_t)k * ST_STRIP + r) * 2, src + r * row_bytes + k * 2, 2);
}

/* Inlined, so that each format has a copy in which its shape is a constant: a third of the instructions. */
#define INLINE static inline __attribute__((always_inline))

/* Where the parts of a source block of 32 and of its tile stand; 0 means that there is no such part (d is always
 * first). */
typedef struct shape {
    uint32_t block_bytes, tile_bytes;
    uint32_t src_m, src_fifth, src_values;
    uint32_t values; /* in the tile; m follows d */
    uint32_t words;  /* 32-bit words of values in a row's block */
} shape;

/* The nibbles of a block as words of four bytes, with the fifth bits (bit k of h for column k) above. Multiplying
 * spreads four bits to the lowest bits of four bytes. */
static void put_fives(uint8_t *to, const uint8_t *nibbles, uint32_t h) {
    uint32_t words[8];
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t v = st_load32(nibbles + 4 * j);
        words[j] = (v & 0x0f0f0f0f) | (((((h >> (4 * j)) & 15) * 0x204081) & 0x01010101) << 4);
        words[4 + j] = ((v >> 4) & 0x0f0f0f0f) | (((((h >> (16 + 4 * j)) & 15) * 0x204081) & 0x01010101) << 4);
    }
    st_put_fives(to, words);
}

INLINE void pack_tile(const shape *s, uint8_t *tile, const uint8_t *src, size_t row_bytes, uint32_t rows) {
    for (uint32_t r = 0; r < rows; r++) {
        const uint8_t *b = src + r * row_bytes;
        uint8_t *values = tile + s->values + 4 * r;
        memcpy(tile + 2 * r, b, 2);
        if (s->src_m) memcpy(tile + ST_HALVES + 2 * r, b + s->src_m, 2);
        if (s->src_fifth)
            put_fives(values, b + s->src_values, st_load32(b + s->src_fifth));
        else
            for (uint32_t j = 0; j < s->words; j++)
                st_store32(values + ST_VECTOR * j, st_load32(b + s->src_values + 4 * j));
    }
}

INLINE void pack_strip(const shape *s, uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows,
                       uint32_t cols) {
    for (uint32_t i = 0; i < cols / 32; i++) {
        uint8_t *tile = strip + (size_t)i * s->tile_bytes;
        if (rows < ST_STRIP) memset(tile, 0, s->tile_bytes);
        pack_tile(s, tile, src + (size_t)i * s->block_bytes, row_bytes, rows);
    }
}

void st_pack_q4_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = sizeof(st_q4_0),
                            .tile_bytes = ST_TILE_Q4_0,
                            .src_values = offsetof(st_q4_0, qs),
                            .values = ST_HALVES,
                            .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q4_1(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = sizeof(st_q4_1),
                            .tile_bytes = ST_TILE_Q4_1,
                            .src_m = offsetof(st_q4_1, m),
                            .src_values = offsetof(st_q4_1, qs),
                            .values = 2 * ST_HALVES,
                            .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q5_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = sizeof(st_q5_0),
                            .tile_bytes = ST_TILE_Q5_0,
                            .src_fifth = offsetof(st_q5_0, qh),
                            .src_values = offsetof(st_q5_0, qs),
                            .values = ST_HALVES};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q5_1(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = sizeof(st_q5_1),
                            .tile_bytes = ST_TILE_Q5_1,
                            .src_m = offsetof(st_q5_1, m),
                            .src_fifth = offsetof(st_q5_1, qh),
                            .src_values = offsetof(st_q5_1, qs),
                            .values = 2 * ST_HALVES};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q8_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = sizeof(st_q8_0),
                            .tile_bytes = ST_TILE_Q8_0,
                            .src_values = offsetof(st_q8_0, qs),
                            .values = ST_HALVES,
                            .words = 8};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}
