/* SPDX-License-Identifier: MIT
 * Matrix-matrix products of quantized types with AVX2. Each block of 16 rows x 32 columns is unpacked once into the
 * first cache and then meets four tokens at a time: 8 sums in registers, every vector of weights serves four tokens and
 * every broadcast of activations 16 rows. Float sums wait in the first cache. The order of sums stands in avx2.h. */
#include "kern/matmul_avx2.h"

#include "kern/matvec_avx2.h"
#include "kern/turns.h"
#include "kern/unpack_avx2.h"

/* How the byte products of a block become one exact integer (avx2.h). */
typedef enum way {
    WHOLE,        /* 16-bit sums over 32 columns */
    WHOLE_SCALED, /* times the scale */
    HALVES,       /* 16-bit sums over 16 columns */
    HALVES_SCALED,
    SIGNED, /* signed weights, widened at once */
    SIGNED_SCALED,
} way;

/* What is added beside: nothing, the minimum of the row times the sum of activations, or Q2_K's two of them. */
typedef enum minimum { NO_MIN, MIN, TWO_MINS } minimum;

/* Sums of up to four tokens, rows 0-7 and rows 8-15. */
typedef struct sums {
    __m256i lo0, lo1, lo2, lo3, hi0, hi1, hi2, hi3;
} sums;

#define FOR_TOKENS(X)                                                                                                  \
    X(0)                                                                                                               \
    if (tokens > 1) X(1)                                                                                               \
    if (tokens > 2) X(2)                                                                                               \
    if (tokens > 3) X(3)

/* Adds the 16-bit products of four vectors (16 columns) to s. */
ST_INLINE sums add_columns(sums s, const uint8_t *w, const uint8_t *q, int tokens) {
    __m256i lo, hi;
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i x = broadcast4(q + 32 * (t));                                                                    \
        s.lo##t = add16(s.lo##t, _mm256_maddubs_epi16(lo, x));                                                         \
        s.hi##t = add16(s.hi##t, _mm256_maddubs_epi16(hi, x));                                                         \
        HOLD(s.lo##t);                                                                                                 \
        HOLD(s.hi##t);                                                                                                 \
    }
#define VECTOR(j)                                                                                                      \
    lo = load256_once(w + 64 * (j));                                                                                   \
    hi = load256_once(w + 64 * (j) + 32);                                                                              \
    FOR_TOKENS(TOKEN)                                                                                                  \
    q += 4;
    VECTOR(0)
    VECTOR(1)
    VECTOR(2)
    VECTOR(3)
#undef VECTOR
#undef TOKEN
    return s;
}

/* Takes off 2^offset times the activations' sums: of one half of the block, or (sums2 not NULL) of both. */
ST_INLINE sums less_offset(sums s, const int16_t *sums1, const int16_t *sums2, int offset, int tokens) {
    if (offset == 0) return s;
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        __m256i x = broadcast4(sums1 + 4 * (t));                                                                       \
        if (sums2) x = add16(x, broadcast4(sums2 + 4 * (t)));                                                          \
        x = _mm256_slli_epi16(x, offset);                                                                              \
        s.lo##t = sub16(s.lo##t, x);                                                                                   \
        s.hi##t = sub16(s.hi##t, x);                                                                                   \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

/* 16-bit sums times the scale (NULL: 1), both of a lane added. */
ST_INLINE sums widened(sums s, const int16_t *by, int tokens) {
    const __m256i lo = by ? load256_once(by) : _mm256_set1_epi16(1), hi = by ? load256_once(by + 16) : lo;
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        s.lo##t = _mm256_madd_epi16(s.lo##t, lo);                                                                      \
        s.hi##t = _mm256_madd_epi16(s.hi##t, hi);                                                                      \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

/* Adds a vector of signed weights, widened, to s. */
ST_INLINE sums add_signed(sums s, const uint8_t *w, const uint8_t *size, const uint8_t *q, __m256i one, int tokens) {
    const __m256i lo = load256_once(w), hi = load256_once(w + 32);
    const __m256i lo_size = load256_once(size), hi_size = load256_once(size + 32);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        const __m256i x = broadcast4(q + 32 * (t));                                                                    \
        const __m256i p = _mm256_maddubs_epi16(lo_size, _mm256_sign_epi8(x, lo));                                      \
        s.lo##t = add32(s.lo##t, _mm256_madd_epi16(p, one));                                                           \
        const __m256i r = _mm256_maddubs_epi16(hi_size, _mm256_sign_epi8(x, hi));                                      \
        s.hi##t = add32(s.hi##t, _mm256_madd_epi16(r, one));                                                           \
        HOLD(s.lo##t);                                                                                                 \
        HOLD(s.hi##t);                                                                                                 \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
    return s;
}

ST_INLINE sums signed_dots(const block16 *b, const uint8_t *q, int tokens) {
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    sums s = {zero, zero, zero, zero, zero, zero, zero, zero};
    s = add_signed(s, b->w, b->size, q, one, tokens);
    s = add_signed(s, b->w + 64, b->size + 64, q + 4, one, tokens);
    s = add_signed(s, b->w + 128, b->size + 128, q + 8, one, tokens);
    s = add_signed(s, b->w + 192, b->size + 192, q + 12, one, tokens);
    s = add_signed(s, b->w + 256, b->size + 256, q + 16, one, tokens);
    s = add_signed(s, b->w + 320, b->size + 320, q + 20, one, tokens);
    s = add_signed(s, b->w + 384, b->size + 384, q + 24, one, tokens);
    return add_signed(s, b->w + 448, b->size + 448, q + 28, one, tokens);
}

/* The scale stands twice in a lane: the upper one, its sign extended, is the lane's. */
ST_INLINE sums scaled(sums s, const int16_t *by, int tokens) {
    const __m256i lo = _mm256_srai_epi32(load256(by), 16), hi = _mm256_srai_epi32(load256(by + 16), 16);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        s.lo##t = _mm256_mullo_epi32(s.lo##t, lo);                                                                     \
        s.hi##t = _mm256_mullo_epi32(s.hi##t, hi);                                                                     \
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
ST_INLINE sums dots(const block16 *b, const uint8_t *q, const int16_t *x_sums, int tokens, way how, int offset) {
    const __m256i zero = _mm256_setzero_si256();
    const sums none = {zero, zero, zero, zero, zero, zero, zero, zero};
    if (how == SIGNED) return signed_dots(b, q, tokens);
    if (how == SIGNED_SCALED) return scaled(signed_dots(b, q, tokens), b->by[0], tokens);
    const int16_t *by_first = how == WHOLE || how == HALVES ? NULL : b->by[0], *by_second = by_first ? b->by[1] : NULL;
    sums first = add_columns(none, b->w, q, tokens);
    if (how == WHOLE || how == WHOLE_SCALED) {
        first = add_columns(first, b->w + 256, q + 16, tokens);
        return widened(less_offset(first, x_sums, x_sums + 2, offset, tokens), by_first, tokens);
    }
    first = widened(less_offset(first, x_sums, NULL, offset, tokens), by_first, tokens);
    const sums second = add_columns(none, b->w + 256, q + 16, tokens);
    return add_sums(first, widened(less_offset(second, x_sums + 2, NULL, offset, tokens), by_second, tokens));
}

/* Of eight rows: the scales, and the minima where there are some. */
typedef struct rows8 {
    __m256 d, m;
} rows8;

ST_INLINE rows8 load_rows8(const block16 *b, uint32_t half, minimum min) {
    const __m256 d = _mm256_load_ps(b->d + 8 * half);
    return (rows8){d, min == NO_MIN ? d : _mm256_load_ps(b->m + 8 * half)};
}

/* One half (8 rows) of one token: a + float(dot) * (d * dx), and the minimum. */
ST_INLINE __m256 add_half(__m256 a, __m256i dot, rows8 rows, const block16 *b, uint32_t half, minimum min, __m256 dx,
                          __m256 ds, const int16_t *x_sums) {
    a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(rows.d, dx), a);
    if (min == MIN) a = _mm256_fmadd_ps(rows.m, ds, a);
    if (min == TWO_MINS) {
        const __m256i sum = add32(_mm256_madd_epi16(load256(b->min[0] + 16 * half), broadcast4(x_sums)),
                                  _mm256_madd_epi16(load256(b->min[1] + 16 * half), broadcast4(x_sums + 2)));
        a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(rows.m, dx), a);
    }
    return a;
}

/* Some tokens (up to four, from `first` on) of a panel's block x times an unpacked block. */
ST_INLINE void add_tokens(float acc[][ST_STRIP], const block16 *b, const uint8_t *x, uint32_t n, uint32_t first,
                          int tokens, way how, int offset, minimum min) {
    /* Keeps the compiler from loading all weights before the loop over tokens: they do not fit the registers. */
    __asm__ volatile("" : : "r"(b) : "memory");
    const float *d = st_qblock_d(x, n) + first, *ds = d + n;
    const int16_t *x_sums = st_qblock_sums(x, n) + 4 * (size_t)first;
    const sums s = dots(b, x + 32 * (size_t)first, x_sums, tokens, how, offset);
    const rows8 lo = load_rows8(b, 0, min), hi = load_rows8(b, 1, min);
#define TOKEN(t)                                                                                                       \
    {                                                                                                                  \
        float *to = acc[first + (t)];                                                                                  \
        const __m256 dx = _mm256_broadcast_ss(d + (t)), sx = _mm256_broadcast_ss(ds + (t));                            \
        const __m256 a = add_half(_mm256_loadu_ps(to), s.lo##t, lo, b, 0, min, dx, sx, x_sums + 4 * (t));              \
        const __m256 c = add_half(_mm256_loadu_ps(to + 8), s.hi##t, hi, b, 1, min, dx, sx, x_sums + 4 * (t));          \
        _mm256_storeu_ps(to, a);                                                                                       \
        _mm256_storeu_ps(to + 8, c);                                                                                   \
    }
    FOR_TOKENS(TOKEN)
#undef TOKEN
}

ST_INLINE void add_block(float acc[][ST_STRIP], const block16 *b, const uint8_t *x, uint32_t n, way how, int offset,
                         minimum min) {
    uint32_t t = 0;
    for (; t + 4 <= n; t += 4) add_tokens(acc, b, x, n, t, 4, how, offset, min);
    if (n - t == 3)
        add_tokens(acc, b, x, n, t, 3, how, offset, min);
    else if (n - t == 2)
        add_tokens(acc, b, x, n, t, 2, how, offset, min);
    else if (n - t == 1)
        add_tokens(acc, b, x, n, t, 1, how, offset, min);
}

/* `blocks` of 32 columns make a tile; the weights' offset is 2^offset, or none when that is 0. */
ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      unpack_fn *unpack, int tile_bytes, int blocks, way how, int offset, minimum min) {
    const uint32_t n = panel->n;
    float acc[ST_PANEL][ST_STRIP];
    block16 b;
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *tile = w->data + s * w->strip_bytes, *x = panel->quant;
        memset(acc, 0, n * sizeof(acc[0]));
        for (uint32_t k = 0; k < w->cols; k += 32 * (uint32_t)blocks, tile += tile_bytes)
            for (int i = 0; i < blocks; i++, x += (size_t)n * ST_QBLOCK_BYTES) {
                fetch_ahead(tile + i * (tile_bytes / blocks), tile_bytes / blocks);
                unpack(&b, tile, (uint32_t)i);
                add_block(acc, &b, x, n, how, offset, min);
            }
        for (uint32_t t = 0; t < n; t++) memcpy(y + t * ldy + (size_t)s * ST_STRIP, acc[t], sizeof(acc[t]));
    }
}

#define MATMUL(format, tile_bytes, blocks, how, offset, min)                                                           \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_avx2) {                                                                   \
        if (panel->n == 1)                                                                                             \
            st_turns_range(w, panel, strip_lo, strip_hi, y, st_turn_##format##_avx2, ST_TURN_AVX2);                    \
        else                                                                                                           \
            matmul(w, panel, strip_lo, strip_hi, y, ldy, unpack_##format, tile_bytes, blocks, how, offset, min);       \
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
