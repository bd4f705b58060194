/* SPDX-License-Identifier: MIT
 * Products of float matrices with AVX2: see vec_products.inc. */
#include "kern/matmul_avx2.h"
#include "kern/turns_avx2.h"
#include "kern/vec_avx2.h"

enum { MOST_TOKENS = 3, STRIPS = ST_TURN_STRIPS_AVX2 };

/* Rows 0-7 and 8-15. */
typedef struct column {
    __m256 lo, hi;
} column;

ST_INLINE column column_zero(void) {
    return (column){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

ST_INLINE column column_f32(const uint8_t *p) {
    return (column){_mm256_loadu_ps((const float *)p), _mm256_loadu_ps((const float *)p + 8)};
}

ST_INLINE column column_f16(const uint8_t *p) {
    return (column){load_halves(p), load_halves(p + 16)};
}

ST_INLINE __m256 load_bfloats(const uint8_t *p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

ST_INLINE column column_bf16(const uint8_t *p) {
    return (column){load_bfloats(p), load_bfloats(p + 16)};
}

ST_INLINE column add_product(column sum, column w, const float *x) {
    const __m256 v = _mm256_broadcast_ss(x);
    return (column){_mm256_fmadd_ps(w.lo, v, sum.lo), _mm256_fmadd_ps(w.hi, v, sum.hi)};
}

ST_INLINE void store_sums(float *y, column even, column odd) {
    _mm256_storeu_ps(y, _mm256_add_ps(even.lo, odd.lo));
    _mm256_storeu_ps(y + 8, _mm256_add_ps(even.hi, odd.hi));
}

/* A pair of 16-bit columns is a cache line; pairs of f32 are as fast as a plain read without, and slower with it. */
ST_INLINE void fetch_pair(const uint8_t *p, int bytes) {
    if (bytes == 64) fetch_lines(p + NEAR, bytes);
}

#include "kern/vec_products.inc"
