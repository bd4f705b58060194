/* SPDX-License-Identifier: MIT
 * Attention with NEON, for all tables of arm64. Scores and weighted values are both sums of outer products, of up to
 * four heads and 16 positions or dimensions, so one register tile does both; each (head, position) and (head,
 * dimension) is one chain of fused multiply-adds in a fixed order. Blocks of positions are the outer loop, so that all
 * tokens of a call use a block of the cache while it is near. Heads of one token stand together in a tile: they see the
 * same positions. */
#include "kern/math_neon.h"

#include <math.h>

enum { TILE_HEADS = 4, WIDE = 16, BATCH = 64 /* rows (token, head) that run through the blocks together */ };

typedef float32x4_t items_fn(const void *items, size_t i); /* items i..i+3 as floats */

ST_INLINE float32x4_t items_f16(const void *items, size_t i) {
    return load_halves((const uint16_t *)items + i);
}
ST_INLINE float32x4_t items_f32(const void *items, size_t i) {
    return vld1q_f32((const float *)items + i);
}

/* Head h, vector v of the tile is a[h][v]. */
typedef struct tile {
    float32x4_t a00, a01, a02, a03, a10, a11, a12, a13, a20, a21, a22, a23, a30, a31, a32, a33;
} tile;

#define FOR_HEADS(X, v)                                                                                                \
    X(0, v)                                                                                                            \
    if (heads > 1) X(1, v)                                                                                             \
    if (heads > 2) X(2, v)                                                                                             \
    if (heads > 3) X(3, v)

#define FOR_TILE(X)                                                                                                    \
    FOR_HEADS(X, 0)                                                                                                    \
    FOR_HEADS(X, 1)                                                                                                    \
    if (vectors > 2) {                                                                                                 \
        FOR_HEADS(X, 2)                                                                                                \
        FOR_HEADS(X, 3)                                                                                                \
    }

/* tile += sum over i < n of factors[h][i] * items at + i * step .. of it */
ST_INLINE tile add_products(tile t, const float *factors, size_t head_step, const void *matrix, size_t at, size_t step,
                            uint32_t n, int heads, int vectors, items_fn *items) {
    for (uint32_t i = 0; i < n; i++, at += step, factors++) {
        float32x4_t w;
#define PRODUCT(h, v) t.a##h##v = vfmaq_n_f32(t.a##h##v, w, factors[head_step * (h)]);
#define VECTOR(v)                                                                                                      \
    {                                                                                                                  \
        w = items(matrix, at + 4 * (v));                                                                               \
        FOR_HEADS(PRODUCT, v)                                                                                          \
    }
        VECTOR(0)
        VECTOR(1)
        if (vectors > 2) VECTOR(2)
        if (vectors > 2) VECTOR(3)
#undef VECTOR
#undef PRODUCT
    }
    return t;
}

/* The softmax so far of one token's heads (up to four of them). */
typedef struct group {
    const float *q; /* [heads][head_dim] */
    float *out;     /* [heads][head_dim] */
    uint32_t first, last;
    uint32_t heads;
    float top[TILE_HEADS], sum[TILE_HEADS];
} group;

/* One block of positions in the cache, and which of it a group sees. */
typedef struct block {
    const char *k, *v; /* [4][head_dim][16], [64][head_dim] */
    uint32_t lo, hi;   /* inclusive, 0..63 */
} block;

/* scores[h][p] = q . k for the positions p of the sub-blocks that the group sees; others are left alone. */
ST_INLINE void block_scores(float scores[][ST_ATTN_BLOCK], const group *g, const block *b, uint32_t head_dim, int heads,
                            items_fn *items) {
    const int vectors = 4;
    for (uint32_t p = b->lo / WIDE * WIDE; p <= b->hi; p += WIDE) {
        tile t;
#define ZERO(h, v) t.a##h##v = vdupq_n_f32(0);
        FOR_TILE(ZERO)
#undef ZERO
        t = add_products(t, g->q, head_dim, b->k, (size_t)p * head_dim, 16, head_dim, heads, vectors, items);
#define STORE(h, v) vst1q_f32(scores[h] + p + 4 * (v), t.a##h##v);
        FOR_TILE(STORE)
#undef STORE
    }
}

/* Ones in the lanes of the four positions from p on that are seen. */
ST_INLINE uint32x4_t seen(const block *b, uint32_t p) {
    const uint32x4_t at = vaddq_u32((uint32x4_t){0, 1, 2, 3}, vdupq_n_u32(p));
    return vandq_u32(vcgeq_u32(at, vdupq_n_u32(b->lo)), vcleq_u32(at, vdupq_n_u32(b->hi)));
}

/* Turns a head's scores into weights exp(scale * score - top), and 0 for positions not seen that share a vector with
 * seen ones. Returns by what the sums so far have to be multiplied. */
ST_INLINE float weigh(float s[ST_ATTN_BLOCK], const block *b, float scale, float *top, float *sum) {
    const float32x4_t minus_infinity = vdupq_n_f32(-INFINITY);
    float32x4_t high = minus_infinity, total = vdupq_n_f32(0);
    for (uint32_t p = b->lo / 4 * 4; p <= b->hi; p += 4)
        high = vmaxnmq_f32(high, vbslq_f32(seen(b, p), vld1q_f32(s + p), minus_infinity));
    const float block_top = vmaxnmvq_f32(high) * scale, new_top = block_top > *top ? block_top : *top;
    const float32x4_t less = vdupq_n_f32(-new_top);
    for (uint32_t p = b->lo / 4 * 4; p <= b->hi; p += 4) {
        float32x4_t weight = exp_down(vfmaq_n_f32(less, vld1q_f32(s + p), scale));
        weight = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(weight), seen(b, p)));
        vst1q_f32(s + p, weight);
        total = vaddq_f32(total, weight);
    }
    const float down = vgetq_lane_f32(exp_down(vdupq_n_f32(*top - new_top)), 0);
    *top = new_top;
    *sum = *sum * down + vaddvq_f32(total);
    return down;
}

/* out[h][d..] = out[h][d..] * down[h] + sum over seen positions of weight * value */
ST_INLINE void add_values(const float weights[][ST_ATTN_BLOCK], const float *down, const group *g, const block *b,
                          uint32_t head_dim, uint32_t d, int heads, int vectors, items_fn *items) {
    float *out = g->out + d;
    tile t;
#define LOAD(h, v) t.a##h##v = vmulq_n_f32(vld1q_f32(out + head_dim * (h) + 4 * (v)), down[h]);
    FOR_TILE(LOAD)
#undef LOAD
    t = add_products(t, weights[0] + b->lo, ST_ATTN_BLOCK, b->v, (size_t)b->lo * head_dim + d, head_dim,
                     b->hi - b->lo + 1, heads, vectors, items);
#define STORE(h, v) vst1q_f32(out + head_dim * (h) + 4 * (v), t.a##h##v);
    FOR_TILE(STORE)
#undef STORE
}

ST_INLINE void add_block(group *g, const block *b, uint32_t head_dim, float scale, int heads, items_fn *items) {
    float scores[TILE_HEADS][ST_ATTN_BLOCK], down[TILE_HEADS];
    uint32_t d = 0;
    block_scores(scores, g, b, head_dim, heads, items);
    for (int h = 0; h < heads; h++) down[h] = weigh(scores[h], b, scale, &g->top[h], &g->sum[h]);
    const float(*weights)[ST_ATTN_BLOCK] = (const float(*)[ST_ATTN_BLOCK])scores;
    for (; d + WIDE <= head_dim; d += WIDE) add_values(weights, down, g, b, head_dim, d, heads, 4, items);
    if (d < head_dim) add_values(weights, down, g, b, head_dim, d, heads, 2, items); /* a multiple of 8 */
}

/* The block that starts at position base, for one group. */
ST_INLINE void group_block(const st_attention *a, group *g, uint32_t base, items_fn *items, size_t item_bytes) {
    if (g->first >= base + ST_ATTN_BLOCK || g->last < base) return;
    const size_t offset = base % a->capacity * a->head_dim * item_bytes;
    const block b = {.k = (const char *)a->k + offset,
                     .v = (const char *)a->v + offset,
                     .lo = g->first > base ? g->first - base : 0,
                     .hi = g->last - base < ST_ATTN_BLOCK - 1 ? g->last - base : ST_ATTN_BLOCK - 1};
    switch (g->heads) {
    case 1:
        add_block(g, &b, a->head_dim, a->scale, 1, items);
        break;
    case 2:
        add_block(g, &b, a->head_dim, a->scale, 2, items);
        break;
    case 3:
        add_block(g, &b, a->head_dim, a->scale, 3, items);
        break;
    default:
        add_block(g, &b, a->head_dim, a->scale, 4, items);
        break;
    }
}

static group group_start(const st_attention *a, uint32_t token, uint32_t head, uint32_t heads) {
    const uint32_t last = a->last + token, limit = a->window && last >= a->window ? last - a->window + 1 : 0;
    group g = {.q = a->q + token * a->q_stride + (size_t)head * a->head_dim,
               .out = a->out + token * a->out_stride + (size_t)head * a->head_dim,
               .first = a->first > limit ? a->first : limit,
               .last = last,
               .heads = heads};
    memset(g.out, 0, (size_t)heads * a->head_dim * sizeof(float));
    for (uint32_t h = 0; h < heads; h++) g.top[h] = -INFINITY;
    return g;
}

static void group_finish(const group *g, uint32_t head_dim) {
    for (uint32_t h = 0; h < g->heads; h++) {
        float *out = g->out + (size_t)h * head_dim;
        for (uint32_t d = 0; d < head_dim; d += 4)
            vst1q_f32(out + d, vdivq_f32(vld1q_f32(out + d), vdupq_n_f32(g->sum[h])));
    }
}

/* Splits all heads of all tokens into groups of equal size, as large as a tile, and runs BATCH of them at a time. */
ST_INLINE void attention(const st_attention *a, items_fn *items, size_t item_bytes) {
    const uint32_t parts = (a->n_heads + TILE_HEADS - 1) / TILE_HEADS, total = parts * a->n_tokens;
    group groups[BATCH];
    for (uint32_t from = 0; from < total; from += BATCH) {
        const uint32_t n = total - from < BATCH ? total - from : BATCH;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t part = (from + i) % parts, lo = part * a->n_heads / parts,
                           hi = (part + 1) * a->n_heads / parts;
            groups[i] = group_start(a, (from + i) / parts, lo, hi - lo);
        }
        const uint32_t start = groups[0].first / ST_ATTN_BLOCK * ST_ATTN_BLOCK, end = groups[n - 1].last;
        for (uint32_t base = start; base <= end; base += ST_ATTN_BLOCK)
            for (uint32_t i = 0; i < n; i++) group_block(a, &groups[i], base, items, item_bytes);
        for (uint32_t i = 0; i < n; i++) group_finish(&groups[i], a->head_dim);
    }
}

void st_attention_f16_neon(const st_attention *a) {
    attention(a, items_f16, 2);
}
void st_attention_f32_neon(const st_attention *a) {
    attention(a, items_f32, 4);
}
