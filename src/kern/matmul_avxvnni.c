/* SPDX-License-Identifier: MIT
 * Products of quantized matrices with AVX-VNNI: one instruction where AVX2 has two or four. Products of one token are
 * bound by memory, and left to AVX2. */
#include "kern/matmul_avxvnni.h"

#include "kern/avxvnni.h"

#define ISA(name) st_##name##_avxvnni

typedef struct block16 {
    _Alignas(64) uint8_t w[8 * ST_VECTOR]; /* vector j: columns 4j..4j+3 of the rows; of 8 bits with 128 added */
    float by[2][ST_STRIP];                 /* a row's integer scale: for columns 0-15 and 16-31 */
    int16_t min[2][2 * ST_STRIP];
    float d[ST_STRIP], m[ST_STRIP];
} block16;

/* How the sum of a block is made of the byte products of its first and second 16 columns. */
typedef enum way {
    PLAIN,         /* their sum */
    SCALED,        /* times the scale of the row */
    SCALED_HALVES, /* each times its own */
} way;

ST_INLINE void store_signed(block16 *b, uint32_t at, __m256i w) {
    store256(b->w + at, _mm256_xor_si256(w, _mm256_set1_epi8(-128)));
}

ST_INLINE void store_by(block16 *b, uint32_t half, uint32_t at, __m256i pairs) {
    _mm256_store_ps(b->by[half] + at, _mm256_cvtepi32_ps(_mm256_srai_epi32(pairs, 16)));
}

ST_INLINE __m256i add_vector(__m256i sum, __m256i w, __m256i x) {
    return add_dot4(sum, w, x);
}

#include "kern/products256.inc"

/* Minus the offset times the activations' sums: of one half of the block, or (sums2 not NULL) of both. */
ST_INLINE sums start(const int16_t *sums1, const int16_t *sums2, int offset, int tokens) {
    sums s = zero_sums(tokens);
    if (offset == 0) return s;
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        __m256i x = broadcast4(sums1 + 4 * t);
        if (sums2) x = add16(x, broadcast4(sums2 + 4 * t));
        s.lo[t] = s.hi[t] = _mm256_madd_epi16(x, _mm256_set1_epi16((short)-offset));
    }
    return s;
}

ST_INLINE fsums scaled(fsums s, const float *by, int tokens) {
    const __m256 lo = _mm256_load_ps(by), hi = _mm256_load_ps(by + 8);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        s.lo[t] = _mm256_mul_ps(s.lo[t], lo);
        s.hi[t] = _mm256_mul_ps(s.hi[t], hi);
    }
    return s;
}

/* a + s * by */
ST_INLINE fsums add_scaled(fsums a, fsums s, const float *by, int tokens) {
    const __m256 lo = _mm256_load_ps(by), hi = _mm256_load_ps(by + 8);
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        a.lo[t] = _mm256_fmadd_ps(s.lo[t], lo, a.lo[t]);
        a.hi[t] = _mm256_fmadd_ps(s.hi[t], hi, a.hi[t]);
    }
    return a;
}

ST_INLINE fsums dots(const block16 *b, const uint8_t *q, const int16_t *x_sums, int tokens, way how, int offset) {
    if (how == SCALED_HALVES) {
        const sums first = add_columns(start(x_sums, NULL, offset, tokens), b->w, q, tokens);
        const fsums a = scaled(to_floats(first, tokens), b->by[0], tokens);
        const sums second = add_columns(start(x_sums + 2, NULL, offset, tokens), b->w + 256, q + 16, tokens);
        return add_scaled(a, to_floats(second, tokens), b->by[1], tokens);
    }
    sums s = add_columns(start(x_sums, x_sums + 2, offset, tokens), b->w, q, tokens);
    s = add_columns(s, b->w + 256, q + 16, tokens);
    return how == SCALED ? scaled(to_floats(s, tokens), b->by[0], tokens) : to_floats(s, tokens);
}

MATMUL(q4_0, ST_TILE_Q4_0, 1, PLAIN, 8, NO_MIN)
MATMUL(q4_1, ST_TILE_Q4_1, 1, PLAIN, 0, MIN)
MATMUL(q5_0, ST_TILE_Q5_0, 1, PLAIN, 16, NO_MIN)
MATMUL(q5_1, ST_TILE_Q5_1, 1, PLAIN, 0, MIN)
MATMUL(q8_0, ST_TILE_Q8_0, 1, PLAIN, 128, NO_MIN)
MATMUL(iq4_nl, ST_TILE_Q4_0, 1, PLAIN, 128, NO_MIN)
MATMUL(iq4_xs, ST_TILE_IQ4_XS, 8, SCALED, 128, NO_MIN)
MATMUL(q2_k, ST_TILE_Q2_K, 8, SCALED_HALVES, 0, TWO_MINS)
MATMUL(q4_k, ST_TILE_Q4_K, 8, SCALED, 0, MIN)
MATMUL(q5_k, ST_TILE_Q5_K, 8, SCALED, 0, MIN)
MATMUL(q6_k, ST_TILE_Q6_K, 8, SCALED_HALVES, 32, NO_MIN)
