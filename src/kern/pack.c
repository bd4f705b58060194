/* SPDX-License-Identifier: MIT
 * Packing of float types and of types with blocks of 32 columns. */
#include "kern/layout.h"

#include <string.h>

static uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static void store32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof(v)); }

void st_pack_f32(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    if (rows < ST_STRIP) memset(strip, 0, (size_t)cols * ST_STRIP * 4);
    for (uint32_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < rows; r++) memcpy(strip + ((size_t)k * ST_STRIP + r) * 4, src + r * row_bytes + k * 4, 4);
}

/* Also for BF16: any two bytes. */
void st_pack_f16(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    if (rows < ST_STRIP) memset(strip, 0, (size_t)cols * ST_STRIP * 2);
    for (uint32_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < rows; r++) memcpy(strip + ((size_t)k * ST_STRIP + r) * 2, src + r * row_bytes + k * 2, 2);
}

/* Where the parts of a source block of 32 and of its tile stand; 0 means that there is no such part (d is always first). */
typedef struct shape {
    uint32_t block_bytes, tile_bytes;
    uint32_t src_m, src_fifth, src_values;
    uint32_t fifth, values; /* in the tile; m follows d */
    uint32_t words;         /* 32-bit words of values in a row's block */
} shape;

/* Turns the 4 x 4 bit matrix in the low 16 bits (bit 4j + c) around (bit 4c + j). Hacker's Delight, 7-3. */
static uint32_t transpose4(uint32_t x) {
    uint32_t t = (x ^ (x >> 3)) & 0x0a0a;
    x ^= t ^ (t << 3);
    t = (x ^ (x >> 6)) & 0x00cc;
    return x ^ t ^ (t << 6);
}

/* Spreads nibble c of the low 16 bits into byte c. */
static uint32_t spread4(uint32_t x) {
    x = (x | (x << 8)) & 0x00ff00ff;
    return (x | (x << 4)) & 0x0f0f0f0f;
}

/* The fifth bits of 32 columns (bit k for column k) as four bytes: byte c has bit j for 4j + c, bit 4 + j for 16 + 4j + c. */
static uint32_t fifth_bits(uint32_t h) {
    return spread4(transpose4(h & 0xffff)) | (spread4(transpose4(h >> 16)) << 4);
}

static void pack_tile(const shape *s, uint8_t *tile, const uint8_t *src, size_t row_bytes, uint32_t rows) {
    for (uint32_t r = 0; r < rows; r++) {
        const uint8_t *b = src + r * row_bytes;
        memcpy(tile + 2 * r, b, 2);
        if (s->src_m) memcpy(tile + ST_HALVES + 2 * r, b + s->src_m, 2);
        if (s->src_fifth) store32(tile + s->fifth + 4 * r, fifth_bits(load32(b + s->src_fifth)));
        for (uint32_t j = 0; j < s->words; j++)
            store32(tile + s->values + ST_VECTOR * j + 4 * r, load32(b + s->src_values + 4 * j));
    }
}

static void pack_strip(const shape *s, uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    for (uint32_t i = 0; i < cols / 32; i++) {
        uint8_t *tile = strip + (size_t)i * s->tile_bytes;
        if (rows < ST_STRIP) memset(tile, 0, s->tile_bytes);
        pack_tile(s, tile, src + (size_t)i * s->block_bytes, row_bytes, rows);
    }
}

void st_pack_q4_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = 18, .tile_bytes = ST_TILE_Q4_0, .src_values = 2, .values = 32, .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q4_1(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {
        .block_bytes = 20, .tile_bytes = ST_TILE_Q4_1, .src_m = 2, .src_values = 4, .values = 64, .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q5_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = 22, .tile_bytes = ST_TILE_Q5_0, .src_fifth = 2, .src_values = 6,
                            .fifth = 32, .values = 96, .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q5_1(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = 24, .tile_bytes = ST_TILE_Q5_1, .src_m = 2, .src_fifth = 4, .src_values = 8,
                            .fifth = 64, .values = 128, .words = 4};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}

void st_pack_q8_0(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    static const shape s = {.block_bytes = 34, .tile_bytes = ST_TILE_Q8_0, .src_values = 2, .values = 32, .words = 8};
    pack_strip(&s, strip, src, row_bytes, rows, cols);
}
