/* SPDX-License-Identifier: MIT
 * Attention and the cache. Slots that a token must not see hold NaN throughout. */
#include "checkkern/check.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct sequence {
    uint32_t n, head_dim; /* positions */
    float *keys, *values; /* [n][head_dim] */
} sequence;

typedef struct cache {
    uint32_t capacity;
    guarded k, v;
} cache;

static cache cache_new(uint32_t capacity, uint32_t head_dim, enum st_kv_type type) {
    const size_t bytes = (size_t)capacity * head_dim * st_kv_item_bytes(type);
    cache kv = {capacity, guarded_new(bytes, 0), guarded_new(bytes, 0)};
    memset(kv.k.data, 0xff, bytes); /* NaN in either type */
    memset(kv.v.data, 0xff, bytes);
    return kv;
}

static void cache_free(cache *kv) {
    guarded_free(&kv->k);
    guarded_free(&kv->v);
}

static void cache_fill(check *c, cache *kv, const sequence *s, enum st_kv_type type, uint32_t first, uint32_t last) {
    for (uint32_t p = first; p <= last; p++)
        c->kern->kv_store[type](kv->k.data, kv->v.data, s->keys + (size_t)p * s->head_dim,
                                s->values + (size_t)p * s->head_dim, p % kv->capacity, s->head_dim);
    if (!guarded_intact(&kv->k) || !guarded_intact(&kv->v)) check_fail(c, "kv_store wrote outside");
}

static void check_store(check *c, const sequence *s, enum st_kv_type type) {
    cache got = cache_new(64, s->head_dim, type), want = cache_new(64, s->head_dim, type);
    check ref = *c;
    ref.kern = c->ref;
    cache_fill(c, &got, s, type, 0, 40);
    cache_fill(&ref, &want, s, type, 0, 40);
    if (memcmp(got.k.data, want.k.data, got.k.bytes) != 0)
        check_fail(c, "kv_store: keys of head size %u differ", s->head_dim);
    if (memcmp(got.v.data, want.v.data, got.v.bytes) != 0)
        check_fail(c, "kv_store: values of head size %u differ", s->head_dim);
    cache_free(&got);
    cache_free(&want);
}

static double item(enum st_kv_type type, float x) {
    return type == ST_KV_F16 ? st_half_to_float(st_float_to_half(x)) : x;
}

/* Softmax attention of one head as the textbook has it, and the size of an error in it: the scores' error times the
 * spread of the values. */
static void plain_head(const st_attention *a, const sequence *s, enum st_kv_type type, const float *q, uint32_t first,
                       uint32_t last, double *out, double *error) {
    double scores[1024], top = -INFINITY, sum = 0, size = 0, spread = 0;
    for (uint32_t p = first; p <= last; p++) {
        double dot = 0, parts = 0;
        for (uint32_t d = 0; d < a->head_dim; d++) {
            const double product = q[d] * item(type, s->keys[(size_t)p * a->head_dim + d]);
            dot += product;
            parts += fabs(product);
        }
        scores[p - first] = dot * a->scale;
        size = fmax(size, parts * fabs(a->scale));
        top = fmax(top, dot * a->scale);
    }
    for (uint32_t d = 0; d < a->head_dim; d++) out[d] = 0;
    for (uint32_t p = first; p <= last; p++) {
        const double weight = exp(scores[p - first] - top);
        sum += weight;
        for (uint32_t d = 0; d < a->head_dim; d++) {
            const double value = item(type, s->values[(size_t)p * a->head_dim + d]);
            out[d] += weight * value;
            spread = fmax(spread, fabs(value));
        }
    }
    for (uint32_t d = 0; d < a->head_dim; d++) out[d] /= sum;
    *error = spread * ((size + 1) * sqrt(a->head_dim) + sqrt(last - first + 1)) * 8 * FLT_EPSILON;
}

static uint32_t first_of(const st_attention *a, uint32_t t) {
    const uint32_t last = a->last + t;
    return a->window && last + 1 > a->window && last + 1 - a->window > a->first ? last + 1 - a->window : a->first;
}

static void compare_plain(check *c, const st_attention *a, const sequence *s, enum st_kv_type type) {
    double want[512], error;
    for (uint32_t t = 0; t < a->n_tokens; t++)
        for (uint32_t h = 0; h < a->n_heads; h++) {
            const float *q = a->q + t * a->q_stride + h * a->head_dim,
                        *out = a->out + t * a->out_stride + h * a->head_dim;
            plain_head(a, s, type, q, first_of(a, t), a->last + t, want, &error);
            for (uint32_t d = 0; d < a->head_dim; d++)
                if (!close_enough(out[d], (float)want[d], error)) {
                    check_fail(c, "attention over %u to %u, head %u of %u, size %u, token %u: %.8g, not %.8g",
                               first_of(a, t), a->last + t, h, a->n_heads, a->head_dim, t, out[d], want[d]);
                    return;
                }
        }
}

/* Each token alone, with some of its heads, over a ring of another size that holds only what the token may see: the
 * same bits. */
static void check_alone(check *c, const st_attention *a, const sequence *s, enum st_kv_type type) {
    const uint32_t head = random_below(c, a->n_heads), heads = 1 + random_below(c, a->n_heads - head);
    const size_t width = (size_t)heads * a->head_dim, at = (size_t)head * a->head_dim;
    guarded out = guarded_new(width * sizeof(float), 0);
    for (uint32_t t = 0; t < a->n_tokens; t++) {
        st_attention one = *a;
        one.first = first_of(a, t);
        one.last = a->last + t;
        const uint32_t seen = one.last - one.first + 1, spare = ST_ATTN_BLOCK * random_below(c, 3);
        cache kv = cache_new((seen + ST_ATTN_BLOCK - 1) / ST_ATTN_BLOCK * ST_ATTN_BLOCK + spare, a->head_dim, type);
        cache_fill(c, &kv, s, type, one.first, one.last);
        one.k = kv.k.data;
        one.v = kv.v.data;
        one.capacity = kv.capacity;
        one.window = 0;
        one.n_tokens = 1;
        one.n_heads = heads;
        one.q += t * a->q_stride + at;
        one.out = out.data;
        c->kern->attention[type](&one);
        if (memcmp(out.data, a->out + t * a->out_stride + at, width * sizeof(float)) != 0)
            check_fail(c, "attention of token %u of %u, heads %u to %u of %u, at %u to %u differs from those alone", t,
                       a->n_tokens, head, head + heads - 1, a->n_heads, one.first, one.last);
        if (!guarded_intact(&out)) check_fail(c, "attention wrote outside");
        cache_free(&kv);
    }
    guarded_free(&out);
}

static void check_case(check *c, const sequence *s, enum st_kv_type type, st_attention a) {
    const uint32_t seen = a.last + a.n_tokens - first_of(&a, 0);
    cache kv = cache_new((seen + ST_ATTN_BLOCK - 1) / ST_ATTN_BLOCK * ST_ATTN_BLOCK, a.head_dim, type);
    cache_fill(c, &kv, s, type, first_of(&a, 0), a.last + a.n_tokens - 1);
    a.k = kv.k.data;
    a.v = kv.v.data;
    a.capacity = kv.capacity;
    a.q_stride = (size_t)a.n_heads * a.head_dim + random_below(c, 5);
    a.out_stride = (size_t)a.n_heads * a.head_dim + 3;
    guarded q = guarded_new(a.n_tokens * a.q_stride * sizeof(float), 4 * random_below(c, 16));
    guarded out = guarded_new(a.n_tokens * a.out_stride * sizeof(float), 4 * random_below(c, 16));
    random_floats(c, q.data, a.n_tokens * a.q_stride);
    a.q = q.data;
    a.out = out.data;
    c->kern->attention[type](&a);
    bool inside = guarded_intact(&out);
    for (uint32_t t = 0; t < a.n_tokens; t++)
        inside &= poisoned(a.out + t * a.out_stride + (size_t)a.n_heads * a.head_dim, 3 * sizeof(float));
    if (!inside) check_fail(c, "attention wrote outside its heads");
    compare_plain(c, &a, s, type);
    check_alone(c, &a, s, type);
    guarded_free(&q);
    guarded_free(&out);
    cache_free(&kv);
    c->cases++;
}

void check_attention(check *c) {
    static const uint32_t sizes[] = {8, 16, 24, 64, 80, 256};
    static const uint32_t heads[] = {1, 2, 3, 4, 5, 8, 9};
    sequence s = {.n = 600, .keys = st_alloc(600 * 256, sizeof(float)), .values = st_alloc(600 * 256, sizeof(float))};
    for (uint32_t round = 0; round < 48; round++) {
        s.head_dim = sizes[round % 6];
        random_floats(c, s.keys, (size_t)s.n * s.head_dim);
        random_floats(c, s.values, (size_t)s.n * s.head_dim);
        for (int type = ST_KV_F16; type <= ST_KV_F32; type++) {
            check_store(c, &s, (enum st_kv_type)type);
            const uint32_t tokens = round % 2 ? 1 : 1 + random_below(c, 20), last = random_below(c, 250);
            st_attention a = {.n_tokens = tokens,
                              .n_heads = heads[random_below(c, 7)],
                              .head_dim = s.head_dim,
                              .last = last,
                              .scale = 1 / sqrtf((float)s.head_dim)};
            if (round % 3 == 1) a.first = random_below(c, last + 1);
            if (round % 3 == 2) a.window = 1 + random_below(c, 150);
            check_case(c, &s, (enum st_kv_type)type, a);
        }
    }
    st_free(s.keys);
    st_free(s.values);
}
