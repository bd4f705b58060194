/* SPDX-License-Identifier: MIT
 * Matrix-matrix products of quantized types with AVX2. Each block of 16 rows x 32 columns is unpacked once into the first
 * cache and then meets four tokens at a time: 8 sums of 16 bits in registers, every vector of weights serves four tokens and
 * every broadcast of activations 16 rows. Float sums wait in the first cache. The order of sums stands in avx2.h. */
#include "kern/matmul_avx2.h"

#include "kern/matvec_avx2.h"
#include "kern/unpack_avx2.h"

/* How many byte products of 16 bits may be added before they are widened (avx2.h), in vectors; 1 means signed weights. */
enum widen { EVERY_8 = 8, EVERY_4 = 4, EVERY_2 = 2, SIGNED = 1 };
enum minimum { NO_MIN, MIN, OFFSET, TWO_MINS }; /* what is added beside the dot products */

/* Sums of up to four tokens, rows 0-7 and rows 8-15. */
typedef struct sums {
    __m256i lo0, lo1, lo2, lo3, hi0, hi1, hi2, hi3;
} sums;

#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)                                                                                               \
    if (tokens > 3) X(3)

/* 16-bit sums over vectors from..from+count-1 (count is 4 or 8). */
ST_INLINE sums sums_of(const uint8_t *w, const uint8_t *q, int tokens, int count) {
    const __m256i zero = _mm256_setzero_si256();
    sums s = {zero, zero, zero, zero, zero, zero, zero, zero};
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i x = broadcast4(q + 32 * (t) + at);                                                               \
        s.lo##t = add16(s.lo##t, _mm256_maddubs_epi16(lo, x));                                                         \
        s.hi##t = add16(s.hi##t, _mm256_maddubs_epi16(hi, x));                                                         \
    }
#define VECTOR(j)                                                                                                      \
    if ((j) < count) {                                                                                                 \
        const int at = 4 * (j);                                                                                        \
        const __m256i lo = load256_once(w + 64 * (j)), hi = load256_once(w + 64 * (j) + 32);                           \
        FOR_TOKENS(TOKEN)                                                                                              \
    }
    VECTOR(0)
    VECTOR(1)
    VECTOR(2)
    VECTOR(3)
    VECTOR(4)
    VECTOR(5)
    VECTOR(6)
    VECTOR(7)
#undef VECTOR
#undef TOKEN
    return s;
}

ST_INLINE sums widened(sums s, const int16_t *by, int tokens) {
    const __m256i lo = load256(by), hi = load256(by + 16);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        s.lo##t = _mm256_madd_epi16(s.lo##t, lo);                                                                      \
        s.hi##t = _mm256_madd_epi16(s.hi##t, hi);                                                                      \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

/* Adds vectors j and j + 1, widened, to s. */
ST_INLINE sums add_two(sums s, const uint8_t *w, const int16_t *by, const uint8_t *q, int tokens) {
    const __m256i lo = load256_once(w), hi = load256_once(w + 32), lo_b = load256_once(w + 64), hi_b = load256_once(w + 96);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i a = broadcast4(q + 32 * (t)), b = broadcast4(q + 32 * (t) + 4);                                  \
        const __m256i p = add16(_mm256_maddubs_epi16(lo, a), _mm256_maddubs_epi16(lo_b, b));                           \
        const __m256i r = add16(_mm256_maddubs_epi16(hi, a), _mm256_maddubs_epi16(hi_b, b));                           \
        s.lo##t = add32(s.lo##t, _mm256_madd_epi16(p, load256(by)));                                                   \
        s.hi##t = add32(s.hi##t, _mm256_madd_epi16(r, load256(by + 16)));                                              \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

/* Adds vector j of signed weights, widened, to s. */
ST_INLINE sums add_signed(sums s, const uint8_t *w, const int16_t *by, const uint8_t *q, int tokens) {
    const __m256i lo = load256_once(w), hi = load256_once(w + 32), lo_abs = _mm256_abs_epi8(lo), hi_abs = _mm256_abs_epi8(hi);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i x = broadcast4(q + 32 * (t));                                                                    \
        const __m256i p = _mm256_maddubs_epi16(lo_abs, _mm256_sign_epi8(x, lo));                                       \
        const __m256i r = _mm256_maddubs_epi16(hi_abs, _mm256_sign_epi8(x, hi));                                       \
        s.lo##t = add32(s.lo##t, _mm256_madd_epi16(p, load256(by)));                                                   \
        s.hi##t = add32(s.hi##t, _mm256_madd_epi16(r, load256(by + 16)));                                              \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

ST_INLINE sums add_sums(sums a, sums b) {
    return (sums){add32(a.lo0, b.lo0), add32(a.lo1, b.lo1), add32(a.lo2, b.lo2), add32(a.lo3, b.lo3),
                  add32(a.hi0, b.hi0), add32(a.hi1, b.hi1), add32(a.hi2, b.hi2), add32(a.hi3, b.hi3)};
}

/* The exact integer of every row and token. */
ST_INLINE sums dots(const block16 *b, const uint8_t *q, int tokens, enum widen every) {
    if (every == EVERY_8) return widened(sums_of(b->w, q, tokens, 8), b->by[0], tokens);
    if (every == EVERY_4) {
        const sums first = widened(sums_of(b->w, q, tokens, 4), b->by[0], tokens);
        return add_sums(first, widened(sums_of(b->w + 256, q + 16, tokens, 4), b->by[1], tokens));
    }
    const __m256i zero = _mm256_setzero_si256();
    sums s = {zero, zero, zero, zero, zero, zero, zero, zero};
    if (every == EVERY_2) {
        s = add_two(s, b->w, b->by[0], q, tokens);
        s = add_two(s, b->w + 128, b->by[0], q + 8, tokens);
        s = add_two(s, b->w + 256, b->by[1], q + 16, tokens);
        return add_two(s, b->w + 384, b->by[1], q + 24, tokens);
    }
    s = add_signed(s, b->w, b->by[0], q, tokens);
    s = add_signed(s, b->w + 64, b->by[0], q + 4, tokens);
    s = add_signed(s, b->w + 128, b->by[0], q + 8, tokens);
    s = add_signed(s, b->w + 192, b->by[0], q + 12, tokens);
    s = add_signed(s, b->w + 256, b->by[1], q + 16, tokens);
    s = add_signed(s, b->w + 320, b->by[1], q + 20, tokens);
    s = add_signed(s, b->w + 384, b->by[1], q + 24, tokens);
    return add_signed(s, b->w + 448, b->by[1], q + 28, tokens);
}

/* One half (8 rows) of one token: acc += float(dot) * d * dx and the minimum. */
ST_INLINE void add_half(float *acc, __m256i dot, const block16 *b, uint32_t half, enum minimum min, __m256 dx, const void *ds,
                        const void *x_sums) {
    const __m256 d = _mm256_mul_ps(_mm256_load_ps(b->d + 8 * half), dx);
    __m256 a = _mm256_loadu_ps(acc + 8 * half);
    if (min == OFFSET)
        dot = _mm256_sub_epi32(dot, _mm256_madd_epi16(load256(b->off + 16 * half), broadcast4(x_sums)));
    a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), d, a);
    if (min == MIN) a = _mm256_fmadd_ps(_mm256_load_ps(b->m + 8 * half), _mm256_castsi256_ps(broadcast4(ds)), a);
    if (min == TWO_MINS) {
        const __m256i sum = _mm256_madd_epi16(load256(b->off + 16 * half), broadcast4(x_sums));
        a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(_mm256_load_ps(b->m + 8 * half), dx), a);
    }
    _mm256_storeu_ps(acc + 8 * half, a);
}

/* Tokens t..t+tokens-1 of a panel's block x times an unpacked block. */
ST_INLINE void add_tokens(float acc[][ST_STRIP], const block16 *b, const uint8_t *x, uint32_t n, uint32_t first, int tokens,
                          enum widen every, enum minimum min) {
    /* Keeps the compiler from loading all weights before the loop over tokens: they do not fit the registers. */
    __asm__ volatile("" : : "r"(b) : "memory");
    const sums s = dots(b, x + 32 * (size_t)first, tokens, every);
    const float *d = st_qblock_d(x, n) + first, *ds = d + n;
    const int16_t *x_sums = st_qblock_sum(x, n) + 2 * (size_t)first;
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256 dx = _mm256_castsi256_ps(broadcast4(d + (t)));                                                    \
        add_half(acc[first + (t)], s.lo##t, b, 0, min, dx, ds + (t), x_sums + 2 * (t));                                \
        add_half(acc[first + (t)], s.hi##t, b, 1, min, dx, ds + (t), x_sums + 2 * (t));                                \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

ST_INLINE void add_block(float acc[][ST_STRIP], const block16 *b, const uint8_t *x, uint32_t n, enum widen every,
                         enum minimum min) {
    uint32_t t = 0;
    for (; t + 4 <= n; t += 4) add_tokens(acc, b, x, n, t, 4, every, min);
    if (n - t == 3) add_tokens(acc, b, x, n, t, 3, every, min);
    else if (n - t == 2) add_tokens(acc, b, x, n, t, 2, every, min);
    else if (n - t == 1) add_tokens(acc, b, x, n, t, 1, every, min);
}

ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      unpack_fn *unpack, uint32_t blocks, enum widen every, enum minimum min) {
    const uint32_t n = panel->n;
    float acc[ST_PANEL][ST_STRIP];
    block16 b;
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *tile = w->data + s * w->strip_bytes, *x = panel->quant;
        memset(acc, 0, n * sizeof(acc[0]));
        for (uint32_t k = 0; k < w->cols; k += 32 * blocks, tile += w->format->tile_bytes)
            for (uint32_t i = 0; i < blocks; i++, x += (size_t)n * ST_QBLOCK_BYTES) {
                unpack(&b, tile, i);
                add_block(acc, &b, x, n, every, min);
            }
        for (uint32_t t = 0; t < n; t++) memcpy(y + t * ldy + (size_t)s * ST_STRIP, acc[t], sizeof(acc[t]));
    }
}

#define MATMUL(format, blocks, every, min)                                                                             \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_avx2) {                                                                   \
        if (panel->n == 1) st_matvec_##format##_avx2(w, panel->quant, strip_lo, strip_hi, y);                          \
        else matmul(w, panel, strip_lo, strip_hi, y, ldy, unpack_##format, blocks, every, min);                        \
    }
MATMUL(q4_0, 1, EVERY_8, MIN)
MATMUL(q4_1, 1, EVERY_8, MIN)
MATMUL(q5_0, 1, EVERY_4, MIN)
MATMUL(q5_1, 1, EVERY_4, MIN)
MATMUL(q8_0, 1, SIGNED, NO_MIN)
MATMUL(iq4_nl, 1, SIGNED, NO_MIN)
MATMUL(iq4_xs, 8, SIGNED, NO_MIN)
MATMUL(q2_k, 8, EVERY_4, TWO_MINS)
MATMUL(q4_k, 8, EVERY_8, MIN)
MATMUL(q5_k, 8, EVERY_4, MIN)
MATMUL(q6_k, 8, EVERY_2, OFFSET)
