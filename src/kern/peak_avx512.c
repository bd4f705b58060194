/* SPDX-License-Identifier: MIT
 * What memory and arithmetic give with AVX-512. */
#include "kern/avx512.h"

uint64_t st_stream_avx512(const uint8_t *data, size_t bytes, enum st_stream_order order) {
    const st_stream_walk walk = st_stream_walk_of(bytes, order);
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
    for (size_t i = 0; i < walk.n; i++) {
        const uint8_t *p = data + i * walk.step;
        s0 = _mm512_add_epi64(s0, load512(p));
        s1 = _mm512_add_epi64(s1, load512(p + walk.apart));
        s2 = _mm512_add_epi64(s2, load512(p + 2 * walk.apart));
        s3 = _mm512_add_epi64(s3, load512(p + 3 * walk.apart));
    }
    for (size_t i = walk.n * 256; i < bytes; i += 64) s0 = _mm512_add_epi64(s0, load512(data + i));
    s0 = _mm512_add_epi64(_mm512_add_epi64(s0, s1), _mm512_add_epi64(s2, s3));
    return (uint64_t)_mm512_reduce_add_epi64(s0);
}

/* The compiler has to take x for another one each time. */
#ifdef ST_EMULATE_AVX512
#define HIDE(x)
#else
#define HIDE(x) __asm__ volatile("" : "+v"(x))
#endif

/* Sixteen sums: vpdpbusd has a latency of up to five cycles, and some processors start two in each. */
uint32_t st_burn_dots_avx512(uint32_t rounds) {
    __m512i x = _mm512_set1_epi8(1), s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0,
            s7 = s0, s8 = s0, s9 = s0, s10 = s0, s11 = s0, s12 = s0, s13 = s0, s14 = s0, s15 = s0;
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / (16 * 64); i++) {
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum = _mm512_dpbusd_epi32(sum, x, x);
            ADD(s0)
            ADD(s1)
            ADD(s2)
            ADD(s3)
            ADD(s4) ADD(s5) ADD(s6) ADD(s7) ADD(s8) ADD(s9) ADD(s10) ADD(s11) ADD(s12) ADD(s13) ADD(s14) ADD(s15)
#undef ADD
        }
#define SUM(a, b) _mm512_add_epi32(a, b)
    s0 = SUM(SUM(SUM(s0, s1), SUM(s2, s3)), SUM(SUM(s4, s5), SUM(s6, s7)));
    s8 = SUM(SUM(SUM(s8, s9), SUM(s10, s11)), SUM(SUM(s12, s13), SUM(s14, s15)));
    return (uint32_t)_mm512_reduce_add_epi32(SUM(s0, s8));
#undef SUM
}

uint32_t st_burn_f32_avx512(uint32_t rounds) {
    const __m512 y = _mm512_set1_ps(1);
    __m512 x = y, s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / (8 * 16); i++) {
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum = _mm512_fmadd_ps(x, y, sum);
            ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)
#undef ADD
        }
#define SUM(a, b) _mm512_add_ps(a, b)
    s0 = SUM(SUM(SUM(s0, s1), SUM(s2, s3)), SUM(SUM(s4, s5), SUM(s6, s7)));
    return (uint32_t)_mm512_reduce_add_ps(s0);
#undef SUM
}
