/* SPDX-License-Identifier: MIT
 * The AVX-512 intrinsics that src/kern uses, as plain loops over what Intel's Intrinsics Guide says of each: slow, but
 * they run everywhere. A kernel compiled with these computes what its instructions would. Sanitizers make much of each,
 * so their builds call them instead of repeating them: inlined, a source takes two minutes to compile. */
#ifndef ST_TESTS_CHECKKERN_EMULATE_AVX512_H
#define ST_TESTS_CHECKKERN_EMULATE_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_CALL __attribute__((noinline, unused))
#else
#define EMU_CALL inline
#endif

/* One vector, in whatever lanes are wanted. */
typedef union emu {
    __m512i i;
    __m512 f;
    uint8_t u8[64];
    int8_t s8[64];
    uint16_t u16[32];
    int16_t s16[32];
    uint32_t u32[16];
    int32_t s32[16];
    uint64_t u64[8];
    float ps[16];
} emu;

#define EMU_I(name, params, body)                                                                                      \
    static EMU_CALL __m512i name params {                                                                              \
        emu r;                                                                                                         \
        body return r.i;                                                                                               \
    }
#define EMU_F(name, params, body)                                                                                      \
    static EMU_CALL __m512 name params {                                                                               \
        emu r;                                                                                                         \
        body return r.f;                                                                                               \
    }
#define EACH(n, what)                                                                                                  \
    for (int l = 0; l < (n); l++) what;

EMU_I(emu_set1_8, (int v), EACH(64, r.s8[l] = (int8_t)v))
EMU_I(emu_set1_16, (int v), EACH(32, r.s16[l] = (int16_t)v))
EMU_I(emu_set1_32, (int32_t v), EACH(16, r.s32[l] = v))
EMU_F(emu_set1_ps, (float v), EACH(16, r.ps[l] = v))
EMU_F(emu_repeat_ps, (__m128 v), EACH(16, r.ps[l] = _mm_cvtss_f32(v)))
EMU_I(emu_load, (const void *p), memcpy(&r, p, 64);)
EMU_F(emu_load_ps, (const void *p), memcpy(&r, p, 64);)
static EMU_CALL void emu_store_ps(void *p, __m512 v) {
    memcpy(p, &v, 64);
}
/* Only what the mask has is touched in memory. */
EMU_F(emu_load_masked, (__mmask16 m, const void *p), EACH(16, r.ps[l] = m >> l & 1 ? ((const float *)p)[l] : 0))
static EMU_CALL void emu_store_masked(void *p, __mmask16 m, __m512 v) {
    const emu a = {.f = v};
    EACH(16, if (m >> l & 1)((float *)p)[l] = a.ps[l])
}

#define A(lane) ((const emu *)&a)->lane[l]
#define B(lane) ((const emu *)&b)->lane[l]
#define C(lane) ((const emu *)&c)->lane[l]
EMU_I(emu_add_32, (__m512i a, __m512i b), EACH(16, r.u32[l] = A(u32) + B(u32)))
EMU_I(emu_add_64, (__m512i a, __m512i b), EACH(8, r.u64[l] = A(u64) + B(u64)))
EMU_I(emu_and, (__m512i a, __m512i b), EACH(16, r.u32[l] = A(u32) & B(u32)))
EMU_I(emu_max_32, (__m512i a, __m512i b), EACH(16, r.s32[l] = A(s32) > B(s32) ? A(s32) : B(s32)))
EMU_I(emu_xor, (__m512i a, __m512i b), EACH(16, r.u32[l] = A(u32) ^ B(u32)))
EMU_F(emu_xor_ps, (__m512 a, __m512 b), EACH(16, r.u32[l] = A(u32) ^ B(u32)))
EMU_F(emu_and_ps, (__m512 a, __m512 b), EACH(16, r.u32[l] = A(u32) & B(u32)))
EMU_F(emu_andnot_ps, (__m512 a, __m512 b), EACH(16, r.u32[l] = ~A(u32) & B(u32)))
EMU_F(emu_or_ps, (__m512 a, __m512 b), EACH(16, r.u32[l] = A(u32) | B(u32)))
EMU_F(emu_add_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) + B(ps)))
EMU_F(emu_sub_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) - B(ps)))
EMU_F(emu_mul_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) * B(ps)))
EMU_F(emu_div_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) / B(ps)))
/* The second where either is NaN. */
EMU_F(emu_max_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) > B(ps) ? A(ps) : B(ps)))
EMU_F(emu_min_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = A(ps) < B(ps) ? A(ps) : B(ps)))
EMU_F(emu_fmadd_ps, (__m512 a, __m512 b, __m512 c), EACH(16, r.ps[l] = fmaf(A(ps), B(ps), C(ps))))
EMU_F(emu_fnmadd_ps, (__m512 a, __m512 b, __m512 c), EACH(16, r.ps[l] = fmaf(-A(ps), B(ps), C(ps))))
/* a times two to the power of b rounded down; b here is a whole number, or NaN. */
EMU_F(emu_scalef_ps, (__m512 a, __m512 b), EACH(16, r.ps[l] = isnan(B(ps)) ? NAN : ldexpf(A(ps), (int)B(ps))))
/* To a whole number: what kernels ask for is the nearest, or the even one of two. */
EMU_F(emu_round_ps, (__m512 a, int how), (void)how; EACH(16, r.ps[l] = rintf(A(ps))))
static EMU_CALL __mmask16 emu_at_least_ps(__m512 a, __m512 b, int how) {
    unsigned m = 0;
    (void)how; /* _CMP_GE_OQ is all that kernels ask for */
    EACH(16, m |= (unsigned)(A(ps) >= B(ps)) << l)
    return (__mmask16)m;
}
EMU_F(emu_blend_ps, (__mmask16 m, __m512 a, __m512 b), EACH(16, r.ps[l] = m >> l & 1 ? B(ps) : A(ps)))
EMU_F(emu_keep_ps, (__mmask16 m, __m512 a), EACH(16, r.ps[l] = m >> l & 1 ? A(ps) : 0))
EMU_I(emu_slli_32, (__m512i a, unsigned n), EACH(16, r.u32[l] = A(u32) << n))
EMU_I(emu_srli_32, (__m512i a, unsigned n), EACH(16, r.u32[l] = A(u32) >> n))
EMU_I(emu_srli_16, (__m512i a, unsigned n), EACH(32, r.u16[l] = (uint16_t)(A(u16) >> n)))
EMU_F(emu_to_ps, (__m512i a), EACH(16, r.ps[l] = (float)A(s32)))
/* To the nearest whole number, and to the lowest number of all what is none or too large. */
EMU_I(emu_to_32, (__m512 a), EACH(16, r.s32[l] = fabsf(A(ps)) < 0x1p31f ? (int32_t)rintf(A(ps)) : INT32_MIN))
EMU_F(emu_as_ps, (__m512i a), r.i = a;)
EMU_I(emu_as_32, (__m512 a), r.f = a;)

/* Within each 16 bytes: byte (b & 15) of a, or 0 where the top bit of b is set. */
EMU_I(emu_shuffle_8, (__m512i a, __m512i b),
      EACH(64, r.u8[l] = B(u8) & 0x80 ? 0 : ((const emu *)&a)->u8[(l & ~15) | (B(u8) & 15)]))
/* Four products of unsigned bytes of b and signed ones of c, added to a without saturation. */
EMU_I(emu_dpbusd, (__m512i a, __m512i b, __m512i c), EACH(16, {
          int32_t sum = A(s32);
          for (int k = 4 * l; k < 4 * l + 4; k++) sum += ((const emu *)&b)->u8[k] * ((const emu *)&c)->s8[k];
          r.s32[l] = sum;
      }))
EMU_I(emu_dpwssd, (__m512i a, __m512i b, __m512i c), EACH(16, {
          int32_t sum = A(s32);
          for (int k = 2 * l; k < 2 * l + 2; k++) sum += ((const emu *)&b)->s16[k] * ((const emu *)&c)->s16[k];
          r.s32[l] = sum;
      }))
/* Bit 4 a + 2 b + c of the table, bit by bit. */
EMU_I(emu_ternary, (__m512i a, __m512i b, __m512i c, unsigned table), EACH(16, {
          r.u32[l] = 0;
          for (int k = 0; k < 32; k++) {
              const unsigned at = (A(u32) >> k & 1) << 2 | (B(u32) >> k & 1) << 1 | (C(u32) >> k & 1);
              r.u32[l] |= (uint32_t)(table >> at & 1) << k;
          }
      }))
#undef A
#undef B
#undef C

/* Widening, from narrower vectors. */
typedef union emu128 {
    __m128i i;
    uint8_t u8[16];
    int8_t s8[16];
    uint32_t u32[4];
} emu128;
EMU_I(emu_widen_u8, (__m128i v), emu128 a = {v}; EACH(16, r.s32[l] = a.u8[l]))
EMU_I(emu_widen_s8, (__m128i v), emu128 a = {v}; EACH(16, r.s32[l] = a.s8[l]))
EMU_I(emu_repeat_128, (__m128i v), emu128 a = {v}; EACH(16, r.u32[l] = a.u32[l % 4]))
EMU_I(emu_widen_u16, (__m256i v), uint16_t a[16]; memcpy(a, &v, 32); EACH(16, r.s32[l] = a[l]))
EMU_F(emu_halves, (__m256i v), uint16_t a[16]; memcpy(a, &v, 32); EACH(16, r.ps[l] = _cvtsh_ss(a[l])))

/* Halves, and narrowing. */
static EMU_CALL __m256i emu_half(__m512i v, int which) {
    __m256i half;
    memcpy(&half, (const char *)&v + 32 * which, 32);
    return half;
}
static EMU_CALL __m256 emu_half_ps(__m512 v, int which) {
    __m256 half;
    memcpy(&half, (const char *)&v + 32 * which, 32);
    return half;
}
static EMU_CALL __m128i emu_low_8(__m512i v) {
    const emu a = {v};
    emu128 r;
    EACH(16, r.u8[l] = (uint8_t)a.u32[l])
    return r.i;
}

static EMU_CALL uint32_t emu_sum_32(__m512i v) {
    const emu a = {v};
    uint32_t sum = 0;
    EACH(16, sum += a.u32[l])
    return sum;
}
static EMU_CALL uint64_t emu_sum_64(__m512i v) {
    const emu a = {v};
    uint64_t sum = 0;
    EACH(8, sum += a.u64[l])
    return sum;
}
static EMU_CALL float emu_sum_ps(__m512 v) {
    const emu a = {.f = v};
    float sum = 0;
    EACH(16, sum += a.ps[l])
    return sum;
}
#undef EACH
#undef EMU_CALL
#undef EMU_I
#undef EMU_F

/* Compilers make macros of those that take a constant. */
#undef _mm512_cmp_ps_mask
#undef _mm512_extractf32x8_ps
#undef _mm512_extracti64x4_epi64
#undef _mm512_roundscale_ps
#undef _mm512_slli_epi32
#undef _mm512_srli_epi16
#undef _mm512_srli_epi32
#undef _mm512_ternarylogic_epi32

#define _mm512_add_epi32 emu_add_32
#define _mm512_add_epi64 emu_add_64
#define _mm512_add_ps emu_add_ps
#define _mm512_and_ps emu_and_ps
#define _mm512_and_si512 emu_and
#define _mm512_andnot_ps emu_andnot_ps
#define _mm512_broadcast_i32x4 emu_repeat_128
#define _mm512_broadcastss_ps emu_repeat_ps
#define _mm512_castps512_ps256(v) emu_half_ps(v, 0)
#define _mm512_castps_si512 emu_as_32
#define _mm512_castsi512_ps emu_as_ps
#define _mm512_castsi512_si256(v) emu_half(v, 0)
#define _mm512_cmp_ps_mask emu_at_least_ps
#define _mm512_cvtepi32_epi8 emu_low_8
#define _mm512_cvtepi32_ps emu_to_ps
#define _mm512_cvtepi8_epi32 emu_widen_s8
#define _mm512_cvtepu16_epi32 emu_widen_u16
#define _mm512_cvtepu8_epi32 emu_widen_u8
#define _mm512_cvtph_ps emu_halves
#define _mm512_cvtps_epi32 emu_to_32
#define _mm512_div_ps emu_div_ps
#define _mm512_dpbusd_epi32 emu_dpbusd
#define _mm512_dpwssd_epi32 emu_dpwssd
#define _mm512_extractf32x8_ps emu_half_ps
#define _mm512_extracti64x4_epi64 emu_half
#define _mm512_fmadd_ps emu_fmadd_ps
#define _mm512_fnmadd_ps emu_fnmadd_ps
#define _mm512_load_ps emu_load_ps
#define _mm512_loadu_ps emu_load_ps
#define _mm512_loadu_si512 emu_load
#define _mm512_mask_blend_ps emu_blend_ps
#define _mm512_mask_storeu_ps emu_store_masked
#define _mm512_maskz_loadu_ps emu_load_masked
#define _mm512_maskz_mov_ps emu_keep_ps
#define _mm512_max_epi32 emu_max_32
#define _mm512_max_ps emu_max_ps
#define _mm512_min_ps emu_min_ps
#define _mm512_mul_ps emu_mul_ps
#define _mm512_or_ps emu_or_ps
#define _mm512_reduce_add_epi32 emu_sum_32
#define _mm512_reduce_add_epi64 emu_sum_64
#define _mm512_reduce_add_ps emu_sum_ps
#define _mm512_roundscale_ps emu_round_ps
#define _mm512_scalef_ps emu_scalef_ps
#define _mm512_set1_epi16 emu_set1_16
#define _mm512_set1_epi32 emu_set1_32
#define _mm512_set1_epi8 emu_set1_8
#define _mm512_set1_ps emu_set1_ps
#define _mm512_setzero_ps() emu_set1_ps(0)
#define _mm512_setzero_si512() emu_set1_32(0)
#define _mm512_shuffle_epi8 emu_shuffle_8
#define _mm512_slli_epi32 emu_slli_32
#define _mm512_srli_epi16 emu_srli_16
#define _mm512_srli_epi32 emu_srli_32
#define _mm512_store_ps emu_store_ps
#define _mm512_storeu_ps emu_store_ps
#define _mm512_sub_ps emu_sub_ps
#define _mm512_ternarylogic_epi32 emu_ternary
#define _mm512_xor_ps emu_xor_ps
#define _mm512_xor_si512 emu_xor

#endif
