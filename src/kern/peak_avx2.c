/* SPDX-License-Identifier: MIT
 * What memory and arithmetic give with AVX2. */
#include "kern/vec_avx2.h"

uint64_t st_stream_avx2(const uint8_t *data, size_t bytes, enum st_stream_order order) {
    const st_stream_walk walk = st_stream_walk_of(bytes, order);
    __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < walk.n; i++) {
        const uint8_t *p = data + i * walk.step, *q = p + 2 * walk.apart;
        s0 = _mm256_add_epi64(s0, load256(p));
        s1 = _mm256_add_epi64(s1, load256(p + 32));
        s2 = _mm256_add_epi64(s2, load256(p + walk.apart));
        s3 = _mm256_add_epi64(s3, load256(p + walk.apart + 32));
        s0 = _mm256_add_epi64(s0, load256(q));
        s1 = _mm256_add_epi64(s1, load256(q + 32));
        s2 = _mm256_add_epi64(s2, load256(q + walk.apart));
        s3 = _mm256_add_epi64(s3, load256(q + walk.apart + 32));
    }
    for (size_t i = walk.n * 256; i < bytes; i += 32) s0 = _mm256_add_epi64(s0, load256(data + i));
    s0 = _mm256_add_epi64(_mm256_add_epi64(s0, s1), _mm256_add_epi64(s2, s3));
    const __m128i s = _mm_add_epi64(_mm256_castsi256_si128(s0), _mm256_extracti128_si256(s0, 1));
    return (uint64_t)_mm_cvtsi128_si64(s) + (uint64_t)_mm_extract_epi64(s, 1);
}

/* The compiler has to take x for another one each time. */
#define HIDE(x) __asm__ volatile("" : "+x"(x))

/* 32 columns of 8 rows, as the matrix products of 4-bit types do them: eight byte products, summed in 16 bits, and one
 * widening. One sum after the other: they overlap, and eight side by side are slower by a fifth. */
uint32_t st_burn_dots_avx2(uint32_t rounds) {
    const __m256i one = _mm256_set1_epi16(1);
    __m256i x = _mm256_set1_epi8(1), total = _mm256_setzero_si256();
    for (; rounds > 0; rounds--)
        for (int block = 0; block < ST_BURN_ROUND / 256; block++) {
            HIDE(x);
            __m256i s = _mm256_maddubs_epi16(x, x);
#define ADD()                                                                                                          \
    HIDE(x);                                                                                                           \
    s = add16(s, _mm256_maddubs_epi16(x, x));
            ADD()
            ADD()
            ADD()
            ADD()
            ADD()
            ADD()
            ADD()
#undef ADD
            total = add32(total, _mm256_madd_epi16(s, one));
        }
    return lanes256_sum32(total);
}

uint32_t st_burn_f32_avx2(uint32_t rounds) {
    const __m256 y = _mm256_set1_ps(1);
    __m256 x = y, s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / 64; i++) {
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum = _mm256_fmadd_ps(x, y, sum);
            ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)
#undef ADD
        }
    return (uint32_t)(lanes_sum(s0) + lanes_sum(s1) + lanes_sum(s2) + lanes_sum(s3) + lanes_sum(s4) + lanes_sum(s5) +
                      lanes_sum(s6) + lanes_sum(s7));
}
