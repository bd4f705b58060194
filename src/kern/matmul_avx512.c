/* SPDX-License-Identifier: MIT
 * Products of quantized matrices with AVX-512 VNNI. A register is a vector of the layout: 16 rows x 4 columns. Each
 * block of 16 rows x 32 columns is unpacked once, into eight registers, and then meets all tokens of the panel; one
 * token's sums stay in a register, many tokens' wait in the first cache. The order of sums stands in avx2.h. */
#include "kern/matmul_avx512.h"

#include "gguf/blocks.h"
#include "kern/avx512.h"

/* How the sum of a block is made of the byte products of its first and second 16 columns. */
typedef enum way {
    PLAIN,         /* their sum */
    SCALED,        /* times a scale of the row */
    SCALED_HALVES, /* each times its own */
} way;

/* What is added beside: nothing, the minimum of the row times the sum of activations, or Q2_K's two of them. */
typedef enum minimum { NO_MIN, MIN, TWO_MINS } minimum;

/* Columns 4j..4j+3 in wj. */
typedef struct block {
    __m512i w0, w1, w2, w3, w4, w5, w6, w7;
    __m512 d, m;       /* m: the minimum; with TWO_MINS minus the factor of both */
    __m512 by0, by1;   /* scales, of the block or of its halves */
    __m512 min0, min1; /* TWO_MINS: of the halves */
} block;

/* Unpacks block i of a tile. */
typedef block unpack_fn(const uint8_t *tile, uint32_t i);

ST_INLINE void set_nibbles(block *b, const uint8_t *v) {
    const __m512i a0 = load512(v), a1 = load512(v + 64), a2 = load512(v + 128), a3 = load512(v + 192);
    b->w0 = bits512(a0, 15);
    b->w1 = bits512(a1, 15);
    b->w2 = bits512(a2, 15);
    b->w3 = bits512(a3, 15);
    b->w4 = bits_down512(a0, 4, 15);
    b->w5 = bits_down512(a1, 4, 15);
    b->w6 = bits_down512(a2, 4, 15);
    b->w7 = bits_down512(a3, 4, 15);
}

ST_INLINE void set_fives(block *b, const uint8_t *p) {
    const __m512i v0 = load512(p), v1 = load512(p + 64), v2 = load512(p + 128), v3 = load512(p + 192),
                  v4 = load512(p + 256);
    b->w0 = bits512(v0, 31);
    b->w1 = bits512(v1, 31);
    b->w2 = bits512(v2, 31);
    b->w3 = bits512(v3, 31);
    b->w4 = bits512(v4, 31);
    b->w5 = with_bits512(v1, 2, 0x18, bits_down512(v0, 5, 7));
    b->w6 = with_bits512(v3, 2, 0x18, bits_down512(v2, 5, 7));
    b->w7 = with_bits512(v3, 3, 16, with_bits512(v1, 4, 8, bits_down512(v4, 5, 7)));
}

ST_INLINE block unpack_q4_0(const uint8_t *tile, uint32_t i) {
    (void)i;
    block b = {.d = load_half_lanes(tile)};
    set_nibbles(&b, tile + ST_HALVES);
    return b;
}

ST_INLINE block unpack_q4_1(const uint8_t *tile, uint32_t i) {
    (void)i;
    block b = {.d = load_half_lanes(tile), .m = load_half_lanes(tile + ST_HALVES)};
    set_nibbles(&b, tile + 2 * ST_HALVES);
    return b;
}

ST_INLINE block unpack_q5_0(const uint8_t *tile, uint32_t i) {
    (void)i;
    block b = {.d = load_half_lanes(tile)};
    set_fives(&b, tile + ST_HALVES);
    return b;
}

ST_INLINE block unpack_q5_1(const uint8_t *tile, uint32_t i) {
    (void)i;
    block b = {.d = load_half_lanes(tile), .m = load_half_lanes(tile + ST_HALVES)};
    set_fives(&b, tile + 2 * ST_HALVES);
    return b;
}

ST_INLINE block unpack_q8_0(const uint8_t *tile, uint32_t i) {
    (void)i;
    const uint8_t *v = tile + ST_HALVES;
    const __m512i top = _mm512_set1_epi8(-128); /* w + 128 */
    return (block){.d = load_half_lanes(tile),
                   .w0 = _mm512_xor_si512(load512(v), top),
                   .w1 = _mm512_xor_si512(load512(v + 64), top),
                   .w2 = _mm512_xor_si512(load512(v + 128), top),
                   .w3 = _mm512_xor_si512(load512(v + 192), top),
                   .w4 = _mm512_xor_si512(load512(v + 256), top),
                   .w5 = _mm512_xor_si512(load512(v + 320), top),
                   .w6 = _mm512_xor_si512(load512(v + 384), top),
                   .w7 = _mm512_xor_si512(load512(v + 448), top)};
}

/* The values that codes stand for, plus 128. */
ST_INLINE void map_iq4(block *b) {
    const __m128i values = _mm_xor_si128(_mm_loadu_si128((const __m128i *)st_iq4_values), _mm_set1_epi8(-128));
    const __m512i table = _mm512_broadcast_i32x4(values);
    b->w0 = _mm512_shuffle_epi8(table, b->w0);
    b->w1 = _mm512_shuffle_epi8(table, b->w1);
    b->w2 = _mm512_shuffle_epi8(table, b->w2);
    b->w3 = _mm512_shuffle_epi8(table, b->w3);
    b->w4 = _mm512_shuffle_epi8(table, b->w4);
    b->w5 = _mm512_shuffle_epi8(table, b->w5);
    b->w6 = _mm512_shuffle_epi8(table, b->w6);
    b->w7 = _mm512_shuffle_epi8(table, b->w7);
}

ST_INLINE block unpack_iq4_nl(const uint8_t *tile, uint32_t i) {
    block b = unpack_q4_0(tile, i);
    map_iq4(&b);
    return b;
}

ST_INLINE block unpack_iq4_xs(const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_IQ4_XS;
    block b = {.d = load_half_lanes(tile), .by0 = signed_byte_lanes(p + 16 * (i % 2))};
    set_nibbles(&b, p + 32 + ST_NIBBLES * (i % 2));
    map_iq4(&b);
    return b;
}

/* Scales and minima of Q4_K and Q5_K, the block's at head[row] and head[32 + row]. */
ST_INLINE block scales_k(const uint8_t *tile, const uint8_t *head) {
    return (block){.d = load_half_lanes(tile),
                   .m = _mm512_mul_ps(negated(load_half_lanes(tile + ST_HALVES)), byte_lanes(head + 32)),
                   .by0 = byte_lanes(head)};
}

ST_INLINE block unpack_q4_k(const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q4_K;
    block b = scales_k(tile, p + 16 * (i % 2));
    set_nibbles(&b, p + 64 + ST_NIBBLES * (i % 2));
    return b;
}

ST_INLINE block unpack_q5_k(const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q5_K;
    block b = scales_k(tile, p + 16 * (i % 2));
    set_fives(&b, p + 64 + ST_FIVES * (i % 2));
    return b;
}

/* The fourth value of "sixes 16". */
ST_INLINE __m512i sixes_last(__m512i v0, __m512i v1, __m512i v2) {
    return with_bits512(v2, 2, 48, with_bits512(v1, 4, 12, bits_down512(v0, 6, 3)));
}

ST_INLINE block unpack_q6_k(const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q6_K, *head = p + 32 * (i % 2);
    const uint8_t *v = p + 64 + 2 * ST_SIXES * (i % 2);
    const __m512i a0 = load512(v), a1 = load512(v + 64), a2 = load512(v + 128);
    const __m512i c0 = load512(v + 192), c1 = load512(v + 256), c2 = load512(v + 320);
    return (block){.d = load_half_lanes(tile),
                   .by0 = signed_byte_lanes(head),
                   .by1 = signed_byte_lanes(head + 16),
                   .w0 = bits512(a0, 63),
                   .w1 = bits512(a1, 63),
                   .w2 = bits512(a2, 63),
                   .w3 = sixes_last(a0, a1, a2),
                   .w4 = bits512(c0, 63),
                   .w5 = bits512(c1, 63),
                   .w6 = bits512(c2, 63),
                   .w7 = sixes_last(c0, c1, c2)};
}

/* Scales in the low nibbles of sixteen bytes, minima in the high ones. */
ST_INLINE __m512 low_nibble_lanes(const uint8_t *p) {
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm512_cvtepi32_ps(_mm512_and_si512(bytes, _mm512_set1_epi32(15)));
}
ST_INLINE __m512 high_nibble_lanes(const uint8_t *p) {
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(bytes, 4));
}

ST_INLINE block unpack_q2_k(const uint8_t *tile, uint32_t i) {
    const uint8_t *p = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q2_K, *head = p + 32 * (i % 2);
    const uint8_t *v = p + 64 + 2 * ST_VECTOR * (i % 2);
    const __m512i a = load512(v), c = load512(v + 64);
    return (block){.d = load_half_lanes(tile),
                   .m = negated(load_half_lanes(tile + ST_HALVES)),
                   .by0 = low_nibble_lanes(head),
                   .by1 = low_nibble_lanes(head + 16),
                   .min0 = high_nibble_lanes(head),
                   .min1 = high_nibble_lanes(head + 16),
                   .w0 = bits512(a, 3),
                   .w1 = bits_down512(a, 2, 3),
                   .w2 = bits_down512(a, 4, 3),
                   .w3 = bits_down512(a, 6, 3),
                   .w4 = bits512(c, 3),
                   .w5 = bits_down512(c, 2, 3),
                   .w6 = bits_down512(c, 4, 3),
                   .w7 = bits_down512(c, 6, 3)};
}

/* One token's part of a panel's block. */
typedef struct token {
    const uint8_t *q, *sums;
    const uint8_t *d, *ds;
} token;

ST_INLINE token token_at(const uint8_t *x, uint32_t n, uint32_t t) {
    return (token){.q = x + 32 * (size_t)t,
                   .d = x + 32 * (size_t)n + 4 * t,
                   .ds = x + 36 * (size_t)n + 4 * t,
                   .sums = x + 40 * (size_t)n + 8 * t};
}

/* The sum of the activations of half a block, times `by`. */
ST_INLINE __m512i times_sum(int by, const uint8_t *sums) {
    if (by == 0) return _mm512_setzero_si512();
    return _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_set1_epi16((short)by), spread4(sums));
}

/* acc plus one block times one token. */
ST_INLINE __m512 add_block(__m512 acc, const block *b, token x, way how, int offset, minimum min) {
    __m512i first = times_sum(-offset, x.sums), second = times_sum(-offset, x.sums + 4);
    first = _mm512_dpbusd_epi32(first, b->w0, spread4(x.q));
    second = _mm512_dpbusd_epi32(second, b->w4, spread4(x.q + 16));
    first = _mm512_dpbusd_epi32(first, b->w1, spread4(x.q + 4));
    second = _mm512_dpbusd_epi32(second, b->w5, spread4(x.q + 20));
    first = _mm512_dpbusd_epi32(first, b->w2, spread4(x.q + 8));
    second = _mm512_dpbusd_epi32(second, b->w6, spread4(x.q + 24));
    first = _mm512_dpbusd_epi32(first, b->w3, spread4(x.q + 12));
    second = _mm512_dpbusd_epi32(second, b->w7, spread4(x.q + 28));
    __m512 dot;
    if (how == SCALED_HALVES)
        dot = _mm512_fmadd_ps(_mm512_cvtepi32_ps(second), b->by1, _mm512_mul_ps(_mm512_cvtepi32_ps(first), b->by0));
    else
        dot = _mm512_cvtepi32_ps(_mm512_add_epi32(first, second));
    if (how == SCALED) dot = _mm512_mul_ps(dot, b->by0);
    const __m512 dx = _mm512_castsi512_ps(spread4(x.d));
    acc = _mm512_fmadd_ps(dot, _mm512_mul_ps(b->d, dx), acc);
    if (min == MIN) acc = _mm512_fmadd_ps(b->m, _mm512_castsi512_ps(spread4(x.ds)), acc);
    if (min == TWO_MINS) {
        const __m512 sum0 = _mm512_cvtepi32_ps(times_sum(1, x.sums)),
                     sum1 = _mm512_cvtepi32_ps(times_sum(1, x.sums + 4));
        const __m512 sum = _mm512_fmadd_ps(b->min1, sum1, _mm512_mul_ps(b->min0, sum0));
        acc = _mm512_fmadd_ps(sum, _mm512_mul_ps(b->m, dx), acc);
    }
    return acc;
}

/* `blocks` of 32 columns make a tile. */
ST_INLINE void matvec(const st_matrix *w, const uint8_t *quant, uint32_t lo, uint32_t hi, float *y, unpack_fn *unpack,
                      int tile_bytes, int blocks, way how, int offset, minimum min) {
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *tile = w->data + s * w->strip_bytes, *x = quant;
        __m512 acc = _mm512_setzero_ps();
        for (uint32_t k = 0; k < w->cols; k += 32 * (uint32_t)blocks, tile += tile_bytes)
            for (int i = 0; i < blocks; i++, x += ST_QBLOCK_BYTES) {
                fetch_ahead(tile + i * (tile_bytes / blocks), tile_bytes / blocks);
                const block b = unpack(tile, (uint32_t)i);
                acc = add_block(acc, &b, token_at(x, 1, 0), how, offset, min);
            }
        _mm512_storeu_ps(y + (size_t)s * ST_STRIP, acc);
    }
}

ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      unpack_fn *unpack, int tile_bytes, int blocks, way how, int offset, minimum min) {
    const uint32_t n = panel->n;
    _Alignas(64) float acc[ST_PANEL][ST_STRIP];
    for (uint32_t s = lo; s < hi; s++) {
        const uint8_t *tile = w->data + s * w->strip_bytes, *x = panel->quant;
        memset(acc, 0, n * sizeof(acc[0]));
        for (uint32_t k = 0; k < w->cols; k += 32 * (uint32_t)blocks, tile += tile_bytes)
            for (int i = 0; i < blocks; i++, x += (size_t)n * ST_QBLOCK_BYTES) {
                fetch_ahead(tile + i * (tile_bytes / blocks), tile_bytes / blocks);
                const block b = unpack(tile, (uint32_t)i);
                for (uint32_t t = 0; t < n; t++)
                    _mm512_store_ps(acc[t], add_block(_mm512_load_ps(acc[t]), &b, token_at(x, n, t), how, offset, min));
            }
        for (uint32_t t = 0; t < n; t++) memcpy(y + t * ldy + (size_t)s * ST_STRIP, acc[t], sizeof(acc[t]));
    }
}

#define MATMUL(format, tile_bytes, blocks, how, offset, min)                                                           \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_avx512) {                                                                 \
        if (panel->n == 1)                                                                                             \
            matvec(w, panel->quant, strip_lo, strip_hi, y, unpack_##format, tile_bytes, blocks, how, offset, min);     \
        else                                                                                                           \
            matmul(w, panel, strip_lo, strip_hi, y, ldy, unpack_##format, tile_bytes, blocks, how, offset, min);       \
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
