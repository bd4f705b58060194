/* SPDX-License-Identifier: MIT
 * Pieces of a tile of blocks of 256 columns (see pieces_avx2.h). They are those of a chunk of 64 columns, in order:
 * halves of its first block of 32, then halves of its second. */
#ifndef ST_KERN_PIECES_K_AVX2_H
#define ST_KERN_PIECES_K_AVX2_H

#include "kern/pieces_avx2.h"

/* What stands before the values of a chunk at p goes with its first piece. */
ST_INLINE void fetch_head(const uint8_t *p, int piece) {
    if (piece == 0) fetch_ahead(p, ST_VECTOR);
}

ST_INLINE void piece_iq4_xs(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece,
                            int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_IQ4_XS, *scales = p + 16 * block;
    const uint8_t *v = p + 32 + ST_NIBBLES * block;
    fetch_ahead(v + 2 * ST_VECTOR * half, 2 * ST_VECTOR);
    x += ST_QBLOCK_BYTES * tokens * block;
    const __m256i by[] = {signed_byte_pairs(scales), signed_byte_pairs(scales + 8)};
    add_iq4_piece(s, v, x, half, by, tokens);
    if (half == 1) add_whole(s, tile, x, tokens);
}

/* The factors of minima, negated. */
ST_INLINE __m256 load_minus(const uint8_t *halves) {
    return _mm256_xor_ps(load_halves(halves), _mm256_set1_ps(-0.0f));
}

/* acc += dots of the block, whose scales stand at head[row] and minima at head[32 + row] */
ST_INLINE void add_block_k(strip_sums *s, const uint8_t *tile, const uint8_t *head, const uint8_t *x, int tokens) {
    add_whole(s, tile, x, tokens);
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        const __m256 dmin = load_minus(tile + ST_HALVES + 16 * h);
        add_min(&s->half[h], _mm256_mul_ps(dmin, byte_floats(head + 32 + 8 * h)), x, tokens);
    }
}

ST_INLINE void piece_q4_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q4_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_NIBBLES * block;
    fetch_head(p, piece);
    fetch_ahead(v + 2 * ST_VECTOR * half, 2 * ST_VECTOR);
    x += ST_QBLOCK_BYTES * tokens * block;
    add_nibble_piece(s, v, x, half, tokens);
    if (half == 0) return;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) widen(&s->half[h], byte_pairs(head + 8 * h), tokens);
    add_block_k(s, tile, head, x, tokens);
}

ST_INLINE void piece_q5_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q5_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_FIVES * block;
    fetch_head(p, piece);
    fetch_ahead(v + 2 * ST_VECTOR * half, (half == 0 ? 2 : 3) * ST_VECTOR);
    x += ST_QBLOCK_BYTES * tokens * block;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_fives(&s->half[h], v + 32 * h, x, byte_pairs(head + 8 * h), half, tokens);
    if (half == 1) add_block_k(s, tile, head, x, tokens);
}

/* Sixteen columns (half a block) of eight rows, less the offset, times their scale. */
ST_INLINE void add_sixes(sums8 *s, const uint8_t *v, const uint8_t *x, int half, const uint8_t *scales, int tokens) {
    const __m256i a = load256_once(v), b = load256_once(v + 64), c = load256_once(v + 128);
    sums8 part;
    zero_dots(&part, tokens);
    add_columns(&part, BITS(a, 63), x, 16 * half, tokens);
    add_columns(&part, BITS(b, 63), x, 16 * half + 4, tokens);
    add_columns(&part, BITS(c, 63), x, 16 * half + 8, tokens);
    add_columns(&part, SIX_3(a, b, c), x, 16 * half + 12, tokens);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++)
        part.dot[t] = sub16(part.dot[t], _mm256_slli_epi16(broadcast4(x_sums(x, t, tokens) + 4 * half), 5));
    add_widened(s, &part, signed_byte_pairs(scales), tokens);
}

ST_INLINE void piece_q6_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_Q6_K, *head = p + 32 * block + 16 * half;
    const uint8_t *v = p + 64 + 2 * ST_SIXES * block + ST_SIXES * half;
    fetch_head(p, piece);
    fetch_ahead(v, ST_SIXES);
    x += ST_QBLOCK_BYTES * tokens * block;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        if (half == 0) zero_dots(&s->half[h], tokens);
        add_sixes(&s->half[h], v + 32 * h, x, half, head + 8 * h, tokens);
    }
    if (half == 1) add_whole(s, tile, x, tokens);
}

/* Sixteen columns of 8 rows, times their scale. The odd values of a byte stay where they are in their nibble, so that
 * their sums, up to 4 * 3 * 127 * 2 * 2, are four times as large. */
ST_INLINE __m256i two_dots(const uint8_t *p, __m256i x0, __m256i x1, __m256i x2, __m256i x3, __m256i by) {
    const __m256i v = load256(p), high = _mm256_srli_epi16(v, 4);
    const __m256i even = add16(_mm256_maddubs_epi16(BITS(v, 3), x0), _mm256_maddubs_epi16(BITS(high, 3), x2));
    const __m256i odd = add16(_mm256_maddubs_epi16(BITS(v, 12), x1), _mm256_maddubs_epi16(BITS(high, 12), x3));
    return _mm256_madd_epi16(add16(even, _mm256_srai_epi16(odd, 2)), by);
}

/* The sums of the activations of both halves of the block, as 16-bit pairs. */
ST_INLINE __m256i half_sums(const uint8_t *sums) {
    int64_t v;
    memcpy(&v, sums, sizeof(v));
    const __m256i take = _mm256_set1_epi64x(0x0504010005040100);
    return _mm256_shuffle_epi8(pairs_to_lanes(_mm256_set1_epi64x(v)), take);
}

/* Of the pairs of 16 bits in the lanes of v, the first or the second, twice. */
ST_INLINE __m256i first_twice(__m256i v) {
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0d0c0d0c09080908, 0x0504050401000100)));
}
ST_INLINE __m256i second_twice(__m256i v) {
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0f0e0f0e0b0a0b0a, 0x0706070603020302)));
}

/* The factors of scales and of minima (negated) of rows 0-7 and 8-15. */
typedef struct scales_k {
    __m256 d_lo, d_hi, dmin_lo, dmin_hi;
} scales_k;

/* A block and a token, whose values stand at q, their scale at d, and the sums of both halves at sums. */
ST_INLINE void block_q2_k(__m256 *acc_lo, __m256 *acc_hi, scales_k s, const uint8_t *head, const uint8_t *v,
                          const uint8_t *q, const uint8_t *d, const uint8_t *sums) {
    const __m256i low = _mm256_set1_epi16(15);
    const __m128i first = _mm_loadu_si128((const __m128i *)head),
                  second = _mm_loadu_si128((const __m128i *)(head + 16));
    __m256i by_lo = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second));
    __m256i by_hi = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second));
    const __m256i halves = half_sums(sums);
    __m256i min_lo = _mm256_madd_epi16(_mm256_srli_epi16(by_lo, 4), halves);
    __m256i min_hi = _mm256_madd_epi16(_mm256_srli_epi16(by_hi, 4), halves);
    HOLD(min_lo);
    HOLD(min_hi);
    by_lo = _mm256_and_si256(by_lo, low);
    by_hi = _mm256_and_si256(by_hi, low);
    __m256i x0 = broadcast4(q), x1 = broadcast4(q + 4), x2 = broadcast4(q + 8), x3 = broadcast4(q + 12);
    __m256i dot_lo = two_dots(v, x0, x1, x2, x3, first_twice(by_lo));
    __m256i dot_hi = two_dots(v + 32, x0, x1, x2, x3, first_twice(by_hi));
    HOLD(dot_lo);
    HOLD(dot_hi);
    x0 = broadcast4(q + 16), x1 = broadcast4(q + 20), x2 = broadcast4(q + 24), x3 = broadcast4(q + 28);
    dot_lo = add32(dot_lo, two_dots(v + 64, x0, x1, x2, x3, second_twice(by_lo)));
    HOLD(dot_lo);
    dot_hi = add32(dot_hi, two_dots(v + 96, x0, x1, x2, x3, second_twice(by_hi)));
    const __m256 dx = _mm256_castsi256_ps(broadcast4(d));
    *acc_lo = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot_lo), _mm256_mul_ps(s.d_lo, dx), *acc_lo);
    *acc_hi = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot_hi), _mm256_mul_ps(s.d_hi, dx), *acc_hi);
    *acc_lo = _mm256_fmadd_ps(_mm256_cvtepi32_ps(min_lo), _mm256_mul_ps(s.dmin_lo, dx), *acc_lo);
    *acc_hi = _mm256_fmadd_ps(_mm256_cvtepi32_ps(min_hi), _mm256_mul_ps(s.dmin_hi, dx), *acc_hi);
}

/* A whole chunk: the scales of the tile are loaded once for both blocks. */
ST_INLINE void piece_q2_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)piece;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q2_K;
    const scales_k k = {load_halves(tile), load_halves(tile + 16), load_minus(tile + 32), load_minus(tile + 48)};
    fetch_ahead(p, ST_CHUNK_Q2_K);
    ST_UNROLLED
    for (int block = 0; block < 2; block++) {
        const uint8_t *head = p + 32 * block, *v = p + 64 + 2 * ST_VECTOR * block;
        ST_UNROLLED
        for (int t = 0; t < tokens; t++)
            block_q2_k(&s->half[0].acc[t], &s->half[1].acc[t], k, head, v, x + 32 * t, x + 32 * tokens + 4 * t,
                       x_sums(x, t, tokens));
        x += ST_QBLOCK_BYTES * tokens;
    }
}

#endif
