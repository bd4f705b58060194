/* SPDX-License-Identifier: MIT
 * Products of one token and of a few with AVX2: streams of tiles, 16 rows at a time, everything else in registers. Rows
 * 0-7 and rows 8-15 have sums of their own and share the broadcast activations. The order of sums stands in avx2.h.
 *
 * One core keeps so many fetches under way for each stream that it reads, and more for several. So a matrix is read as
 * three parts, far from each other, in turns: strips next to each other gain nothing, since each stream is then over,
 * at a page's end or the strip's, before the hardware has seen that it is one. Turns are short, a piece of a tile of
 * two or three cache lines: what is under way at a time is what few instructions ask for. And each piece fetches the
 * one that is its part's turn some turns later, since the hardware does not fetch far enough to keep up with unpacking.
 *
 * Measured on Zen 3 with kernels in turns: a fourth part, two parts, other distances or none are slower; whole tiles of
 * 5 or 6 lines, fetched ahead, by 3 to 11 %; Q4_K, Q5_K and Q6_K in four parts without fetching by 8 to 19 %. Then 0.82
 * to 0.93 of a plain read of four streams is reached. Q2_K and the IQ4 types need more instructions for a line, which
 * leaves 0.65 to 0.85; Q2_K loads its scales as seldom as it can, once a chunk.
 *
 * A few tokens are as many sums beside each other: a vector of weights is unpacked in registers and meets them all.
 * Of weights from memory, two tokens take 1.05 to 1.13 times as long as one and three 1.2 to 1.4 (Q2_K and the IQ4
 * types 1.5 to 2.0 and more), where blocks that are unpacked to the first cache, in one stream, took 1.4 to 1.7 and 1.5
 * to 1.9.
 */
#include "kern/turns_avx2.h"

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
#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)                                                                                               \
    if (tokens > 3) X(3)
#define FOR_HALVES(X) X(0) X(1)

/* A token's parts of a block x: 32 values, and what stands behind those of all tokens. */
#define X_Q(t) (x + 32 * (t))
#define X_D(t) (x + 32 * tokens + 4 * (t))
#define X_DS(t) (x + 36 * tokens + 4 * (t))
#define X_SUMS(t) (x + 40 * tokens + 8 * (t))

/* acc += float(dot) * (d * dx) */
ST_INLINE void add_scaled(sums8 *s, __m256 d, const uint8_t *x, int tokens) {
#define TOKEN(t)                                                                                                       \
    s->acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(s->dot[t]),                                                         \
                                _mm256_mul_ps(d, _mm256_castsi256_ps(broadcast4(X_D(t)))), s->acc[t]);
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* acc += m * ds */
ST_INLINE void add_min(sums8 *s, __m256 m, const uint8_t *x, int tokens) {
#define TOKEN(t) s->acc[t] = _mm256_fmadd_ps(m, _mm256_castsi256_ps(broadcast4(X_DS(t))), s->acc[t]);
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

ST_INLINE void zero_floats(sums8 *s, int tokens) {
#define TOKEN(t) s->acc[t] = _mm256_setzero_ps();
    FOR_TOKENS(TOKEN)
#undef TOKEN
}
ST_INLINE void zero_dots(sums8 *s, int tokens) {
#define TOKEN(t) s->dot[t] = _mm256_setzero_si256();
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* Both 16-bit sums of a lane times the scale, added. */
ST_INLINE void widen(sums8 *s, __m256i by, int tokens) {
#define TOKEN(t) s->dot[t] = _mm256_madd_epi16(s->dot[t], by);
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* Takes off the sums of the activations of the whole block, for an offset of 2^shift. */
ST_INLINE void less_offset(sums8 *s, const uint8_t *x, int shift, int tokens){
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i sum = add16(broadcast4(X_SUMS(t)), broadcast4(X_SUMS(t) + 4));                                   \
        s->dot[t] = sub16(s->dot[t], _mm256_slli_epi16(sum, shift));                                                   \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* 16-bit sums + the products of a vector of unsigned weights, of the columns from `at` on. */
ST_INLINE void add_columns(sums8 *s, __m256i w, const uint8_t *x, int at, int tokens) {
#define TOKEN(t) s->dot[t] = add16(s->dot[t], _mm256_maddubs_epi16(w, broadcast4(X_Q(t) + at)));
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

#define ONES _mm256_set1_epi16(1)

/* The 32-bit sums of a block whose scales stand at tile. */
ST_INLINE void add_whole(strip_sums *s, const uint8_t *tile, const uint8_t *x, int tokens) {
#define HALF(h) add_scaled(&s->half[h], load_halves(tile + 16 * (h)), x, tokens);
    FOR_HALVES(HALF)
#undef HALF
}

/* The 16-bit sums of such a block, whose weights have an offset of 2^shift. */
ST_INLINE void add_less_offset(strip_sums *s, const uint8_t *tile, const uint8_t *x, int shift, int tokens) {
#define HALF(h)                                                                                                        \
    less_offset(&s->half[h], x, shift, tokens);                                                                        \
    widen(&s->half[h], ONES, tokens);                                                                                  \
    add_scaled(&s->half[h], load_halves(tile + 16 * (h)), x, tokens);
    FOR_HALVES(HALF)
#undef HALF
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
#define HALF(h)                                                                                                        \
    if (piece == 0) zero_dots(&s->half[h], tokens);                                                                    \
    add_nibbles(&s->half[h], v + 32 * (h), x, 8 * piece, tokens);
    FOR_HALVES(HALF)
#undef HALF
#define HALF(h) add_nibbles(&s->half[h], v + ST_VECTOR + 32 * (h), x, 8 * piece + 4, tokens);
    FOR_HALVES(HALF)
#undef HALF
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
#define HALF(h) add_min(&s->half[h], load_halves(tile + ST_HALVES + 16 * (h)), x, tokens);
    FOR_HALVES(HALF)
#undef HALF
}

ST_INLINE void piece_q4_1(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_1, piece);
    add_nibble_piece(s, tile + 2 * ST_HALVES, x, piece, tokens);
    if (piece == 0) return;
#define HALF(h) widen(&s->half[h], ONES, tokens);
    FOR_HALVES(HALF)
#undef HALF
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
#define HALF(h)                                                                                                        \
    zero_dots(&s->half[h], tokens);                                                                                    \
    add_fives_first(&s->half[h], v + 32 * (h), x, tokens);
        FOR_HALVES(HALF)
#undef HALF
        return;
    }
#define HALF(h)                                                                                                        \
    add_fives_second(&s->half[h], v + 32 * (h), x, tokens);                                                            \
    add_fives_third(&s->half[h], v + 32 * (h), x, tokens);
    FOR_HALVES(HALF)
#undef HALF
    add_less_offset(s, tile, x, 4, tokens);
}

/* 32-bit sums + the 16-bit ones of `more`, times a scale in pairs. */
ST_INLINE void add_widened(sums8 *s, const sums8 *more, __m256i by, int tokens) {
#define TOKEN(t) s->dot[t] = add32(s->dot[t], _mm256_madd_epi16(more->dot[t], by));
    FOR_TOKENS(TOKEN)
#undef TOKEN
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
#define HALF(h) add_fives(&s->half[h], v + 32 * (h), x, ONES, piece, tokens);
    FOR_HALVES(HALF)
#undef HALF
    if (piece == 1) add_with_min(s, tile, x, tokens);
}

/* ---- signed bytes: every vector is widened at once ---- */

ST_INLINE void add_signed(sums8 *s, const uint8_t *v, const uint8_t *x, int at, int tokens) {
    const __m256i w = load256(v), size = _mm256_abs_epi8(w);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i signed_x = _mm256_sign_epi8(broadcast4(X_Q(t) + at), w);                                         \
        s->dot[t] = add32(s->dot[t], pairs_to_lanes(_mm256_maddubs_epi16(size, signed_x)));                            \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* Quarters of a tile: 8 columns. */
ST_INLINE void piece_q8_0(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    (void)chunk;
    const uint8_t *v = tile + ST_HALVES + 2 * ST_VECTOR * piece;
    fetch_lines(v + NEAR, 2 * ST_VECTOR);
#define HALF(h)                                                                                                        \
    if (piece == 0) zero_dots(&s->half[h], tokens);                                                                    \
    add_signed(&s->half[h], v + 32 * (h), x, 8 * piece, tokens);
    FOR_HALVES(HALF)
#undef HALF
#define HALF(h)                                                                                                        \
    add_signed(&s->half[h], v + ST_VECTOR + 32 * (h), x, 8 * piece + 4, tokens);                                       \
    if (piece == 3) add_scaled(&s->half[h], load_halves(tile + 16 * (h)), x, tokens);
    FOR_HALVES(HALF)
#undef HALF
}

/* The non-linear 4-bit values, of -127 to 113, that codes stand for. */
ST_INLINE __m256i iq4_values(__m256i code) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)st_iq4_values)), code);
}

/* 32-bit sums + the products of a vector of values, pairs of 16 bits times `by`; x goes in as its size. */
ST_INLINE void add_iq4_columns(sums8 *s, __m256i w, const uint8_t *x, int at, __m256i by, int tokens){
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i a = broadcast4(X_Q(t) + at), size = _mm256_abs_epi8(a);                                          \
        s->dot[t] = add32(s->dot[t], _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_sign_epi8(w, a)), by));       \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

ST_INLINE void add_iq4(sums8 *s, const uint8_t *v, const uint8_t *x, int at, __m256i by, int tokens) {
    const __m256i w = load256(v);
    add_iq4_columns(s, iq4_values(low_nibbles(w)), x, at, by, tokens);
    add_iq4_columns(s, iq4_values(high_nibbles(w)), x, at + 16, by, tokens);
}

/* Half a block, of rows whose scales in pairs are by_0 and by_1 (see add_nibble_piece). */
ST_INLINE void add_iq4_piece(strip_sums *s, const uint8_t *v, const uint8_t *x, int piece, __m256i by_0, __m256i by_1,
                             int tokens) {
    v += 2 * ST_VECTOR * piece;
#define HALF(h)                                                                                                        \
    if (piece == 0) zero_dots(&s->half[h], tokens);                                                                    \
    add_iq4(&s->half[h], v + 32 * (h), x, 8 * piece, by_##h, tokens);
    FOR_HALVES(HALF)
#undef HALF
#define HALF(h) add_iq4(&s->half[h], v + ST_VECTOR + 32 * (h), x, 8 * piece + 4, by_##h, tokens);
    FOR_HALVES(HALF)
#undef HALF
}

ST_INLINE void piece_iq4_nl(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece,
                            int tokens) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_0, piece);
    add_iq4_piece(s, tile + ST_HALVES, x, piece, ONES, ONES, tokens);
    if (piece == 1) add_whole(s, tile, x, tokens);
}

/* ---- blocks of 256: pieces of a chunk of 64 columns, in order: halves of its first block, halves of its second ----
 */

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
    add_iq4_piece(s, v, x, half, signed_byte_pairs(scales), signed_byte_pairs(scales + 8), tokens);
    if (half == 1) add_whole(s, tile, x, tokens);
}

/* The factors of minima, negated. */
ST_INLINE __m256 load_minus(const uint8_t *halves) {
    return _mm256_xor_ps(load_halves(halves), _mm256_set1_ps(-0.0f));
}

/* acc += dots of the block, whose scales stand at head[row] and minima at head[32 + row] */
ST_INLINE void add_block_k(strip_sums *s, const uint8_t *tile, const uint8_t *head, const uint8_t *x, int tokens) {
    add_whole(s, tile, x, tokens);
#define HALF(h)                                                                                                        \
    {                                                                                                                  \
        const __m256 dmin = load_minus(tile + ST_HALVES + 16 * (h));                                                   \
        add_min(&s->half[h], _mm256_mul_ps(dmin, byte_floats(head + 32 + 8 * (h))), x, tokens);                        \
    }
    FOR_HALVES(HALF)
#undef HALF
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
#define HALF(h) widen(&s->half[h], byte_pairs(head + 8 * (h)), tokens);
    FOR_HALVES(HALF)
#undef HALF
    add_block_k(s, tile, head, x, tokens);
}

ST_INLINE void piece_q5_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q5_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_FIVES * block;
    fetch_head(p, piece);
    fetch_ahead(v + 2 * ST_VECTOR * half, (half == 0 ? 2 : 3) * ST_VECTOR);
    x += ST_QBLOCK_BYTES * tokens * block;
#define HALF(h) add_fives(&s->half[h], v + 32 * (h), x, byte_pairs(head + 8 * (h)), half, tokens);
    FOR_HALVES(HALF)
#undef HALF
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
#define TOKEN(t) part.dot[t] = sub16(part.dot[t], _mm256_slli_epi16(broadcast4(X_SUMS(t) + 4 * half), 5));
    FOR_TOKENS(TOKEN)
#undef TOKEN
    add_widened(s, &part, signed_byte_pairs(scales), tokens);
}

ST_INLINE void piece_q6_k(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_Q6_K, *head = p + 32 * block + 16 * half;
    const uint8_t *v = p + 64 + 2 * ST_SIXES * block + ST_SIXES * half;
    fetch_head(p, piece);
    fetch_ahead(v, ST_SIXES);
    x += ST_QBLOCK_BYTES * tokens * block;
#define HALF(h)                                                                                                        \
    if (half == 0) zero_dots(&s->half[h], tokens);                                                                     \
    add_sixes(&s->half[h], v + 32 * (h), x, half, head + 8 * (h), tokens);
    FOR_HALVES(HALF)
#undef HALF
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

/* A block and a token, whose scale stands at d. */
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
#define TOKEN(t) block_q2_k(&s->half[0].acc[t], &s->half[1].acc[t], k, p, p + 64, X_Q(t), X_D(t), X_SUMS(t));
    FOR_TOKENS(TOKEN)
#undef TOKEN
    x += ST_QBLOCK_BYTES * tokens;
#define TOKEN(t)                                                                                                       \
    block_q2_k(&s->half[0].acc[t], &s->half[1].acc[t], k, p + 32, p + 64 + 2 * ST_VECTOR, X_Q(t), X_D(t), X_SUMS(t));
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* ---- all ---- */

/* A piece more of a strip; `tile` is the strip's, x stands at the chunk's activations (of a tile of 32 columns: its
 * own). */
typedef void piece_fn(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens);

/* How a format is read: known when it is compiled. */
typedef struct plan {
    piece_fn *add;
    int pieces; /* of a chunk */
    int blocks; /* of 32 columns of a chunk */
    int chunks; /* of a tile */
    int tile_bytes;
} plan;

/* One token's sums stay in registers; of several, what registers have no room for. Activations are not to be kept for
 * the next strip's piece. */
#define ADD_PIECE(s, at)                                                                                               \
    how.add(&s, at, chunk, x, piece, tokens);                                                                          \
    if (tokens == 1) {                                                                                                 \
        HOLD(s.half[0].acc[0]);                                                                                        \
        HOLD(s.half[1].acc[0]);                                                                                        \
    }                                                                                                                  \
    FORGET_LOADS();

ST_INLINE strip_sums no_sums(int tokens) {
    strip_sums s;
#define HALF(h)                                                                                                        \
    zero_floats(&s.half[h], tokens);                                                                                   \
    zero_dots(&s.half[h], tokens);
    FOR_HALVES(HALF)
#undef HALF
    return s;
}

ST_INLINE void store_strip(const st_turn_strip *to, size_t turn, const strip_sums *s, int tokens) {
    float *y = to->y + turn * ST_STRIP;
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        _mm256_storeu_ps(y + to->ldy * (t), s->half[0].acc[t]);                                                        \
        _mm256_storeu_ps(y + to->ldy * (t) + 8, s->half[1].acc[t]);                                                    \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

/* `turns` times n strips, each at its place in memory and behind that. */
ST_INLINE void run_strips(plan how, int tokens, int n, const st_matrix *w, const uint8_t *quant,
                          const st_turn_strip *strips, uint32_t turns) {
    for (size_t turn = 0; turn < turns; turn++) {
        const size_t on = turn * w->strip_bytes;
        const uint8_t *x = quant, *at_a = strips[0].data + on, *at_b = n > 1 ? strips[1].data + on : NULL,
                      *at_c = n > 2 ? strips[2].data + on : NULL;
        strip_sums a = no_sums(tokens), b = a, c = a;
        for (uint32_t tiles = w->cols / (32 * (uint32_t)(how.chunks * how.blocks)); tiles > 0; tiles--) {
            for (uint32_t chunk = 0; chunk < (uint32_t)how.chunks; chunk++) {
#pragma GCC unroll 4
                for (int piece = 0; piece < how.pieces; piece++) {
                    ADD_PIECE(a, at_a)
                    if (n > 1) {
                        ADD_PIECE(b, at_b)
                    }
                    if (n > 2) {
                        ADD_PIECE(c, at_c)
                    }
                }
                x += how.blocks * tokens * ST_QBLOCK_BYTES;
            }
            at_a += how.tile_bytes;
            if (n > 1) at_b += how.tile_bytes;
            if (n > 2) at_c += how.tile_bytes;
        }
        store_strip(&strips[0], turn, &a, tokens);
        if (n > 1) store_strip(&strips[1], turn, &b, tokens);
        if (n > 2) store_strip(&strips[2], turn, &c, tokens);
    }
}

ST_INLINE void run_turns(plan how, int tokens, const st_matrix *w, const uint8_t *x, const st_turn_strip *strips,
                         uint32_t n, uint32_t turns) {
    _Static_assert(ST_TURN_STRIPS_AVX2 == 3, "a case for each number of strips");
    if (n == 3)
        run_strips(how, tokens, 3, w, x, strips, turns);
    else if (n == 2 && tokens == 1)
        run_strips(how, tokens, 2, w, x, strips, turns);
    else
        for (uint32_t i = 0; i < n; i++) run_strips(how, tokens, 1, w, x, strips + i, turns);
}

/* A function for each number of tokens: a compiler deals out registers worse in one that has all the loops. */
typedef void run_fn(const st_matrix *w, const uint8_t *x, const st_turn_strip *strips, uint32_t n, uint32_t turns);
#define OF_TOKENS(format, tokens, ...)                                                                                 \
    static __attribute__((noinline)) void run_##format##_##tokens(                                                     \
        const st_matrix *w, const uint8_t *x, const st_turn_strip *strips, uint32_t n, uint32_t turns) {               \
        run_turns((plan){piece_##format, __VA_ARGS__}, tokens, w, x, strips, n, turns);                                \
    }
#define BY_TOKENS(format, ...)                                                                                         \
    ST_KERN_TURN_DECL(st_turn_##format##_avx2) {                                                                       \
        static run_fn *const of[] = {__VA_ARGS__};                                                                     \
        of[panel->n - 1](w, panel->quant, strips, n, turns);                                                           \
    }

/* Up to two or four tokens, as turns_avx2.h has it. */
#define TWO(format, ...)                                                                                               \
    OF_TOKENS(format, 1, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 2, __VA_ARGS__)                                                                                  \
    BY_TOKENS(format, run_##format##_1, run_##format##_2)
#define FOUR(format, ...)                                                                                              \
    OF_TOKENS(format, 1, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 2, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 3, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 4, __VA_ARGS__)                                                                                  \
    BY_TOKENS(format, run_##format##_1, run_##format##_2, run_##format##_3, run_##format##_4)

FOUR(q4_0, 2, 1, 1, ST_TILE_Q4_0)
FOUR(q4_1, 2, 1, 1, ST_TILE_Q4_1)
FOUR(q5_0, 2, 1, 1, ST_TILE_Q5_0)
FOUR(q5_1, 2, 1, 1, ST_TILE_Q5_1)
FOUR(q8_0, 4, 1, 1, ST_TILE_Q8_0)
TWO(iq4_nl, 2, 1, 1, ST_TILE_Q4_0)
TWO(iq4_xs, 4, 2, ST_CHUNKS, ST_TILE_IQ4_XS)
TWO(q2_k, 1, 2, ST_CHUNKS, ST_TILE_Q2_K)
FOUR(q4_k, 4, 2, ST_CHUNKS, ST_TILE_Q4_K)
FOUR(q5_k, 4, 2, ST_CHUNKS, ST_TILE_Q5_K)
TWO(q6_k, 4, 2, ST_CHUNKS, ST_TILE_Q6_K)
