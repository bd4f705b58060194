/* SPDX-License-Identifier: MIT
 * Pieces of a tile of 16 rows times one to four tokens, with AVX2: the formats of blocks of 32 columns, and what those
 * of 256 (pieces_k_avx2.h) have in common with them. turns_avx2.c has the loops. */
#ifndef ST_KERN_PIECES_AVX2_H
#define ST_KERN_PIECES_AVX2_H

#include "gguf/blocks.h"
#include "kern/avx2.h"

enum { MOST_TOKENS = 4 };

/* Of eight rows of a strip that is under way, by token: the float sums, and the integer ones of a block of which some
 * pieces are done. */
typedef struct sums8 {
    __m256 acc[MOST_TOKENS];
    __m256i dot[MOST_TOKENS];
} sums8;

/* Rows 0-7 and 8-15. */
typedef struct strip_sums {
    sums8 half[2];
} strip_sums;

/* Every function takes how many tokens there are, which is known when it is compiled. */

/* Token t's parts of a block of activations at x (st_panel): 32 values, and, behind those of all tokens, the scale, the
 * scale times the sum, and the sums of both halves in pairs. */
ST_INLINE __m256i x_values(const uint8_t *x, int t, int at) {
    return broadcast4(x + 32 * t + at);
}
ST_INLINE __m256 x_scale(const uint8_t *x, int t, int tokens) {
    return _mm256_castsi256_ps(broadcast4(x + 32 * tokens + 4 * t));
}
ST_INLINE __m256 x_scaled_sum(const uint8_t *x, int t, int tokens) {
    return _mm256_castsi256_ps(broadcast4(x + 36 * tokens + 4 * t));
}
ST_INLINE const uint8_t *x_sums(const uint8_t *x, int t, int tokens) {
    return x + 40 * tokens + 8 * t;
}

/* acc += float(dot) * (d * dx) */
ST_INLINE void add_scaled(sums8 *s, __m256 d, const uint8_t *x, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++)
        s->acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(s->dot[t]), _mm256_mul_ps(d, x_scale(x, t, tokens)), s->acc[t]);
}

/* acc += m * ds */
ST_INLINE void add_min(sums8 *s, __m256 m, const uint8_t *x, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->acc[t] = _mm256_fmadd_ps(m, x_scaled_sum(x, t, tokens), s->acc[t]);
}

ST_INLINE void zero_floats(sums8 *s, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->acc[t] = _mm256_setzero_ps();
}
ST_INLINE void zero_dots(sums8 *s, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->dot[t] = _mm256_setzero_si256();
}

/* Both 16-bit sums of a lane times the scale, added. */
ST_INLINE void widen(sums8 *s, __m256i by, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->dot[t] = _mm256_madd_epi16(s->dot[t], by);
}

/* Takes off the sums of the activations of the whole block, for an offset of 2^shift. */
ST_INLINE void less_offset(sums8 *s, const uint8_t *x, int shift, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        const __m256i sum = add16(broadcast4(x_sums(x, t, tokens)), broadcast4(x_sums(x, t, tokens) + 4));
        s->dot[t] = sub16(s->dot[t], _mm256_slli_epi16(sum, shift));
    }
}

/* 16-bit sums + the products of a vector of unsigned weights, of the columns from `at` on. */
ST_INLINE void add_columns(sums8 *s, __m256i w, const uint8_t *x, int at, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->dot[t] = add16(s->dot[t], _mm256_maddubs_epi16(w, x_values(x, t, at)));
}

#define ONES _mm256_set1_epi16(1)

/* The 32-bit sums of a block whose scales stand at tile. */
ST_INLINE void add_whole(strip_sums *s, const uint8_t *tile, const uint8_t *x, int tokens) {
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_scaled(&s->half[h], load_halves(tile + 16 * h), x, tokens);
}

/* The 16-bit sums of such a block, whose weights have an offset of 2^shift. */
ST_INLINE void add_less_offset(strip_sums *s, const uint8_t *tile, const uint8_t *x, int shift, int tokens) {
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        less_offset(&s->half[h], x, shift, tokens);
        widen(&s->half[h], ONES, tokens);
        add_scaled(&s->half[h], load_halves(tile + 16 * h), x, tokens);
    }
}

/* ---- 4 bits ---- */

/* A vector of nibbles at v: four columns from `at` on and their partners 16 further. */
ST_INLINE void add_nibbles(sums8 *s, const uint8_t *v, const uint8_t *x, int at, int tokens) {
    const __m256i w = load256(v);
    add_columns(s, low_nibbles(w), x, at, tokens);
    add_columns(s, high_nibbles(w), x, at + 16, tokens);
}

/* Halves of a block whose nibbles stand at v: 8 columns and their partners; the sums of both halves fit 16 bits. */
ST_INLINE void add_nibble_piece(strip_sums *s, const uint8_t *v, const uint8_t *x, int piece, int tokens) {
    v += 2 * ST_VECTOR * piece;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        if (piece == 0) zero_dots(&s->half[h], tokens);
        add_nibbles(&s->half[h], v + 32 * h, x, 8 * piece, tokens);
    }
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_nibbles(&s->half[h], v + ST_VECTOR + 32 * h, x, 8 * piece + 4, tokens);
}

/* A tile of 5 or 6 lines: three with the first piece, the others with the second. */
ST_INLINE void fetch_half(const uint8_t *tile, int tile_bytes, int piece) {
    if (piece == 0) fetch_ahead(tile, 192);
    if (piece == 1) fetch_ahead(tile + 192, tile_bytes - 192);
}

ST_INLINE void piece_q4_0(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_0, piece);
    add_nibble_piece(s, tile + ST_HALVES, x, piece, tokens);
    if (piece == 0) return;
    add_less_offset(s, tile, x, 3, tokens);
}

/* Scales of the block at tile, and minima behind them. */
ST_INLINE void add_with_min(strip_sums *s, const uint8_t *tile, const uint8_t *x, int tokens) {
    add_whole(s, tile, x, tokens);
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_min(&s->half[h], load_halves(tile + ST_HALVES + 16 * h), x, tokens);
}

ST_INLINE void piece_q4_1(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_1, piece);
    add_nibble_piece(s, tile + 2 * ST_HALVES, x, piece, tokens);
    if (piece == 0) return;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) widen(&s->half[h], ONES, tokens);
    add_with_min(s, tile, x, tokens);
}

/* ---- 5 bits ---- */

/* 16-bit sums of eight rows, of vectors of a block: 0, 1 and what lies in their high bits, columns 0-7 and 20-23.
 * Values are used as they come, few at a time. */
ST_INLINE void add_fives_first(sums8 *s, const uint8_t *v, const uint8_t *x, int tokens) {
    FORGET_LOADS();
    const __m256i a = load256_once(v), b = load256_once(v + 64);
    add_columns(s, BITS(a, 31), x, 0, tokens);
    add_columns(s, BITS(b, 31), x, 4, tokens);
    add_columns(s, FIVE_5(a, b), x, 20, tokens);
}

/* The others: three and two vectors' worth. */
ST_INLINE void add_fives_second(sums8 *s, const uint8_t *v, const uint8_t *x, int tokens) {
    FORGET_LOADS();
    const __m256i c = load256_once(v + 128), d = load256_once(v + 192);
    add_columns(s, BITS(c, 31), x, 8, tokens);
    add_columns(s, BITS(d, 31), x, 12, tokens);
    add_columns(s, FIVE_6(c, d), x, 24, tokens);
}
ST_INLINE void add_fives_third(sums8 *s, const uint8_t *v, const uint8_t *x, int tokens) {
    const __m256i b = load256_once(v + 64), d = load256_once(v + 192), e = load256_once(v + 256);
    add_columns(s, BITS(e, 31), x, 16, tokens);
    add_columns(s, FIVE_7(b, d, e), x, 28, tokens);
}

/* With an offset all sums fit 16 bits, which wrap around meanwhile. */
ST_INLINE void piece_q5_0(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    const uint8_t *v = tile + ST_HALVES;
    fetch_half(tile, ST_TILE_Q5_0, piece);
    if (piece == 0) {
        ST_UNROLLED
        for (int h = 0; h < 2; h++) {
            zero_dots(&s->half[h], tokens);
            add_fives_first(&s->half[h], v + 32 * h, x, tokens);
        }
        return;
    }
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        add_fives_second(&s->half[h], v + 32 * h, x, tokens);
        add_fives_third(&s->half[h], v + 32 * h, x, tokens);
    }
    add_less_offset(s, tile, x, 4, tokens);
}

/* 32-bit sums + the 16-bit ones of `more`, times a scale in pairs. */
ST_INLINE void add_widened(sums8 *s, const sums8 *more, __m256i by, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) s->dot[t] = add32(s->dot[t], _mm256_madd_epi16(more->dot[t], by));
}

/* Eight rows: the dot products of a piece, times a scale in pairs. */
ST_INLINE void add_fives(sums8 *s, const uint8_t *v, const uint8_t *x, __m256i by, int piece, int tokens) {
    if (piece == 0) {
        zero_dots(s, tokens);
        add_fives_first(s, v, x, tokens);
        widen(s, by, tokens);
        return;
    }
    sums8 part;
    zero_dots(&part, tokens);
    add_fives_second(&part, v, x, tokens);
    add_widened(s, &part, by, tokens);
    zero_dots(&part, tokens);
    add_fives_third(&part, v, x, tokens);
    add_widened(s, &part, by, tokens);
}

ST_INLINE void piece_q5_1(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    const uint8_t *v = tile + 2 * ST_HALVES;
    fetch_half(tile, ST_TILE_Q5_1, piece);
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_fives(&s->half[h], v + 32 * h, x, ONES, piece, tokens);
    if (piece == 1) add_with_min(s, tile, x, tokens);
}

/* ---- signed bytes: every vector is widened at once ---- */

ST_INLINE void add_signed(sums8 *s, const uint8_t *v, const uint8_t *x, int at, int tokens) {
    const __m256i w = load256(v), size = _mm256_abs_epi8(w);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        const __m256i signed_x = _mm256_sign_epi8(x_values(x, t, at), w);
        s->dot[t] = add32(s->dot[t], pairs_to_lanes(_mm256_maddubs_epi16(size, signed_x)));
    }
}

/* Quarters of a tile: 8 columns. */
ST_INLINE void piece_q8_0(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    const uint8_t *v = tile + ST_HALVES + 2 * ST_VECTOR * piece;
    fetch_lines(v + NEAR, 2 * ST_VECTOR);
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        if (piece == 0) zero_dots(&s->half[h], tokens);
        add_signed(&s->half[h], v + 32 * h, x, 8 * piece, tokens);
    }
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        add_signed(&s->half[h], v + ST_VECTOR + 32 * h, x, 8 * piece + 4, tokens);
        if (piece == 3) add_scaled(&s->half[h], load_halves(tile + 16 * h), x, tokens);
    }
}

/* The non-linear 4-bit values, of -127 to 113, that codes stand for. */
ST_INLINE __m256i iq4_values(__m256i code) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)st_iq4_values)), code);
}

/* 32-bit sums + the products of a vector of values, pairs of 16 bits times `by`; x goes in as its size. */
ST_INLINE void add_iq4_columns(sums8 *s, __m256i w, const uint8_t *x, int at, __m256i by, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        const __m256i a = x_values(x, t, at), size = _mm256_abs_epi8(a);
        s->dot[t] = add32(s->dot[t], _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_sign_epi8(w, a)), by));
    }
}

ST_INLINE void add_iq4(sums8 *s, const uint8_t *v, const uint8_t *x, int at, __m256i by, int tokens) {
    const __m256i w = load256(v);
    add_iq4_columns(s, iq4_values(low_nibbles(w)), x, at, by, tokens);
    add_iq4_columns(s, iq4_values(high_nibbles(w)), x, at + 16, by, tokens);
}

/* Half a block, of rows whose scales in pairs are by (see add_nibble_piece). */
ST_INLINE void add_iq4_piece(strip_sums *s, const uint8_t *v, const uint8_t *x, int piece, const __m256i by[2],
                             int tokens) {
    v += 2 * ST_VECTOR * piece;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        if (piece == 0) zero_dots(&s->half[h], tokens);
        add_iq4(&s->half[h], v + 32 * h, x, 8 * piece, by[h], tokens);
    }
    ST_UNROLLED
    for (int h = 0; h < 2; h++) add_iq4(&s->half[h], v + ST_VECTOR + 32 * h, x, 8 * piece + 4, by[h], tokens);
}

ST_INLINE void piece_iq4_nl(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece,
                            int tokens) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_0, piece);
    add_iq4_piece(s, tile + ST_HALVES, x, piece, (const __m256i[]){ONES, ONES}, tokens);
    if (piece == 1) add_whole(s, tile, x, tokens);
}

#endif
