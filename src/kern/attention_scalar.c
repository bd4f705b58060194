/* SPDX-License-Identifier: MIT
 * Scalar attention and KV storage: the reference of all others. Softmax runs online over blocks of positions (Milakov &
 * Gimelshein 2018): a block's largest score may raise the running maximum, then what was summed so far is scaled down.
 */
#include "kern/scalar.h"

#include <math.h>

typedef struct kv_reader {
    float (*get)(const void *items, size_t i);
} kv_reader;

static float get_f16(const void *items, size_t i) {
    return st_half_to_float(((const uint16_t *)items)[i]);
}
static float get_f32(const void *items, size_t i) {
    return ((const float *)items)[i];
}

static size_t k_index(uint32_t slot, uint32_t d, uint32_t head_dim) {
    return ((size_t)(slot / 16) * head_dim + d) * 16 + slot % 16;
}

void st_kv_store_f16_scalar(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    for (uint32_t d = 0; d < head_dim; d++) {
        ((uint16_t *)k)[k_index(slot, d, head_dim)] = st_float_to_half(key[d]);
        ((uint16_t *)v)[(size_t)slot * head_dim + d] = st_float_to_half(value[d]);
    }
}

void st_kv_store_f32_scalar(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    for (uint32_t d = 0; d < head_dim; d++) {
        ((float *)k)[k_index(slot, d, head_dim)] = key[d];
        ((float *)v)[(size_t)slot * head_dim + d] = value[d];
    }
}

static float score(const st_attention *a, const kv_reader *kv, const float *q, uint32_t slot) {
    double sum = 0;
    for (uint32_t d = 0; d < a->head_dim; d++) sum += (double)q[d] * kv->get(a->k, k_index(slot, d, a->head_dim));
    return (float)sum * a->scale;
}

/* Adds positions lo..hi, all of one block, to a head's running softmax: `top` is the largest score so far, `sum` the
 * sum of exp(score - top), `out` the sum of exp(score - top) * value. */
static void add_block(const st_attention *a, const kv_reader *kv, const float *q, float *out, uint32_t lo, uint32_t hi,
                      float *top, float *sum) {
    float scores[ST_ATTN_BLOCK], high = *top;
    for (uint32_t p = lo; p <= hi; p++) {
        scores[p - lo] = score(a, kv, q, p % a->capacity);
        if (scores[p - lo] > high) high = scores[p - lo];
    }
    const float down = expf(*top - high);
    *top = high;
    *sum *= down;
    for (uint32_t d = 0; d < a->head_dim; d++) out[d] *= down;
    for (uint32_t p = lo; p <= hi; p++) {
        const float weight = expf(scores[p - lo] - high);
        *sum += weight;
        for (uint32_t d = 0; d < a->head_dim; d++)
            out[d] += weight * kv->get(a->v, (size_t)(p % a->capacity) * a->head_dim + d);
    }
}

static void head_attention(const st_attention *a, const kv_reader *kv, const float *q, float *out, uint32_t first,
                           uint32_t last) {
    float top = -INFINITY, sum = 0;
    for (uint32_t d = 0; d < a->head_dim; d++) out[d] = 0;
    for (uint32_t p = first; p <= last;) {
        const uint32_t end = p | (ST_ATTN_BLOCK - 1), hi = end < last ? end : last;
        add_block(a, kv, q, out, p, hi, &top, &sum);
        p = hi + 1;
    }
    for (uint32_t d = 0; d < a->head_dim; d++) out[d] /= sum;
}

static void attention(const st_attention *a, const kv_reader *kv) {
    for (uint32_t t = 0; t < a->n_tokens; t++) {
        const uint32_t last = a->last + t, limit = a->window && last >= a->window ? last - a->window + 1 : 0;
        for (uint32_t h = 0; h < a->n_heads; h++)
            head_attention(a, kv, a->q + t * a->q_stride + (size_t)h * a->head_dim,
                           a->out + t * a->out_stride + (size_t)h * a->head_dim, a->first > limit ? a->first : limit,
                           last);
    }
}

void st_attention_f16_scalar(const st_attention *a) {
    attention(a, &(kv_reader){get_f16});
}
void st_attention_f32_scalar(const st_attention *a) {
    attention(a, &(kv_reader){get_f32});
}
