/* SPDX-License-Identifier: MIT
 * Packing of types with blocks of 256 columns. A row's block is first spread to one byte a value, then its bytes are
 * put together again four at a time. The source layouts are those of the GGUF specification's block types. */
#include "gguf/blocks.h"
#include "kern/layout.h"

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
        const uint32_t lo = st_load32(values + 4 * j) & 0x0f0f0f0f, hi = st_load32(values + 16 + 4 * j) & 0x0f0f0f0f;
        st_store32(vectors + ST_VECTOR * j + 4 * row, lo | (hi << 4));
    }
}

/* "fives 32" of 32 values. */
static void put_fives(uint8_t *vectors, const uint8_t *values, uint32_t row) {
    uint32_t words[8];
    for (uint32_t j = 0; j < 8; j++) words[j] = st_load32(values + 4 * j);
    st_put_fives(vectors + 4 * row, words);
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
        put_fives(to, values, row);
        put_fives(to + ST_FIVES, values + 32, row);
    }
}

/* 256 values of 6 bits and 16 scales into a Q6_K tile. */
static void put_sixes(uint8_t *tile, const uint8_t *values, const int8_t *scales, uint32_t row) {
    for (uint32_t g = 0; g < 16; g++) {
        uint8_t *chunk = tile + ST_HALVES + (size_t)(g / 4) * ST_CHUNK_Q6_K;
        uint8_t *to = chunk + 64 + (size_t)(g % 4) * ST_SIXES + 4 * row;
        const uint32_t last = st_load32(values + 16 * g + 12);
        chunk[16 * (g % 4) + row] = (uint8_t)scales[g];
        for (uint32_t j = 0; j < 3; j++)
            st_store32(to + ST_VECTOR * j,
                       st_load32(values + 16 * g + 4 * j) | (((last >> (2 * j)) & 0x03030303) << 6));
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

/* A value of Q3_K is 0..3, less 4 where its mask bit is clear, times a scale of 6 bits less 32: Q6_K holds that
 * exactly. */
static void pack_row_q3_k(uint8_t *tile, const uint8_t *block, uint32_t row) {
    const st_q3_k *b = (const st_q3_k *)block;
    const uint8_t *s = b->scales;
    uint8_t values[256];
    int8_t scales[16];
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t l = 0; l < 32; l++)
            values[32 * g + l] =
                (uint8_t)(32 - 4 + ((b->qs[32 * (g / 4) + l] >> (2 * (g % 4))) & 3) + 4 * ((b->hmask[l] >> g) & 1));
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
        for (uint32_t i = 0; i < 4; i++) bits |= st_load32(values + 16 * g + 4 * i) << (2 * i);
        chunk[16 * (g % 4) + row] = b->scales[g];
        st_store32(chunk + 64 + ST_VECTOR * (g % 4) + 4 * row, bits);
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
            st_store32(chunk + 32 + ST_NIBBLES * (i % 2) + ST_VECTOR * j + 4 * row, st_load32(b->qs + 16 * i + 4 * j));
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
