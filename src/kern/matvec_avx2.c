/* SPDX-License-Identifier: MIT
 * Matrix-vector products with AVX2: streams of tiles, 16 rows at a time, everything else in registers. Two sums run
 * side by side, rows 0-7 and rows 8-15, and share the broadcast activations. The order of sums stands in avx2.h.
 *
 * One core keeps so many fetches under way for each stream that it reads, and more for several. So a matrix is read as
 * several parts, far from each other, in turns: strips next to each other gain nothing, since each stream is then over,
 * at a page's end or the strip's, before the hardware has seen that it is one. And turns are short, a piece of a tile
 * of two to eight cache lines: what is under way at a time is what few instructions ask for. Measured on Zen 3, in
 * shares of a plain read of four streams, one thread and two: Q8_0 0.85 and 0.91 in turns of whole tiles of three
 * parts, 0.91 and 0.95 in quarters of tiles of four; Q6_K 0.62 and 0.73, now 0.81 and 0.86; Q4_K 0.66 and 0.76, now
 * 0.80 and 0.91. With tiles of 5 or 6 lines three parts, whole tiles and fetching ahead are as good (Q4_1: 0.91 and
 * 0.89) or better (Q5_0: 0.86 and 0.98); fetching ahead takes from the others. */
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

ST_INLINE ipair nibble_sums(const uint8_t *v, const uint8_t *x) {
    return add_ipair16(nibble_half(v, x), nibble_half(v + 2 * ST_VECTOR, x + 8));
}

ST_INLINE ipair nibble_dots(const uint8_t *v, const uint8_t *x) {
    ipair s = nibble_sums(v, x);
    s.lo = pairs_to_lanes(s.lo);
    s.hi = pairs_to_lanes(s.hi);
    return s;
}

ST_INLINE pair tile_q4_0(pair acc, const uint8_t *tile, const uint8_t *x) {
    fetch_ahead(tile, ST_TILE_Q4_0);
    const __m256i offset = BLOCK_OFFSET(x, 3);
    ipair s = nibble_sums(tile + ST_HALVES, x);
    s.lo = pairs_to_lanes(sub16(s.lo, offset));
    s.hi = pairs_to_lanes(sub16(s.hi, offset));
    return add_scaled(acc, s, load_halves(tile), load_halves(tile + 16), x);
}

ST_INLINE pair tile_q4_1(pair acc, const uint8_t *tile, const uint8_t *x) {
    fetch_ahead(tile, ST_TILE_Q4_1);
    acc = add_scaled(acc, nibble_dots(tile + 2 * ST_HALVES, x), load_halves(tile), load_halves(tile + 16), x);
    return add_min(acc, load_halves(tile + 32), load_halves(tile + 48), x);
}

/* ---- 5 bits ---- */

#define PRODUCTS(w, x, i) _mm256_maddubs_epi16(w, broadcast4((x) + 4 * (i)))

/* Eight rows: 16-bit sums of columns 0-15 (lo) and 16-31 (hi). Values are used as they come, few at a time. */
ST_INLINE ipair five_sums(const uint8_t *v, const uint8_t *x) {
    FORGET_LOADS();
    const __m256i a = load256_once(v), b = load256_once(v + 64);
    __m256i lo = add16(PRODUCTS(BITS(a, 31), x, 0), PRODUCTS(BITS(b, 31), x, 1));
    __m256i hi = PRODUCTS(FIVE_5(a, b), x, 5);
    const __m256i c = load256_once(v + 128), d = load256_once(v + 192);
    lo = add16(lo, PRODUCTS(BITS(c, 31), x, 2));
    lo = add16(lo, PRODUCTS(BITS(d, 31), x, 3));
    hi = add16(hi, PRODUCTS(FIVE_6(c, d), x, 6));
    const __m256i e = load256_once(v + 256);
    hi = add16(hi, PRODUCTS(BITS(e, 31), x, 4));
    return (ipair){lo, add16(hi, PRODUCTS(FIVE_7(b, d, e), x, 7))};
}

ST_INLINE __m256i offset_fives(const uint8_t *v, const uint8_t *x) {
    const ipair s = five_sums(v, x);
    return pairs_to_lanes(sub16(add16(s.lo, s.hi), BLOCK_OFFSET(x, 4)));
}

ST_INLINE pair tile_q5_0(pair acc, const uint8_t *tile, const uint8_t *x) {
    fetch_ahead(tile, ST_TILE_Q5_0);
    const ipair dot = {offset_fives(tile + ST_HALVES, x), offset_fives(tile + ST_HALVES + 32, x)};
    return add_scaled(acc, dot, load_halves(tile), load_halves(tile + 16), x);
}

/* Eight rows: the dot products, times a scale in pairs. */
ST_INLINE __m256i five_dots(const uint8_t *v, const uint8_t *x, __m256i by) {
    const ipair s = five_sums(v, x);
    return add32(_mm256_madd_epi16(s.lo, by), _mm256_madd_epi16(s.hi, by));
}

ST_INLINE pair tile_q5_1(pair acc, const uint8_t *tile, const uint8_t *x) {
    fetch_ahead(tile, ST_TILE_Q5_1);
    const __m256i one = _mm256_set1_epi16(1);
    const uint8_t *v = tile + 2 * ST_HALVES;
    const ipair dot = {five_dots(v, x, one), five_dots(v + 32, x, one)};
    acc = add_scaled(acc, dot, load_halves(tile), load_halves(tile + 16), x);
    return add_min(acc, load_halves(tile + 32), load_halves(tile + 48), x);
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

/* Dot products of a block, each pair of 16-bit products times `by`. */
ST_INLINE ipair iq4_dots(const uint8_t *v, const uint8_t *x, __m256i by_lo, __m256i by_hi) {
    ipair s = {_mm256_setzero_si256(), _mm256_setzero_si256()};
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
    STEP(2)
    STEP(3)
#undef STEP
    return s;
}

ST_INLINE pair tile_iq4_nl(pair acc, const uint8_t *tile, const uint8_t *x) {
    fetch_ahead(tile, ST_TILE_Q4_0);
    const __m256i one = _mm256_set1_epi16(1);
    return add_scaled(acc, iq4_dots(tile + ST_HALVES, x, one, one), load_halves(tile), load_halves(tile + 16), x);
}

/* ---- blocks of 256: pieces of a chunk of 64 columns, in order: halves of its first block, halves of its second; or
 * both blocks ---- */

ST_INLINE strip_sums piece_iq4_xs(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int block) {
    const uint8_t *p = tile + ST_HALVES + chunk * ST_CHUNK_IQ4_XS, *scales = p + 16 * block;
    const uint8_t *v = p + 32 + ST_NIBBLES * block;
    fetch_ahead(v, ST_NIBBLES);
    x += ST_QBLOCK_BYTES * block;
    const ipair dot = iq4_dots(v, x, signed_byte_pairs(scales), signed_byte_pairs(scales + 8));
    s.acc = add_scaled(s.acc, dot, load_halves(tile), load_halves(tile + 16), x);
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
    x += ST_QBLOCK_BYTES * block;
    const ipair dot = nibble_half(v, x + 8 * half);
    s.dot = half == 0 ? dot : add_ipair16(s.dot, dot);
    if (half == 0) return s;
    s.dot.lo = _mm256_madd_epi16(s.dot.lo, byte_pairs(head));
    s.dot.hi = _mm256_madd_epi16(s.dot.hi, byte_pairs(head + 8));
    s.acc = add_block_k(s.acc, load_scales_k(tile), s.dot, head, x);
    return s;
}

ST_INLINE strip_sums piece_q5_k(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int block) {
    const uint8_t *p = tile + 2 * ST_HALVES + chunk * ST_CHUNK_Q5_K, *head = p + 16 * block;
    const uint8_t *v = p + 64 + ST_FIVES * block;
    x += ST_QBLOCK_BYTES * block;
    const ipair dot = {five_dots(v, x, byte_pairs(head)), five_dots(v + 32, x, byte_pairs(head + 8))};
    s.acc = add_block_k(s.acc, load_scales_k(tile), dot, head, x);
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

ST_INLINE pair tile_q2_k(pair acc, const uint8_t *tile, const uint8_t *x) {
    const scales_k s = load_scales_k(tile);
    const uint8_t *p = tile + 2 * ST_HALVES;
    for (uint32_t c = 0; c < ST_CHUNKS; c++, p += ST_CHUNK_Q2_K, x += 2 * ST_QBLOCK_BYTES) {
        fetch_ahead(p, ST_CHUNK_Q2_K);
        acc = block_q2_k(acc, s, p, p + 64, x);
        acc = block_q2_k(acc, s, p + 32, p + 64 + 2 * ST_VECTOR, x + ST_QBLOCK_BYTES);
    }
    return acc;
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
    uint32_t parts; /* of a matrix, read in turns: up to 4 */
} plan;

/* Activations are not to be kept for the next part's piece. */
#define ADD_PIECE(s, at)                                                                                               \
    s = how.add(s, at, chunk, x, piece);                                                                               \
    HOLD(s.acc.lo);                                                                                                    \
    HOLD(s.acc.hi);                                                                                                    \
    FORGET_LOADS();

ST_INLINE void store_strip(float *y, uint32_t strip, strip_sums s) {
    _mm256_storeu_ps(y + (size_t)strip * ST_STRIP, s.acc.lo);
    _mm256_storeu_ps(y + (size_t)strip * ST_STRIP + 8, s.acc.hi);
}

/* `n` strips, the first one and others `apart` from each other. */
ST_INLINE void matvec_strips(plan how, int n, const st_matrix *w, const uint8_t *x, uint32_t first, uint32_t apart,
                             float *y) {
    const uint8_t *tile = w->data + first * w->strip_bytes;
    const size_t part = apart * w->strip_bytes;
    const strip_sums none = {{_mm256_setzero_ps(), _mm256_setzero_ps()},
                             {_mm256_setzero_si256(), _mm256_setzero_si256()}};
    strip_sums a = none, b = none, c = none, d = none;
    for (uint32_t tiles = w->cols / (32 * (uint32_t)(how.chunks * how.blocks)); tiles > 0; tiles--) {
        for (uint32_t chunk = 0; chunk < (uint32_t)how.chunks; chunk++) {
#pragma GCC unroll 4
            for (int piece = 0; piece < how.pieces; piece++) {
                ADD_PIECE(a, tile)
                if (n > 1) {
                    ADD_PIECE(b, tile + part)
                }
                if (n > 2) {
                    ADD_PIECE(c, tile + 2 * part)
                }
                if (n > 3) {
                    ADD_PIECE(d, tile + 3 * part)
                }
            }
            x += how.blocks * ST_QBLOCK_BYTES;
        }
        tile += how.tile_bytes;
    }
    store_strip(y, first, a);
    if (n > 1) store_strip(y, first + apart, b);
    if (n > 2) store_strip(y, first + 2 * apart, c);
    if (n > 3) store_strip(y, first + 3 * apart, d);
}

/* Strips lo..hi-1: as many as go into parts of equal length, then those that are left. */
ST_INLINE void matvec(plan how, const st_matrix *w, const uint8_t *x, uint32_t lo, uint32_t hi, float *y) {
    const uint32_t apart = (hi - lo) / how.parts, rest = lo + apart * how.parts;
    for (uint32_t i = lo; i < lo + apart; i++) matvec_strips(how, (int)how.parts, w, x, i, apart, y);
    if (hi - rest == 1) matvec_strips(how, 1, w, x, rest, 1, y);
    if (hi - rest == 2) matvec_strips(how, 2, w, x, rest, 1, y);
    if (hi - rest == 3) matvec_strips(how, 3, w, x, rest, 1, y);
}

#define MATVEC(format, pieces, blocks, chunks, tile_bytes, parts)                                                      \
    void st_matvec_##format##_avx2(const st_matrix *w, const uint8_t *quant, uint32_t strip_lo, uint32_t strip_hi,     \
                                   float *y) {                                                                         \
        matvec((plan){piece_##format, pieces, blocks, chunks, tile_bytes, parts}, w, quant, strip_lo, strip_hi, y);    \
    }

/* Whole tiles. */
#define MATVEC_TILES(format, blocks, tile_bytes)                                                                       \
    ST_INLINE strip_sums piece_##format(strip_sums s, const uint8_t *tile, uint32_t chunk, const uint8_t *x,           \
                                        int piece) {                                                                   \
        (void)chunk, (void)piece;                                                                                      \
        s.acc = tile_##format(s.acc, tile, x);                                                                         \
        return s;                                                                                                      \
    }                                                                                                                  \
    MATVEC(format, 1, blocks, 1, tile_bytes, 3)

MATVEC_TILES(q4_0, 1, ST_TILE_Q4_0)
MATVEC_TILES(q4_1, 1, ST_TILE_Q4_1)
MATVEC_TILES(q5_0, 1, ST_TILE_Q5_0)
MATVEC_TILES(q5_1, 1, ST_TILE_Q5_1)
MATVEC(q8_0, 4, 1, 1, ST_TILE_Q8_0, 4)
MATVEC_TILES(iq4_nl, 1, ST_TILE_Q4_0)
MATVEC(iq4_xs, 2, 2, ST_CHUNKS, ST_TILE_IQ4_XS, 2)
MATVEC_TILES(q2_k, 8, ST_TILE_Q2_K)
MATVEC(q4_k, 4, 2, ST_CHUNKS, ST_TILE_Q4_K, 4)
MATVEC(q5_k, 2, 2, ST_CHUNKS, ST_TILE_Q5_K, 4)
MATVEC(q6_k, 4, 2, ST_CHUNKS, ST_TILE_Q6_K, 4)
