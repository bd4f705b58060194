/* SPDX-License-Identifier: MIT
 * Products of float matrices with AVX-512: see vec_products.inc. */
#include "kern/matmul_avx512.h"
#include "kern/vec_avx512.h"

enum { MOST_TOKENS = 6, STRIPS = 1 };

typedef __m512 column;

ST_INLINE column column_zero(void) {
    return _mm512_setzero_ps();
}
ST_INLINE column column_f32(const uint8_t *p) {
    return _mm512_loadu_ps(p);
}
ST_INLINE column column_f16(const uint8_t *p) {
    return load_half_lanes(p);
}
ST_INLINE column column_bf16(const uint8_t *p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

ST_INLINE column add_product(column sum, column w, const float *x) {
    return _mm512_fmadd_ps(w, _mm512_set1_ps(*x), sum);
}
ST_INLINE void store_sums(float *y, column even, column odd) {
    _mm512_storeu_ps(y, _mm512_add_ps(even, odd));
}

ST_INLINE void fetch_pair(const uint8_t *p, int bytes) {
    fetch_ahead(p, bytes);
}

#include "kern/vec_products.inc"
