/* SPDX-License-Identifier: MIT
 * Attention with AVX2. Scores and weighted values are both sums of outer products, of up to four heads and up to 32
 * positions or dimensions, so one register tile does both; each (head, position) and (head, dimension) is one chain of
 * fused multiply-adds in a fixed order. Blocks of positions are the outer loop, so that all tokens of a call use a
 * block of the cache while it is near. Heads of one token stand together in a tile: they see the same positions. */
#include "kern/math_avx2.h"

#include <math.h>

enum { TILE_HEADS = 4, TILE_VECTORS = 4, BATCH = 64 /* rows (token, head) that run through the blocks together */ };

typedef __m256 items_fn(const void *items, size_t i); /* items i..i+7 as floats */

ST_INLINE __m256 items_f16(const void *items, size_t i) { return load_halves((const uint16_t *)items + i); }
ST_INLINE __m256 items_f32(const void *items, size_t i) { return _mm256_loadu_ps((const float *)items + i); }

/* Head h, vector v of the tile is a[h][v]. */
typedef struct tile {
    __m256 a00, a01, a02, a03, a10, a11, a12, a13, a20, a21, a22, a23, a30, a31, a32, a33;
} tile;

/* The vectors of each step: offsets in items of the up to four of one step. */
typedef struct operand {
    const void *items;
    size_t start, step;
    size_t second_pair; /* offset of vectors 2 and 3; vectors 1 and 3 follow 0 and 2 */
    const char *ahead;  /* memory to fetch meanwhile, ahead_step bytes a step */
    size_t ahead_step;
} operand;

#define FOR_HEADS(X, v)                                                                                                \
    X(0, v)                                                                                                            \
    if (heads > 1) X(1, v)                                                                                             \
    if (heads > 2) X(2, v)                                                                                             \
    if (heads > 3) X(3, v)

/* tile += sum over i < n of factors[h][i] * vectors of step i */
ST_INLINE tile add_products(tile t, const float *factors, size_t head_step, const operand *b, uint32_t n, int heads,
                            int vectors, items_fn *items) {
    const size_t offsets[TILE_VECTORS] = {0, 8, b->second_pair, b->second_pair + 8};
    const char *ahead = b->ahead;
    size_t at = b->start;
    for (uint32_t i = 0; i < n; i++, at += b->step, factors++) {
        _mm_prefetch(ahead, _MM_HINT_T0);
        ahead += b->ahead_step;
        __m256 x0 = _mm256_broadcast_ss(factors), x1 = x0, x2 = x0, x3 = x0;
        if (heads > 1) x1 = _mm256_broadcast_ss(factors + head_step);
        if (heads > 2) x2 = _mm256_broadcast_ss(factors + 2 * head_step);
        if (heads > 3) x3 = _mm256_broadcast_ss(factors + 3 * head_step);
        __m256 w;
#define PRODUCT(h, v)                                                                                                  \
    {                                                                                                                  \
        t.a##h##v = _mm256_fmadd_ps(x##h, w, t.a##h##v);                                                               \
        HOLD(t.a##h##v);                                                                                               \
    }
#define VECTOR(v)                                                                                                      \
    if (vectors > (v)) {                                                                                               \
        w = items(b->items, at + offsets[v]);                                                                          \
        FOR_HEADS(PRODUCT, v)                                                                                          \
    }
        VECTOR(0)
        VECTOR(1)
        VECTOR(2)
        VECTOR(3)
#undef VECTOR
#undef PRODUCT
    }
    return t;
}

#define FOR_TILE(X)                                                                                                    \
    FOR_HEADS(X, 0)                                                                                                    \
    if (vectors > 1) {                                                                                                 \
        FOR_HEADS(X, 1)                                                                                                \
    }                                                                                                                  \
    if (vectors > 2) {                                                                                                 \
        FOR_HEADS(X, 2)                                                                                                \
    }                                                                                                                  \
    if (vectors > 3) {                                                                                                 \
        FOR_HEADS(X, 3)                                                                                                \
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
    const char *k, *v;           /* [4][head_dim][16], [64][head_dim] */
    uint32_t lo, hi;             /* inclusive, 0..63 */
    const char *next_k, *next_v; /* the next block, to be fetched as fast as this one is used; or this one */
    bool fetch;
} block;

/* scores[h][p] = q . k for the positions p of the sub-blocks that the group sees; others are left alone. */
ST_INLINE void block_scores(float scores[][ST_ATTN_BLOCK], const group *g, const block *b, uint32_t head_dim, int heads,
                            int vectors, items_fn *items, size_t item_bytes) {
    const uint32_t wide = 8 * (uint32_t)vectors;
    for (uint32_t p = b->lo / wide * wide; p <= b->hi; p += wide) {
        const operand keys = {b->k,
                              (size_t)p * head_dim,
                              16,
                              (size_t)16 * head_dim,
                              b->next_k + (b->fetch ? p * head_dim * item_bytes : 0),
                              b->fetch ? wide * item_bytes : 0};
        tile t;
#define ZERO(h, v) t.a##h##v = _mm256_setzero_ps();
        FOR_TILE(ZERO)
#undef ZERO
        t = add_products(t, g->q, head_dim, &keys, head_dim, heads, vectors, items);
#define STORE(h, v) _mm256_storeu_ps(scores[h] + p + 8 * (v), t.a##h##v);
        FOR_TILE(STORE)
#undef STORE
    }
}

/* Ones in the lanes of the eight positions from p on that are seen. */
ST_INLINE __m256 seen(const block *b, uint32_t p) {
    const __m256i at = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)p));
    const __m256i unseen = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)b->lo), at),
                                           _mm256_cmpgt_epi32(at, _mm256_set1_epi32((int)b->hi)));
    return _mm256_castsi256_ps(_mm256_xor_si256(unseen, _mm256_set1_epi32(-1)));
}

/* Turns a head's scores into weights exp(scale * score - top), and 0 for positions not seen that share a vector with
 * seen ones (there are none in a full block). Returns by what the sums so far have to be multiplied. */
ST_INLINE float weigh(float s[ST_ATTN_BLOCK], const block *b, float scale, float *top, float *sum, bool full) {
    const __m256 factor = _mm256_set1_ps(scale), minus_infinity = _mm256_set1_ps(-INFINITY);
    __m256 high = minus_infinity, total = _mm256_setzero_ps();
    for (uint32_t p = b->lo / 8 * 8; p <= b->hi; p += 8) {
        const __m256 score = _mm256_loadu_ps(s + p);
        high = _mm256_max_ps(high, full ? score : _mm256_blendv_ps(minus_infinity, score, seen(b, p)));
    }
    const float block_top = lanes_max(high) * scale, new_top = block_top > *top ? block_top : *top;
    high = _mm256_set1_ps(new_top);
    for (uint32_t p = b->lo / 8 * 8; p <= b->hi; p += 8) {
        __m256 weight = exp_down(_mm256_fmsub_ps(_mm256_loadu_ps(s + p), factor, high));
        if (!full) weight = _mm256_and_ps(weight, seen(b, p));
        _mm256_storeu_ps(s + p, weight);
        total = _mm256_add_ps(total, weight);
    }
    const float down = _mm256_cvtss_f32(exp_down(_mm256_set1_ps(*top - new_top)));
    *top = new_top;
    *sum = *sum * down + lanes_sum(total);
    return down;
}

/* out[h][d..] = out[h][d..] * down[h] + sum over seen positions of weight * value */
ST_INLINE void add_values(const float weights[][ST_ATTN_BLOCK], const float *down, const group *g, const block *b,
                          uint32_t head_dim, uint32_t d, int heads, int vectors, items_fn *items, size_t item_bytes) {
    const operand values = {b->v,
                            (size_t)b->lo * head_dim + d,
                            head_dim,
                            16,
                            b->next_v + (b->fetch ? d * ST_ATTN_BLOCK * item_bytes : 0),
                            b->fetch ? 8 * (uint32_t)vectors * item_bytes : 0};
    float *out = g->out + d;
    tile t;
#define LOAD(h, v) t.a##h##v = _mm256_mul_ps(_mm256_loadu_ps(out + head_dim * (h) + 8 * (v)), _mm256_set1_ps(down[h]));
    FOR_TILE(LOAD)
#undef LOAD
    t = add_products(t, weights[0] + b->lo, ST_ATTN_BLOCK, &values, b->hi - b->lo + 1, heads, vectors, items);
#define STORE(h, v) _mm256_storeu_ps(out + head_dim * (h) + 8 * (v), t.a##h##v);
    FOR_TILE(STORE)
#undef STORE
}

ST_INLINE void add_block(group *g, const block *b, uint32_t head_dim, float scale, int heads, int vectors,
                         items_fn *items, size_t item_bytes) {
    float scores[TILE_HEADS][ST_ATTN_BLOCK], down[TILE_HEADS];
    const uint32_t wide = 8 * (uint32_t)vectors;
    uint32_t d = 0;
    block_scores(scores, g, b, head_dim, heads, vectors, items, item_bytes);
    const bool full = b->lo == 0 && b->hi == ST_ATTN_BLOCK - 1;
    for (int h = 0; h < heads; h++)
        down[h] = full ? weigh(scores[h], b, scale, &g->top[h], &g->sum[h], true)
                       : weigh(scores[h], b, scale, &g->top[h], &g->sum[h], false);
    for (; d + wide <= head_dim; d += wide)
        add_values(scores, down, g, b, head_dim, d, heads, vectors, items, item_bytes);
    for (; d < head_dim; d += 8) add_values(scores, down, g, b, head_dim, d, heads, 1, items, item_bytes);
}

/* The block that starts at position base, for one group. The first group of a batch fetches the next block: the
 * hardware does not foresee the strides over values, nor the jumps between keys and values (measured: twice as fast
 * from memory). */
ST_INLINE void group_block(const st_attention *a, group *g, uint32_t base, bool fetch, items_fn *items,
                           size_t item_bytes) {
    if (g->first >= base + ST_ATTN_BLOCK || g->last < base) return;
    const size_t position_bytes = a->head_dim * item_bytes, offset = base % a->capacity * position_bytes;
    const bool more = fetch && g->last - base >= ST_ATTN_BLOCK;
    const size_t next = more ? (base + ST_ATTN_BLOCK) % a->capacity * position_bytes : offset;
    const block b = {.k = (const char *)a->k + offset,
                     .v = (const char *)a->v + offset,
                     .lo = g->first > base ? g->first - base : 0,
                     .hi = g->last - base < ST_ATTN_BLOCK - 1 ? g->last - base : ST_ATTN_BLOCK - 1,
                     .next_k = (const char *)a->k + next,
                     .next_v = (const char *)a->v + next,
                     .fetch = more};
    switch (g->heads) {
    case 1: add_block(g, &b, a->head_dim, a->scale, 1, 4, items, item_bytes); break;
    case 2: add_block(g, &b, a->head_dim, a->scale, 2, 4, items, item_bytes); break;
    case 3: add_block(g, &b, a->head_dim, a->scale, 3, 4, items, item_bytes); break;
    default: add_block(g, &b, a->head_dim, a->scale, 4, 2, items, item_bytes); break;
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
        for (uint32_t d = 0; d < head_dim; d += 8)
            _mm256_storeu_ps(out + d, _mm256_div_ps(_mm256_loadu_ps(out + d), _mm256_set1_ps(g->sum[h])));
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
            for (uint32_t i = 0; i < n; i++) group_block(a, &groups[i], base, i == 0, items, item_bytes);
        for (uint32_t i = 0; i < n; i++) group_finish(&groups[i], a->head_dim);
    }
}

void st_attention_f16_avx2(const st_attention *a) { attention(a, items_f16, 2); }
void st_attention_f32_avx2(const st_attention *a) { attention(a, items_f32, 4); }
