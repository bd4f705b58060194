/* SPDX-License-Identifier: MIT
 * Attention of one layer: q, k and v, head norms, RoPE, storing into the KV rings, softmax over blocks, output. */
#include "chunk/forward.h"

#include <math.h>
#include <string.h>

void st_forward_angles(const st_forward *f) {
    uint32_t lo, hi;
    st_worker_range(f->worker, f->batch->n, &lo, &hi);
    for (uint32_t r = 0; r < f->model->n_ropes; r++) {
        const st_rope *rope = &f->model->ropes[r];
        for (uint32_t row = lo; row < hi; row++) {
            float *cs = f->s->cos_sin[r] + (size_t)row * rope->head_dim;
            for (uint32_t i = 0; i < rope->n_pairs; i++) {
                /* In f32, as the models were trained: angles of far positions are rounded, and that is part of the
                 * model. */
                float angle = (float)f->batch->pos[row] * rope->inv_freq[i];
                cs[2 * i] = cosf(angle);
                cs[2 * i + 1] = sinf(angle);
            }
        }
    }
}

static void turn_head(const st_forward *f, const st_layer *layer, float *head, const float *bias, const float *norm,
                      uint32_t row) {
    const st_rope *rope = &f->model->ropes[layer->rope];
    if (bias) f->kern->add(head, bias, layer->head_dim);
    if (norm) f->kern->rms_norm(head, head, norm, layer->head_dim, f->model->eps);
    f->kern->rope(head, f->s->cos_sin[layer->rope] + (size_t)row * rope->head_dim, rope->n_pairs, layer->head_dim,
                  rope->neox);
}

static void store_head(const st_forward *f, const st_layer *layer, uint32_t i, uint32_t head, uint32_t row) {
    const st_kv *kv = f->batch->kv[row];
    const st_kv_layer *own = kv->visible[i];
    size_t at = (size_t)head * layer->head_dim;
    float *key = f->s->k + row * f->s->kv_stride + at, *value = f->s->v + row * f->s->kv_stride + at;
    if (layer->v_from_k) memcpy(value, key, layer->head_dim * sizeof *value);
    turn_head(f, layer, key, layer->k_bias ? layer->k_bias + at : NULL, layer->k_norm, row);
    if (layer->v_bias) f->kern->add(value, layer->v_bias + at, layer->head_dim);
    if (layer->v_norm) f->kern->rms_norm(value, value, NULL, layer->head_dim, f->model->eps);
    f->kern->kv_store[kv->type](own->k + head * own->head_bytes, own->v + head * own->head_bytes, key, value,
                                f->batch->pos[row] % own->capacity, layer->head_dim);
}

/* This worker's heads of queries, and then of keys, of all rows; head by head, so that it mostly has rings to itself.
 */
static void heads_range(const st_forward *f, const st_layer *layer, uint32_t i, uint32_t *lo, uint32_t *hi) {
    uint32_t stores = layer->kv_layer == i ? layer->n_kv_heads : 0;
    st_worker_range(f->worker, f->batch->n * (layer->n_heads + stores), lo, hi);
}

/* One row: fetches the lines of the rings that turn_and_store will write to. A position's keys are spread over as many
 * lines as half a head has dimensions, and waiting for them took longer than all else that is done there. */
static void fetch_slots(const st_forward *f, const st_layer *layer, uint32_t i) {
    const st_kv *kv = f->batch->kv[0];
    const st_kv_layer *own = kv->visible[i];
    size_t item = st_kv_item_bytes(kv->type), slot = f->batch->pos[0] % own->capacity, d = layer->head_dim;
    uint32_t lo, hi;
    heads_range(f, layer, i, &lo, &hi);
    for (uint32_t head = lo < layer->n_heads ? layer->n_heads : lo; head < hi; head++) {
        size_t at = (head - layer->n_heads) * own->head_bytes;
        const uint8_t *k = own->k + at + (slot / 16 * 16 * d + slot % 16) * item, *v = own->v + at + slot * d * item;
        for (size_t j = 0; j < d * 16 * item; j += 64) __builtin_prefetch(k + j, 1);
        for (size_t j = 0; j < d * item; j += 64) __builtin_prefetch(v + j, 1);
    }
}

static void turn_and_store(const st_forward *f, const st_layer *layer, uint32_t i) {
    uint32_t n = f->batch->n, lo, hi;
    heads_range(f, layer, i, &lo, &hi);
    for (uint32_t item = lo; item < hi; item++) {
        uint32_t head = item / n, row = item % n;
        size_t at = (size_t)head * layer->head_dim;
        if (head < layer->n_heads)
            turn_head(f, layer, f->s->q + row * f->s->q_stride + at, layer->q_bias ? layer->q_bias + at : NULL,
                      layer->q_norm, row);
        else
            store_head(f, layer, i, head - layer->n_heads, row);
    }
}

/* The first position that a row sees. */
static uint32_t first_seen(const st_layer *layer, uint32_t pos) {
    return layer->window && pos >= layer->window ? pos - layer->window + 1 : 0;
}

/* What a row reads first of the keys of a KV head: the rest of its ring from the block of the first position on, as far
 * as it is seen. Its values stand alike. */
static st_ahead keys_seen(const st_forward *f, const st_layer *layer, uint32_t row, uint32_t kv_head) {
    const st_kv *kv = f->batch->kv[row];
    const st_kv_layer *rings = kv->visible[layer->kv_layer];
    uint32_t last = f->batch->pos[row], begin = first_seen(layer, last) / ST_ATTN_BLOCK * ST_ATTN_BLOCK;
    uint32_t slot = begin % rings->capacity, n = last - begin + 1;
    size_t position = layer->head_dim * st_kv_item_bytes(kv->type);
    if (n > rings->capacity - slot) n = rings->capacity - slot;
    return (st_ahead){rings->k + kv_head * rings->head_bytes + slot * position, n * position};
}

/* Query heads first..first+count-1, which share a KV head, of n_rows consecutive tokens of one stream. After them come
 * those of KV head `next`, if there is such a head; fetched: the call before this one was told so of these. */
static void attend_heads(const st_forward *f, const st_layer *layer, uint32_t row, uint32_t n_rows, uint32_t first,
                         uint32_t count, bool fetched, uint32_t next) {
    const st_kv *kv = f->batch->kv[row];
    const st_kv_layer *rings = kv->visible[layer->kv_layer];
    uint32_t group = layer->n_heads / layer->n_kv_heads, head = first / group;
    size_t at = row * f->s->q_stride + (size_t)first * layer->head_dim;
    st_attention a = {.q = f->s->q + at,
                      .out = f->s->attn + at,
                      .q_stride = f->s->q_stride,
                      .out_stride = f->s->q_stride,
                      .n_tokens = n_rows,
                      .n_heads = count,
                      .head_dim = layer->head_dim,
                      .k = rings->k + head * rings->head_bytes,
                      .v = rings->v + head * rings->head_bytes,
                      .fetched = fetched,
                      .capacity = rings->capacity,
                      .first = first_seen(layer, f->batch->pos[row]),
                      .last = f->batch->pos[row],
                      .window = layer->window,
                      .scale = layer->attn_scale};
    if (next < layer->n_kv_heads) {
        a.next_k = keys_seen(f, layer, row, next).data;
        a.next_v = rings->v + ((const uint8_t *)a.next_k - rings->k);
    }
    f->kern->attention[kv->type](&a);
}

#define ROWS_A_CALL 8

/* How many rows from `row` on are consecutive tokens of one stream, at most ROWS_A_CALL. */
static uint32_t run_length(const st_batch *batch, uint32_t row) {
    uint32_t n = 1;
    while (n < ROWS_A_CALL && row + n < batch->n && batch->kv[row + n] == batch->kv[row] &&
           batch->pos[row + n] == batch->pos[row] + n)
        n++;
    return n;
}

/* One row: its heads are shared out. Many rows: runs of tokens, dealt in turn, since later rows see more. */
static void attend(const st_forward *f, const st_layer *layer) {
    uint32_t group = layer->n_heads / layer->n_kv_heads, n = f->batch->n, lo, hi;
    if (n == 1) {
        st_worker_range(f->worker, layer->n_heads, &lo, &hi);
        for (uint32_t head = lo, end; head < hi; head = end) {
            end = (head / group + 1) * group < hi ? (head / group + 1) * group : hi;
            attend_heads(f, layer, 0, 1, head, end - head, head > lo, end < hi ? end / group : layer->n_kv_heads);
        }
        return;
    }
    for (uint32_t row = 0, turn = 0, length; row < n; row += length) {
        length = run_length(f->batch, row);
        for (uint32_t head = 0; head < layer->n_kv_heads; head++, turn++)
            if (turn % f->worker->count == f->worker->id)
                attend_heads(f, layer, row, length, head * group, group, false, layer->n_kv_heads);
    }
}

/* The keys that this worker begins with; for many rows that is not worth finding out. */
static st_ahead keys_ahead(const st_forward *f, const st_layer *layer) {
    if (f->batch->n > 1) return (st_ahead){NULL, 0};
    uint32_t head = layer->n_heads * f->worker->id / f->worker->count;
    return keys_seen(f, layer, 0, head / (layer->n_heads / layer->n_kv_heads));
}

void st_forward_attention(const st_forward *f, uint32_t i, const st_rows *input, st_ahead next) {
    const st_layer *layer = &f->model->layers[i];
    st_scratch *s = f->s;
    st_product qkv[] = {
        {&layer->q, s->q, s->q_stride}, {&layer->k, s->k, s->kv_stride}, {&layer->v, s->v, s->kv_stride}};
    st_product out = {&layer->o, s->proj, s->d_stride};
    if (f->batch->n == 1 && layer->kv_layer == i) fetch_slots(f, layer, i);
    st_products_run(f->kern, input, qkv, layer->kv_layer == i ? 3 : 1, 1, f->worker);
    st_worker_sync(f->worker);
    turn_and_store(f, layer, i);
    st_worker_sync_ahead(f->worker, keys_ahead(f, layer));
    attend(f, layer);
    st_worker_sync_ahead(f->worker, st_products_ahead(&out, 1, 1, f->worker));
    st_rows heads = st_forward_rows(f, s->attn, s->q_stride, layer->n_heads * layer->head_dim, f->batch->n);
    st_forward_quantize(f, &heads);
    st_products_run(f->kern, &heads, &out, 1, 1, f->worker);
    st_worker_sync_ahead(f->worker, next);
}
