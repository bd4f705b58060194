/* SPDX-License-Identifier: MIT
 * Products of quantized matrices with AVX2: byte products of the weights' vectors and the activations, summed in 16
 * bits as far as those go. */
#include "kern/matmul_avx2.h"

#include "kern/avx2.h"

#define ISA(name) st_##name##_avx2

typedef struct block16 {
    _Alignas(64) uint8_t w[8 * ST_VECTOR]; /* vector j: columns 4j..4j+3 of the rows */
    uint8_t size[8 * ST_VECTOR];           /* |w| of signed weights */
    int16_t by[2][2 * ST_STRIP];           /* a row's integer scale, twice: for columns 0-15 and 16-31 */
    int16_t min[2][2 * ST_STRIP];
    float d[ST_STRIP], m[ST_STRIP];
} block16;

/* How the byte products of a block become one exact integer (avx2.h). */
typedef enum way {
    WHOLE,        /* 16-bit sums over 32 columns */
    WHOLE_SCALED, /* times the scale */
    HALVES,       /* 16-bit sums over 16 columns */
    HALVES_SCALED,
    SIGNED, /* signed weights, widened at once */
    SIGNED_SCALED,
} way;

ST_INLINE void store_signed(block16 *b, uint32_t at, __m256i w) {
    store256(b->w + at, w);
    store256(b->size + at, _mm256_abs_epi8(w));
}

ST_INLINE void store_by(block16 *b, uint32_t half, uint32_t at, __m256i pairs) {
    store256(b->by[half] + 2 * at, pairs);
}

ST_INLINE __m256i add_vector(__m256i sum, __m256i w, __m256i x) {
    return add16(sum, _mm256_maddubs_epi16(w, x));
}

#include "kern/products256.inc"

/* Takes off 2^offset times the activations' sums: of one half of the block, or (sums2 not NULL) of both. */
ST_INLINE sums less_offset(sums s, const int16_t *sums1, const int16_t *sums2, int offset, int tokens) {
    if (offset == 0) return s;
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        __m256i x = broadcast4(sums1 + 4 * t);
        if (sums2) x = add16(x, broadcast4(sums2 + 4 * t));
        x = _mm256_slli_epi16(x, offset);
        s.lo[t] = sub16(s.lo[t], x);
        s.hi[t] = sub16(s.hi[t], x);
    }
    return s;
}

/* 16-bit sums times the scale (NULL: 1), both of a lane added. */
ST_INLINE sums widened(sums s, const int16_t *by, int tokens) {
    const __m256i lo = by ? load256_once(by) : _mm256_set1_epi16(1), hi = by ? load256_once(by + 16) : lo;
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        s.lo[t] = _mm256_madd_epi16(s.lo[t], lo);
        s.hi[t] = _mm256_madd_epi16(s.hi[t], hi);
    }
    return s;
}

/* Adds a vector of signed weights, widened, to s. */
ST_INLINE sums add_signed(sums s, const uint8_t *w, const uint8_t *size, const uint8_t *q, __m256i one, int tokens) {
    const __m256i lo = load256_once(w), hi = load256_once(w + 32);
    const __m256i lo_size = load256_once(size), hi_size = load256_once(size + 32);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        const __m256i x = broadcast4(q + 32 * t);
        const __m256i p = _mm256_maddubs_epi16(lo_size, _mm256_sign_epi8(x, lo));
        s.lo[t] = add32(s.lo[t], _mm256_madd_epi16(p, one));
        const __m256i r = _mm256_maddubs_epi16(hi_size, _mm256_sign_epi8(x, hi));
        s.hi[t] = add32(s.hi[t], _mm256_madd_epi16(r, one));
        HOLD(s.lo[t]);
        HOLD(s.hi[t]);
    }
    return s;
}

ST_INLINE sums signed_dots(const block16 *b, const uint8_t *q, int tokens) {
    const __m256i one = _mm256_set1_epi16(1);
    sums s = zero_sums(tokens);
    ST_UNROLLED
    for (int j = 0; j < 8; j++) s = add_signed(s, b->w + 64 * j, b->size + 64 * j, q + 4 * j, one, tokens);
    return s;
}

/* The scale stands twice in a lane: the upper one, its sign extended, is the lane's. */
ST_INLINE sums scaled(sums s, const int16_t *by, int tokens) {
    const __m256i lo = _mm256_srai_epi32(load256(by), 16), hi = _mm256_srai_epi32(load256(by + 16), 16);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        s.lo[t] = _mm256_mullo_epi32(s.lo[t], lo);
        s.hi[t] = _mm256_mullo_epi32(s.hi[t], hi);
    }
    return s;
}

ST_INLINE sums add_sums(sums a, sums b, int tokens) {
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        a.lo[t] = add32(a.lo[t], b.lo[t]);
        a.hi[t] = add32(a.hi[t], b.hi[t]);
    }
    return a;
}

/* Weights' offset is 2^offset, or none when that is 0. */
ST_INLINE sums exact(const block16 *b, const uint8_t *q, const int16_t *x_sums, int tokens, way how, int offset) {
    if (how == SIGNED) return signed_dots(b, q, tokens);
    if (how == SIGNED_SCALED) return scaled(signed_dots(b, q, tokens), b->by[0], tokens);
    const int16_t *by_first = how == WHOLE || how == HALVES ? NULL : b->by[0], *by_second = by_first ? b->by[1] : NULL;
    sums first = add_columns(zero_sums(tokens), b->w, q, tokens);
    if (how == WHOLE || how == WHOLE_SCALED) {
        first = add_columns(first, b->w + 256, q + 16, tokens);
        return widened(less_offset(first, x_sums, x_sums + 2, offset, tokens), by_first, tokens);
    }
    first = widened(less_offset(first, x_sums, NULL, offset, tokens), by_first, tokens);
    const sums second = add_columns(zero_sums(tokens), b->w + 256, q + 16, tokens);
    return add_sums(first, widened(less_offset(second, x_sums + 2, NULL, offset, tokens), by_second, tokens), tokens);
}

ST_INLINE fsums dots(const block16 *b, const uint8_t *q, const int16_t *x_sums, int tokens, way how, int offset) {
    return to_floats(exact(b, q, x_sums, tokens, how, offset), tokens);
}

MATMUL(q4_0, ST_TILE_Q4_0, 1, WHOLE, 3, NO_MIN)
MATMUL(q4_1, ST_TILE_Q4_1, 1, WHOLE, 0, MIN)
MATMUL(q5_0, ST_TILE_Q5_0, 1, WHOLE, 4, NO_MIN)
MATMUL(q5_1, ST_TILE_Q5_1, 1, HALVES, 0, MIN)
MATMUL(q8_0, ST_TILE_Q8_0, 1, SIGNED, 0, NO_MIN)
MATMUL(iq4_nl, ST_TILE_Q4_0, 1, SIGNED, 0, NO_MIN)
MATMUL(iq4_xs, ST_TILE_IQ4_XS, 8, SIGNED_SCALED, 0, NO_MIN)
MATMUL(q2_k, ST_TILE_Q2_K, 8, HALVES_SCALED, 0, TWO_MINS)
MATMUL(q4_k, ST_TILE_Q4_K, 8, WHOLE_SCALED, 0, MIN)
MATMUL(q5_k, ST_TILE_Q5_K, 8, HALVES_SCALED, 0, MIN)
MATMUL(q6_k, ST_TILE_Q6_K, 8, HALVES_SCALED, 5, NO_MIN)
