/* SPDX-License-Identifier: MIT
 * Packing of types with blocks of 256 columns. A row's block is first spread to one byte a value, then its bytes are put
 * together again four at a time. The source layouts are those of the GGUF specification's block types. */
#include "gguf/blocks.h"
#include "kern/layout.h"

static uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static void store32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof(v)); }

/* Packs one row's block of 256 columns into its places in the tile. */
typedef void pack_row_fn(uint8_t *tile, const uint8_t *block, uint32_t row);

static void pack_blocks(pack_row_fn *pack_row, uint32_t block_bytes, uint32_t tile_bytes, uint8_t *strip,
                        const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    for (uint32_t i = 0; i < cols / 256; i++) {
        uint8_t *tile = strip + (size_t)i * tile_bytes;
        if (rows < ST_STRIP) memset(tile, 0, tile_bytes);
        for (uint32_t r = 0; r < rows; r++) pack_row(tile, src + r * row_bytes + (size_t)i * block_bytes, r);
    }
}

/* "nibbles 32" of the low four bits of 32 values. */
static void put_nibbles(uint8_t *vectors, const uint8_t *values, uint32_t row) {
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t lo = load32(values + 4 * j) & 0x0f0f0f0f, hi = load32(values + 16 + 4 * j) & 0x0f0f0f0f;
        store32(vectors + ST_VECTOR * j + 4 * row, lo | (hi << 4));
    }
}

/* "fifth 32": bit 4 of 32 values. */
static void put_fifth(uint8_t *vector, const uint8_t *values, uint32_t row) {
    uint32_t bits = 0;
    for (uint32_t j = 0; j < 8; j++) bits |= ((load32(values + 4 * j) >> 4) & 0x01010101) << j;
    store32(vector + 4 * row, bits);
}

static void put_scales_q4_k(uint8_t *tile, uint32_t chunk_bytes, const uint8_t scales[12], uint32_t row) {
    for (uint32_t i = 0; i < 8; i++) {
        uint8_t *head = tile + 2 * ST_HALVES + (size_t)(i / 2) * chunk_bytes + 16 * (i % 2) + row;
        st_scale_min_get(scales, i, head, head + 32);
    }
}

static void pack_row_q4_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q4_k *b = (const st_q4_k *)block;
    memcpy(tile + 2 * row, b->d, 2);
    memcpy(tile + ST_HALVES + 2 * row, b->dmin, 2);
    put_scales_q4_k(tile, ST_CHUNK_Q4_K, b->scales, row);
    for (uint32_t c = 0; c < ST_CHUNKS; c++) {
        const uint8_t *qs = b->qs + 32 * c;
        uint8_t values[64];
        for (uint32_t l = 0; l < 32; l++) {
            values[l] = qs[l] & 15;
            values[32 + l] = qs[l] >> 4;
        }
        uint8_t *to = tile + 2 * ST_HALVES + (size_t)c * ST_CHUNK_Q4_K + 64;
        put_nibbles(to, values, row);
        put_nibbles(to + ST_NIBBLES, values + 32, row);
    }
}

static void pack_row_q5_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q5_k *b = (const st_q5_k *)block;
    const uint8_t *qh = b->qh;
    memcpy(tile + 2 * row, b->d, 2);
    memcpy(tile + ST_HALVES + 2 * row, b->dmin, 2);
    put_scales_q4_k(tile, ST_CHUNK_Q5_K, b->scales, row);
    for (uint32_t c = 0; c < ST_CHUNKS; c++) {
        const uint8_t *qs = b->qs + 32 * c;
        uint8_t values[64];
        for (uint32_t l = 0; l < 32; l++) {
            values[l] = (uint8_t)((qs[l] & 15) | (((qh[l] >> (2 * c)) & 1) << 4));
            values[32 + l] = (uint8_t)((qs[l] >> 4) | (((qh[l] >> (2 * c + 1)) & 1) << 4));
        }
        uint8_t *to = tile + 2 * ST_HALVES + (size_t)c * ST_CHUNK_Q5_K + 64;
        for (uint32_t h = 0; h < 2; h++, to += ST_FIFTH + ST_NIBBLES) {
            put_fifth(to, values + 32 * h, row);
            put_nibbles(to + ST_FIFTH, values + 32 * h, row);
        }
    }
}

/* 256 values of 6 bits and 16 scales into a Q6_K tile. */
static void put_sixes(uint8_t *tile, const uint8_t *values, const int8_t *scales, uint32_t row) {
    for (uint32_t g = 0; g < 16; g++) {
        uint8_t *chunk = tile + ST_HALVES + (size_t)(g / 4) * ST_CHUNK_Q6_K;
        uint8_t *to = chunk + 64 + (size_t)(g % 4) * 3 * ST_VECTOR + 4 * row;
        const uint32_t v0 = load32(values + 16 * g), v1 = load32(values + 16 * g + 4);
        const uint32_t v2 = load32(values + 16 * g + 8), v3 = load32(values + 16 * g + 12);
        const uint32_t low = 0x0f0f0f0f, two = 0x03030303;
        chunk[16 * (g % 4) + row] = (uint8_t)scales[g];
        store32(to, (v0 & low) | ((v2 & low) << 4));
        store32(to + ST_VECTOR, (v1 & low) | ((v3 & low) << 4));
        store32(to + 2 * ST_VECTOR, ((v0 >> 4) & two) | (((v1 >> 4) & two) << 2) | (((v2 >> 4) & two) << 4) |
                                        (((v3 >> 4) & two) << 6));
    }
}

static void pack_row_q6_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q6_k *b = (const st_q6_k *)block;
    uint8_t values[256];
    for (uint32_t n = 0; n < 2; n++) {
        const uint8_t *ql = b->ql + 64 * n, *qh = b->qh + 32 * n;
        uint8_t *v = values + 128 * n;
        for (uint32_t l = 0; l < 32; l++) {
            v[l] = (uint8_t)((ql[l] & 15) | ((qh[l] & 3) << 4));
            v[32 + l] = (uint8_t)((ql[32 + l] & 15) | (((qh[l] >> 2) & 3) << 4));
            v[64 + l] = (uint8_t)((ql[l] >> 4) | (((qh[l] >> 4) & 3) << 4));
            v[96 + l] = (uint8_t)((ql[32 + l] >> 4) | ((qh[l] >> 6) << 4));
        }
    }
    memcpy(tile + 2 * row, b->d, 2);
    put_sixes(tile, values, b->scales, row);
}

/* A value of Q3_K is 0..3, less 4 where its mask bit is clear, times a scale of 6 bits less 32: Q6_K holds that exactly. */
static void pack_row_q3_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q3_k *b = (const st_q3_k *)block;
    const uint8_t *s = b->scales;
    uint8_t values[256];
    int8_t scales[16];
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t l = 0; l < 32; l++)
            values[32 * g + l] = (uint8_t)(32 - 4 + ((b->qs[32 * (g / 4) + l] >> (2 * (g % 4))) & 3) + 4 * ((b->hmask[l] >> g) & 1));
    for (uint32_t i = 0; i < 16; i++) {
        const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4, high = (s[8 + i % 4] >> (2 * (i / 4))) & 3;
        scales[i] = (int8_t)((low | (high << 4)) - 32);
    }
    memcpy(tile + 2 * row, b->d, 2);
    put_sixes(tile, values, scales, row);
}

static void pack_row_q2_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q2_k *b = (const st_q2_k *)block;
    uint8_t values[256];
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t l = 0; l < 32; l++) values[32 * g + l] = (b->qs[32 * (g / 4) + l] >> (2 * (g % 4))) & 3;
    memcpy(tile + 2 * row, b->d, 2);
    memcpy(tile + ST_HALVES + 2 * row, b->dmin, 2);
    for (uint32_t g = 0; g < 16; g++) {
        uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(g / 4) * ST_CHUNK_Q2_K;
        uint32_t bits = 0;
        for (uint32_t i = 0; i < 4; i++) bits |= load32(values + 16 * g + 4 * i) << (2 * i);
        chunk[16 * (g % 4) + row] = b->scales[g];
        store32(chunk + 64 + ST_VECTOR * (g % 4) + 4 * row, bits);
    }
}

static void pack_row_iq4_xs(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_iq4_xs *b = (const st_iq4_xs *)block;
    const uint32_t high = st_u16_at(b->scales_h);
    memcpy(tile + 2 * row, b->d, 2);
    for (uint32_t i = 0; i < 8; i++) {
        uint8_t *chunk = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_IQ4_XS;
        const uint32_t low = (b->scales_l[i / 2] >> (4 * (i % 2))) & 15;
        chunk[16 * (i % 2) + row] = (uint8_t)(int8_t)((int)(low | (((high >> (2 * i)) & 3) << 4)) - 32);
        for (uint32_t j = 0; j < 4; j++)
            store32(chunk + 32 + ST_NIBBLES * (i % 2) + ST_VECTOR * j + 4 * row, load32(b->qs + 16 * i + 4 * j));
    }
}

void st_pack_q2_k(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_q2_k, sizeof(st_q2_k), ST_TILE_Q2_K, strip, src, row_bytes, rows, cols);
}

void st_pack_q3_k(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_q3_k, sizeof(st_q3_k), ST_TILE_Q6_K, strip, src, row_bytes, rows, cols);
}

void st_pack_q4_k(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_q4_k, sizeof(st_q4_k), ST_TILE_Q4_K, strip, src, row_bytes, rows, cols);
}

void st_pack_q5_k(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_q5_k, sizeof(st_q5_k), ST_TILE_Q5_K, strip, src, row_bytes, rows, cols);
}

void st_pack_q6_k(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_q6_k, sizeof(st_q6_k), ST_TILE_Q6_K, strip, src, row_bytes, rows, cols);
}

void st_pack_iq4_xs(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols) {
    pack_blocks(pack_row_iq4_xs, sizeof(st_iq4_xs), ST_TILE_IQ4_XS, strip, src, row_bytes, rows, cols);
}
