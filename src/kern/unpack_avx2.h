/* SPDX-License-Identifier: MIT
 * A block of 32 columns x 16 rows, spread to one byte a value for the matrix-matrix kernels of AVX2, and the unpacking
 * of every tile into such blocks. */
#ifndef ST_KERN_UNPACK_AVX2_H
#define ST_KERN_UNPACK_AVX2_H

#include "gguf/blocks.h"
#include "kern/avx2.h"

typedef struct block16 {
    _Alignas(64) uint8_t w[8 * ST_VECTOR]; /* vector j: columns 4j..4j+3 of the rows */
    uint8_t size[8 * ST_VECTOR];           /* |w| of signed weights */
    int16_t by[2][2 * ST_STRIP];           /* a row's integer scale, twice: for columns 0-15 and 16-31 */
    int16_t min[2][2 * ST_STRIP];          /* Q2_K: a row's integer minimum, twice, likewise */
    float d[ST_STRIP];
    float m[ST_STRIP]; /* Q2_K: -dmin; others: the whole minimum */
} block16;

/* Unpacks block i of a tile. */
typedef void unpack_fn(block16 *b, const uint8_t *tile, uint32_t i);

ST_INLINE void store256(void *p, __m256i v) {
    _mm256_store_si256((__m256i *)p, v);
}

ST_INLINE void store_floats(float p[ST_STRIP], __m256 lo, __m256 hi) {
    _mm256_store_ps(p, lo);
    _mm256_store_ps(p + 8, hi);
}

ST_INLINE void load_scale(float p[ST_STRIP], const uint8_t *halves) {
    store_floats(p, load_halves(halves), load_halves(halves + 16));
}

ST_INLINE void unpack_nibbles(block16 *b, const uint8_t *v) {
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i n = load256(v + 32 * j);
        store256(b->w + 32 * j, low_nibbles(n));
        store256(b->w + 256 + 32 * j, high_nibbles(n));
    }
}

ST_INLINE void unpack_fives(block16 *b, const uint8_t *p) {
    for (uint32_t half = 0; half < 64; half += 32) {
        const fives f = load_fives(p + half);
        uint8_t *w = b->w + half;
        store256(w, f.v0);
        store256(w + 64, f.v1);
        store256(w + 128, f.v2);
        store256(w + 192, f.v3);
        store256(w + 256, f.v4);
        store256(w + 320, f.v5);
        store256(w + 384, f.v6);
        store256(w + 448, f.v7);
    }
}

ST_INLINE void unpack_q4_0(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    unpack_nibbles(b, tile + ST_HALVES);
}

ST_INLINE void unpack_q4_1(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    load_scale(b->m, tile + ST_HALVES);
    unpack_nibbles(b, tile + 2 * ST_HALVES);
}

ST_INLINE void unpack_q5_0(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    unpack_fives(b, tile + ST_HALVES);
}

ST_INLINE void unpack_q5_1(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    load_scale(b->m, tile + ST_HALVES);
    unpack_fives(b, tile + 2 * ST_HALVES);
}

ST_INLINE void store_signed(block16 *b, uint32_t at, __m256i w) {
    store256(b->w + at, w);
    store256(b->size + at, _mm256_abs_epi8(w));
}

ST_INLINE void unpack_q8_0(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    for (uint32_t j = 0; j < 16; j++) store_signed(b, 32 * j, load256(tile + ST_HALVES + 32 * j));
}

ST_INLINE void unpack_iq4(block16 *b, const uint8_t *v) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)st_iq4_values));
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i n = load256(v + 32 * j);
        store_signed(b, 32 * j, _mm256_shuffle_epi8(table, low_nibbles(n)));
        store_signed(b, 256 + 32 * j, _mm256_shuffle_epi8(table, high_nibbles(n)));
    }
}

ST_INLINE void unpack_iq4_nl(block16 *b, const uint8_t *tile, uint32_t i) {
    (void)i;
    load_scale(b->d, tile);
    unpack_iq4(b, tile + ST_HALVES);
}

/* The same scale for both halves of a block. */
ST_INLINE void set_scale(block16 *b, __m256i lo, __m256i hi) {
    for (uint32_t i = 0; i < 2; i++) {
        store256(b->by[i], lo);
        store256(b->by[i] + 16, hi);
    }
}

ST_INLINE void unpack_iq4_xs(block16 *b, const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_IQ4_XS, *head = p + 16 * (i % 2);
    load_scale(b->d, tile);
    set_scale(b, signed_byte_pairs(head), signed_byte_pairs(head + 8));
    unpack_iq4(b, p + 32 + ST_NIBBLES * (i % 2));
}

/* Scales and minima of Q4_K and Q5_K: see add_block_k in matvec_avx2.c. */
ST_INLINE void set_scales_k(block16 *b, const uint8_t *tile, const uint8_t *head) {
    const __m256 minus = _mm256_set1_ps(-0.0f);
    load_scale(b->d, tile);
    set_scale(b, byte_pairs(head), byte_pairs(head + 8));
    store_floats(b->m, _mm256_mul_ps(_mm256_xor_ps(load_halves(tile + 32), minus), byte_floats(head + 32)),
                 _mm256_mul_ps(_mm256_xor_ps(load_halves(tile + 48), minus), byte_floats(head + 40)));
}

ST_INLINE void unpack_q4_k(block16 *b, const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q4_K;
    set_scales_k(b, tile, p + 16 * (i % 2));
    unpack_nibbles(b, p + 64 + ST_NIBBLES * (i % 2));
}

ST_INLINE void unpack_q5_k(block16 *b, const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q5_K;
    set_scales_k(b, tile, p + 16 * (i % 2));
    unpack_fives(b, p + 64 + ST_FIVES * (i % 2));
}

ST_INLINE void unpack_sixes(uint8_t *w, const uint8_t *p) {
    const sixes f = load_sixes(p);
    store256(w, f.v0);
    store256(w + 64, f.v1);
    store256(w + 128, f.v2);
    store256(w + 192, f.v3);
}

ST_INLINE void unpack_q6_k(block16 *b, const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q6_K, *head = p + 32 * (i % 2);
    const uint8_t *v = p + 64 + 2 * ST_SIXES * (i % 2);
    load_scale(b->d, tile);
    for (uint32_t h = 0; h < 2; h++) {
        store256(b->by[h], signed_byte_pairs(head + 16 * h));
        store256(b->by[h] + 16, signed_byte_pairs(head + 16 * h + 8));
        unpack_sixes(b->w + 256 * h, v + ST_SIXES * h);
        unpack_sixes(b->w + 256 * h + 32, v + ST_SIXES * h + 32);
    }
}

ST_INLINE void unpack_q2_k(block16 *b, const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q2_K, *head = p + 32 * (i % 2);
    const uint8_t *v = p + 64 + 2 * ST_VECTOR * (i % 2);
    const __m256i low = _mm256_set1_epi16(15), three = _mm256_set1_epi8(3);
    const __m256 minus = _mm256_set1_ps(-0.0f);
    load_scale(b->d, tile);
    store_floats(b->m, _mm256_xor_ps(load_halves(tile + 32), minus), _mm256_xor_ps(load_halves(tile + 48), minus));
    for (uint32_t h = 0; h < 4; h++) { /* columns 0-15: rows 0-7, rows 8-15, then columns 16-31 */
        const __m256i q = load256(v + 32 * h);
        uint8_t *w = b->w + 256 * (h / 2) + 32 * (h % 2);
        const __m256i pairs = byte_pairs(head + 8 * h);
        store256(b->by[h / 2] + 16 * (h % 2), _mm256_and_si256(pairs, low));
        store256(b->min[h / 2] + 16 * (h % 2), _mm256_srli_epi16(pairs, 4));
        store256(w, _mm256_and_si256(q, three));
        store256(w + 64, _mm256_and_si256(_mm256_srli_epi16(q, 2), three));
        store256(w + 128, _mm256_and_si256(_mm256_srli_epi16(q, 4), three));
        store256(w + 192, _mm256_and_si256(_mm256_srli_epi16(q, 6), three));
    }
}

#endif
