/* SPDX-License-Identifier: MIT
 * Matrix-vector products with AVX2: streams of tiles, 16 rows at a time, everything else in registers. Two sums run
 * side by side, rows 0-7 and rows 8-15, and share the broadcast activations. The order of sums stands in avx2.h.
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
 * leaves 0.65 to 0.85; Q2_K loads its scales as seldom as it can, once a chunk. */
#include "kern/matvec_avx2.h"

#include "gguf/blocks.h"
#include "kern/avx2.h"

/* Rows 0-7 and 8-15. */
typedef struct pair {
    __m256 lo, hi;
} pair;
typedef struct ipair {
    __m256i lo, hi;
} ipair;

/* Of a strip that is under way: the float sums, and the integer ones of a block of which some pieces are done. */
typedef struct strip_sums {
    pair acc;
    ipair dot;
} strip_sums;

enum { X_D = 32, X_DS = 36, X_SUMS = 40 }; /* in the block of one token, after its 32 values */

/* acc += float(dot) * (d * dx) */
ST_INLINE pair add_scaled(pair acc, ipair dot, __m256 d_lo, __m256 d_hi, const uint8_t *x) {
    const __m256 dx = _mm256_castsi256_ps(broadcast4(x + X_D));
    acc.lo = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot.lo), _mm256_mul_ps(d_lo, dx), acc.lo);
    acc.hi = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot.hi), _mm256_mul_ps(d_hi, dx), acc.hi);
    return acc;
}

ST_INLINE pair add_min(pair acc, __m256 m_lo, __m256 m_hi, const uint8_t *x) {
    const __m256 ds = _mm256_castsi256_ps(broadcast4(x + X_DS));
    acc.lo = _mm256_fmadd_ps(m_lo, ds, acc.lo);
    acc.hi = _mm256_fmadd_ps(m_hi, ds, acc.hi);
    return acc;
}

/* The sums of the activations of the whole block, for an offset of 2^shift. */
#define BLOCK_OFFSET(x, shift) _mm256_slli_epi16(add16(broadcast4((x) + X_SUMS), broadcast4((x) + X_SUMS + 4)), shift)

/* ---- 4 bits ---- */

ST_INLINE __m256i nibble_products(__m256i v, __m256i x_low, __m256i x_high) {
    return add16(_mm256_maddubs_epi16(low_nibbles(v), x_low), _mm256_maddubs_epi16(high_nibbles(v), x_high));
}

/* 16-bit sums of two vectors of nibbles: 16 columns, x standing at the first of them and at their partners 16 further.
 */
ST_INLINE ipair nibble_half(const uint8_t *v, const uint8_t *x) {
    ipair s;
    __m256i a = broadcast4(x), b = broadcast4(x + 16);
    s.lo = nibble_products(load256(v), a, b);
    s.hi = nibble_products(load256(v + 32), a, b);
    a = broadcast4(x + 4), b = broadcast4(x + 20);
    s.lo = add16(s.lo, nibble_products(load256(v + 64), a, b));
    s.hi = add16(s.hi, nibble_products(load256(v + 96), a, b));
    return s;
}

ST_INLINE ipair add_ipair16(ipair a, ipair b) {
    return (ipair){add16(a.lo, b.lo), add16(a.hi, b.hi)};
}
ST_INLINE ipair add_ipair32(ipair a, ipair b) {
    return (ipair){add32(a.lo, b.lo), add32(a.hi, b.hi)};
}

/* Halves of a tile whose nibbles stand at v: 8 columns and their partners; the sums of both halves in 16 bits. */
ST_INLINE strip_sums add_nibbles(strip_sums s, const uint8_t *v, const uint8_t *x, int piece) {
    const ipair dot = nibble_half(v + 2 * ST_VECTOR * piece, x + 8 * piece);
    s.dot = piece == 0 ? dot : add_ipair16(s.dot, dot);
    return s;
}

/* A tile of 5 or 6 lines: three with the first piece, the others with the second. */
ST_INLINE void fetch_half(const uint8_t *tile, int tile_bytes, int piece) {
    if (piece == 0) fetch_ahead(tile, 192);
    if (piece == 1) fetch_ahead(tile + 192, tile_bytes - 192);
}

ST_INLINE strip_sums piece_q4_0(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_0, piece);
    s = add_nibbles(s, tile + ST_HALVES, x, piece);
    if (piece == 0) return s;
    const __m256i offset = BLOCK_OFFSET(x, 3);
    s.dot.lo = pairs_to_lanes(sub16(s.dot.lo, offset));
    s.dot.hi = pairs_to_lanes(sub16(s.dot.hi, offset));
    s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

ST_INLINE strip_sums piece_q4_1(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    fetch_half(tile, ST_TILE_Q4_1, piece);
    s = add_nibbles(s, tile + 2 * ST_HALVES, x, piece);
    if (piece == 0) return s;
    s.dot.lo = pairs_to_lanes(s.dot.lo);
    s.dot.hi = pairs_to_lanes(s.dot.hi);
    s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    s.acc = add_min(s.acc, load_halves(tile + 32), load_halves(tile + 48), x);
    return s;
}

/* ---- 5 bits ---- */

#define PRODUCTS(w, x, i) _mm256_maddubs_epi16(w, broadcast4((x) + 4 * (i)))

/* Eight rows: 16-bit sums of the columns whose low bits stand in vectors 0 and 1 and of those whose bits all stand
 * there: 0-7 and 20-23. Values are used as they come, few at a time. */
ST_INLINE __m256i fives_first(const uint8_t *v, const uint8_t *x) {
    FORGET_LOADS();
    const __m256i a = load256_once(v), b = load256_once(v + 64);
    const __m256i s = add16(PRODUCTS(BITS(a, 31), x, 0), PRODUCTS(BITS(b, 31), x, 1));
    return add16(s, PRODUCTS(FIVE_5(a, b), x, 5));
}

/* Those of the others, as two sums: three and two vectors' worth. */
ST_INLINE ipair fives_second(const uint8_t *v, const uint8_t *x) {
    FORGET_LOADS();
    const __m256i c = load256_once(v + 128), d = load256_once(v + 192);
    __m256i s = add16(PRODUCTS(BITS(c, 31), x, 2), PRODUCTS(BITS(d, 31), x, 3));
    s = add16(s, PRODUCTS(FIVE_6(c, d), x, 6));
    const __m256i b = load256_once(v + 64), e = load256_once(v + 256);
    return (ipair){s, add16(PRODUCTS(BITS(e, 31), x, 4), PRODUCTS(FIVE_7(b, d, e), x, 7))};
}

ST_INLINE __m256i fives_second_sum(const uint8_t *v, const uint8_t *x) {
    const ipair s = fives_second(v, x);
    return add16(s.lo, s.hi);
}

ST_INLINE strip_sums piece_q5_0(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    const uint8_t *v = tile + ST_HALVES;
    fetch_half(tile, ST_TILE_Q5_0, piece);
    if (piece == 0) {
        s.dot = (ipair){fives_first(v, x), fives_first(v + 32, x)};
        return s;
    }
    s.dot = add_ipair16(s.dot, (ipair){fives_second_sum(v, x), fives_second_sum(v + 32, x)});
    const __m256i offset = BLOCK_OFFSET(x, 4);
    s.dot.lo = pairs_to_lanes(sub16(s.dot.lo, offset));
    s.dot.hi = pairs_to_lanes(sub16(s.dot.hi, offset));
    s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

/* Eight rows: dot + the dot products of a piece, times a scale in pairs. */
ST_INLINE __m256i add_fives(__m256i dot, const uint8_t *v, const uint8_t *x, __m256i by, int piece) {
    if (piece == 0) return _mm256_madd_epi16(fives_first(v, x), by);
    const ipair s = fives_second(v, x);
    return add32(add32(dot, _mm256_madd_epi16(s.lo, by)), _mm256_madd_epi16(s.hi, by));
}

ST_INLINE strip_sums piece_q5_1(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    const __m256i one = _mm256_set1_epi16(1);
    const uint8_t *v = tile + 2 * ST_HALVES;
    fetch_half(tile, ST_TILE_Q5_1, piece);
    s.dot.lo = add_fives(s.dot.lo, v, x, one, piece);
    s.dot.hi = add_fives(s.dot.hi, v + 32, x, one, piece);
    if (piece == 0) return s;
    s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    s.acc = add_min(s.acc, load_halves(tile + 32), load_halves(tile + 48), x);
    return s;
}

/* ---- signed bytes: every vector is widened at once ---- */

ST_INLINE ipair byte_dots(ipair s, const uint8_t *v, const uint8_t *x) {
    const __m256i a = broadcast4(x);
    s.lo = add32(s.lo, dot_signed(load256(v), a));
    s.hi = add32(s.hi, dot_signed(load256(v + 32), a));
    return s;
}

/* Quarters of a tile: 8 columns. */
ST_INLINE strip_sums piece_q8_0(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    const uint8_t *v = tile + ST_HALVES + 2 * ST_VECTOR * piece, *q = x + 8 * piece;
    fetch_lines(v + NEAR, 2 * ST_VECTOR);
    if (piece == 0) s.dot = (ipair){_mm256_setzero_si256(), _mm256_setzero_si256()};
    s.dot = byte_dots(s.dot, v, q);
    s.dot = byte_dots(s.dot, v + ST_VECTOR, q + 4);
    if (piece == 3) s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

/* 16-bit products of the non-linear 4-bit values `code` stands for, of -127 to 113; x goes in as its size. */
ST_INLINE __m256i iq4_products(__m256i code, __m256i x, __m256i size) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)st_iq4_values));
    return _mm256_maddubs_epi16(size, _mm256_sign_epi8(_mm256_shuffle_epi8(table, code), x));
}

/* s + dot products of half a block (see nibble_half), each pair of 16-bit products times `by`. */
ST_INLINE ipair add_iq4(ipair s, const uint8_t *v, const uint8_t *x, __m256i by_lo, __m256i by_hi) {
#define STEP(j)                                                                                                        \
    {                                                                                                                  \
        const __m256i a = broadcast4(x + 4 * (j)), b = broadcast4(x + 16 + 4 * (j));                                   \
        const __m256i a_size = _mm256_abs_epi8(a), b_size = _mm256_abs_epi8(b);                                        \
        const __m256i w_lo = load256(v + 64 * (j)), w_hi = load256(v + 64 * (j) + 32);                                 \
        s.lo = add32(s.lo, _mm256_madd_epi16(iq4_products(low_nibbles(w_lo), a, a_size), by_lo));                      \
        s.hi = add32(s.hi, _mm256_madd_epi16(iq4_products(low_nibbles(w_hi), a, a_size), by_hi));                      \
        s.lo = add32(s.lo, _mm256_madd_epi16(iq4_products(high_nibbles(w_lo), b, b_size), by_lo));                     \
        s.hi = add32(s.hi, _mm256_madd_epi16(iq4_products(high_nibbles(w_hi), b, b_size), by_hi));                     \
    }
    STEP(0)
    STEP(1)
#undef STEP
    return s;
}

ST_INLINE strip_sums piece_iq4_nl(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)chunk;
    const __m256i one = _mm256_set1_epi16(1);
    fetch_half(tile, ST_TILE_Q4_0, piece);
    if (piece == 0) s.dot = (ipair){_mm256_setzero_si256(), _mm256_setzero_si256()};
    s.dot = add_iq4(s.dot, tile + ST_HALVES + 2 * ST_VECTOR * piece, x + 8 * piece, one, one);
    if (piece == 1) s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

/* ---- blocks of 256: pieces of a chunk of 64 columns, in order: halves of its first block, halves of its second ----
 */

/* What stands before the values of a chunk at p goes with its first piece. */
ST_INLINE void fetch_head(const uint8_t *p, int piece) {
    if (piece == 0) fetch_ahead(p, ST_VECTOR);
}

ST_INLINE strip_sums piece_iq4_xs(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_IQ4_XS, *scales = p + 16 * block;
    const uint8_t *v = p + 32 + ST_NIBBLES * block + 2 * ST_VECTOR * half;
    fetch_ahead(v, 2 * ST_VECTOR);
    x += ST_QBLOCK_BYTES * block;
    if (half == 0) s.dot = (ipair){_mm256_setzero_si256(), _mm256_setzero_si256()};
    s.dot = add_iq4(s.dot, v, x + 8 * half, signed_byte_pairs(scales), signed_byte_pairs(scales + 8));
    if (half == 1) s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

typedef struct scales_k {
    __m256 d_lo, d_hi, dmin_lo, dmin_hi; /* dmin negated */
} scales_k;

ST_INLINE scales_k load_scales_k(const uint8_t *tile) {
    const __m256 minus = _mm256_set1_ps(-0.0f);
    return (scales_k){load_halves(tile), load_halves(tile + 16), _mm256_xor_ps(load_halves(tile + 32), minus),
                      _mm256_xor_ps(load_halves(tile + 48), minus)};
}

/* acc += dots of the block, whose scales stand at head[row] and minima at head[32 + row] */
ST_INLINE pair add_block_k(pair acc, scales_k s, ipair dot, const uint8_t *head, const uint8_t *x) {
    acc = add_scaled(acc, dot, s.d_lo, s.d_hi, x);
    return add_min(acc, _mm256_mul_ps(s.dmin_lo, byte_floats(head + 32)),
                   _mm256_mul_ps(s.dmin_hi, byte_floats(head + 40)), x);
}

ST_INLINE strip_sums piece_q4_k(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q4_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_NIBBLES * block + 2 * ST_VECTOR * half;
    fetch_head(p, piece);
    fetch_ahead(v, 2 * ST_VECTOR);
    x += ST_QBLOCK_BYTES * block;
    const ipair dot = nibble_half(v, x + 8 * half);
    s.dot = half == 0 ? dot : add_ipair16(s.dot, dot);
    if (half == 0) return s;
    s.dot.lo = _mm256_madd_epi16(s.dot.lo, byte_pairs(head));
    s.dot.hi = _mm256_madd_epi16(s.dot.hi, byte_pairs(head + 8));
    s.acc = add_block_k(s.acc, load_scales_k(tile), s.dot, head, x);
    return s;
}

ST_INLINE strip_sums piece_q5_k(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q5_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_FIVES * block;
    fetch_head(p, piece);
    fetch_ahead(v + 2 * ST_VECTOR * half, (half == 0 ? 2 : 3) * ST_VECTOR);
    x += ST_QBLOCK_BYTES * block;
    s.dot.lo = add_fives(s.dot.lo, v, x, byte_pairs(head), half);
    s.dot.hi = add_fives(s.dot.hi, v + 32, x, byte_pairs(head + 8), half);
    if (half == 1) s.acc = add_block_k(s.acc, load_scales_k(tile), s.dot, head, x);
    return s;
}

/* Sixteen columns of eight rows, less the offset, times their scale. */
ST_INLINE __m256i six_dots(const uint8_t *v, const uint8_t *x, __m256i offset, const uint8_t *scales) {
    const __m256i a = load256_once(v), b = load256_once(v + 64), c = load256_once(v + 128);
    const __m256i s = add16(PRODUCTS(BITS(a, 63), x, 0), PRODUCTS(BITS(b, 63), x, 1));
    const __m256i t = add16(PRODUCTS(BITS(c, 63), x, 2), PRODUCTS(SIX_3(a, b, c), x, 3));
    return _mm256_madd_epi16(sub16(add16(s, t), offset), signed_byte_pairs(scales));
}

ST_INLINE strip_sums piece_q6_k(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    const int block = piece / 2, half = piece % 2;
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_Q6_K, *head = p + 32 * block + 16 * half;
    const uint8_t *v = p + 64 + 2 * ST_SIXES * block + ST_SIXES * half;
    fetch_head(p, piece);
    fetch_ahead(v, ST_SIXES);
    x += ST_QBLOCK_BYTES * block;
    const __m256i offset = _mm256_slli_epi16(broadcast4(x + X_SUMS + 4 * half), 5);
    const uint8_t *q = x + 16 * half;
    const ipair dot = {six_dots(v, q, offset, head), six_dots(v + 32, q, offset, head + 8)};
    s.dot = half == 0 ? dot : add_ipair32(s.dot, dot);
    if (half == 1) s.acc = add_scaled(s.acc, s.dot, load_halves(tile), load_halves(tile + 16), x);
    return s;
}

/* Sixteen columns of 8 rows, times their scale. The odd values of a byte stay where they are in their nibble, so that
 * their sums, up to 4 * 3 * 127 * 2 * 2, are four times as large. */
ST_INLINE __m256i two_dots(const uint8_t *p, __m256i x0, __m256i x1, __m256i x2, __m256i x3, __m256i by) {
    const __m256i v = load256_once(p), high = _mm256_srli_epi16(v, 4);
    const __m256i even = add16(_mm256_maddubs_epi16(BITS(v, 3), x0), _mm256_maddubs_epi16(BITS(high, 3), x2));
    const __m256i odd = add16(_mm256_maddubs_epi16(BITS(v, 12), x1), _mm256_maddubs_epi16(BITS(high, 12), x3));
    return _mm256_madd_epi16(add16(even, _mm256_srai_epi16(odd, 2)), by);
}

/* The sums of the activations of both halves of the block, as 16-bit pairs. */
ST_INLINE __m256i half_sums(const uint8_t *x) {
    int64_t v;
    memcpy(&v, x + X_SUMS, sizeof(v));
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

ST_INLINE pair block_q2_k(pair acc, scales_k s, const uint8_t *head, const uint8_t *v, const uint8_t *x) {
    const __m256i low = _mm256_set1_epi16(15);
    const __m128i first = _mm_loadu_si128((const __m128i *)head),
                  second = _mm_loadu_si128((const __m128i *)(head + 16));
    __m256i by_lo = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second));
    __m256i by_hi = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second));
    const __m256i sums = half_sums(x);
    ipair min = {_mm256_madd_epi16(_mm256_srli_epi16(by_lo, 4), sums),
                 _mm256_madd_epi16(_mm256_srli_epi16(by_hi, 4), sums)};
    HOLD(min.lo);
    HOLD(min.hi);
    by_lo = _mm256_and_si256(by_lo, low);
    by_hi = _mm256_and_si256(by_hi, low);
    __m256i x0 = broadcast4(x), x1 = broadcast4(x + 4), x2 = broadcast4(x + 8), x3 = broadcast4(x + 12);
    ipair dot = {two_dots(v, x0, x1, x2, x3, first_twice(by_lo)), two_dots(v + 32, x0, x1, x2, x3, first_twice(by_hi))};
    HOLD(dot.lo);
    HOLD(dot.hi);
    x0 = broadcast4(x + 16), x1 = broadcast4(x + 20), x2 = broadcast4(x + 24), x3 = broadcast4(x + 28);
    dot.lo = add32(dot.lo, two_dots(v + 64, x0, x1, x2, x3, second_twice(by_lo)));
    HOLD(dot.lo);
    dot.hi = add32(dot.hi, two_dots(v + 96, x0, x1, x2, x3, second_twice(by_hi)));
    acc = add_scaled(acc, dot, s.d_lo, s.d_hi, x);
    return add_scaled(acc, min, s.dmin_lo, s.dmin_hi, x);
}

/* A whole chunk: the scales of the tile are loaded once for both blocks. */
ST_INLINE strip_sums piece_q2_k(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece) {
    (void)piece;
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q2_K;
    const scales_k k = load_scales_k(tile);
    fetch_ahead(p, ST_CHUNK_Q2_K);
    s.acc = block_q2_k(s.acc, k, p, p + 64, x);
    s.acc = block_q2_k(s.acc, k, p + 32, p + 64 + 2 * ST_VECTOR, x + ST_QBLOCK_BYTES);
    return s;
}

/* ---- all ---- */

/* A piece more of a strip; `tile` is the strip's, x stands at the chunk's activations (of a tile of 32 columns: its
 * own). */
typedef strip_sums piece_fn(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece);

/* How a format is read: known when it is compiled. */
typedef struct plan {
    piece_fn *add;
    int pieces; /* of a chunk */
    int blocks; /* of 32 columns of a chunk */
    int chunks; /* of a tile */
    int tile_bytes;
} plan;

/* Activations are not to be kept for the next part's piece. */
#define ADD_PIECE(s, at)                                                                                               \
    s = how.add(s, at, chunk, x, piece);                                                                               \
    HOLD(s.acc.lo);                                                                                                    \
    HOLD(s.acc.hi);                                                                                                    \
    FORGET_LOADS();

ST_INLINE void store_strip(float *y, strip_sums s) {
    _mm256_storeu_ps(y, s.acc.lo);
    _mm256_storeu_ps(y + 8, s.acc.hi);
}

/* `turns` times n strips, each at its place in memory and behind that. */
ST_INLINE void matvec_strips(plan how, int n, const st_matrix *w, const uint8_t *quant, const uint8_t *const *strips,
                             float *const *y, uint32_t turns) {
    const strip_sums none = {{_mm256_setzero_ps(), _mm256_setzero_ps()},
                             {_mm256_setzero_si256(), _mm256_setzero_si256()}};
    for (size_t turn = 0; turn < turns; turn++) {
        const size_t on = turn * w->strip_bytes;
        const uint8_t *x = quant, *at_a = strips[0] + on, *at_b = n > 1 ? strips[1] + on : NULL,
                      *at_c = n > 2 ? strips[2] + on : NULL;
        strip_sums a = none, b = none, c = none;
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
                x += how.blocks * ST_QBLOCK_BYTES;
            }
            at_a += how.tile_bytes;
            if (n > 1) at_b += how.tile_bytes;
            if (n > 2) at_c += how.tile_bytes;
        }
        store_strip(y[0] + turn * ST_STRIP, a);
        if (n > 1) store_strip(y[1] + turn * ST_STRIP, b);
        if (n > 2) store_strip(y[2] + turn * ST_STRIP, c);
    }
}

ST_INLINE void matvec_turns(plan how, const st_matrix *w, const uint8_t *x, const uint8_t *const *strips,
                            float *const *y, uint32_t n, uint32_t turns) {
    _Static_assert(ST_TURN_AVX2 == 3, "a case for each number of strips");
    if (n == 3)
        matvec_strips(how, 3, w, x, strips, y, turns);
    else if (n == 2)
        matvec_strips(how, 2, w, x, strips, y, turns);
    else
        matvec_strips(how, 1, w, x, strips, y, turns);
}

#define MATVEC(format, pieces, blocks, chunks, tile_bytes)                                                             \
    ST_KERN_TURN_DECL(st_turn_##format##_avx2) {                                                                       \
        matvec_turns((plan){piece_##format, pieces, blocks, chunks, tile_bytes}, w, panel->quant, strips, y, n,        \
                     turns);                                                                                           \
    }

MATVEC(q4_0, 2, 1, 1, ST_TILE_Q4_0)
MATVEC(q4_1, 2, 1, 1, ST_TILE_Q4_1)
MATVEC(q5_0, 2, 1, 1, ST_TILE_Q5_0)
MATVEC(q5_1, 2, 1, 1, ST_TILE_Q5_1)
MATVEC(q8_0, 4, 1, 1, ST_TILE_Q8_0)
MATVEC(iq4_nl, 2, 1, 1, ST_TILE_Q4_0)
MATVEC(iq4_xs, 4, 2, ST_CHUNKS, ST_TILE_IQ4_XS)
MATVEC(q2_k, 1, 2, ST_CHUNKS, ST_TILE_Q2_K)
MATVEC(q4_k, 4, 2, ST_CHUNKS, ST_TILE_Q4_K)
MATVEC(q5_k, 4, 2, ST_CHUNKS, ST_TILE_Q5_K)
MATVEC(q6_k, 4, 2, ST_CHUNKS, ST_TILE_Q6_K)
