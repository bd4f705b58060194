/* SPDX-License-Identifier: MIT
 * Attention of one layer: q, k and v, head norms, RoPE, storing into the KV rings, softmax over blocks, output. */
#include "chunk/forward.h"

#include <math.h>

void st_forward_angles(const st_forward *f) {
    uint32_t lo, hi;
    st_worker_range(f->worker, f->batch->n, &lo, &hi);
    for (uint32_t r = 0; r < f->model->n_ropes; r++) {
        const st_rope *rope = &f->model->ropes[r];
        for (uint32_t row = lo; row < hi; row++) {
            float *cs = f->s->cos_sin[r] + (size_t)row * rope->head_dim;
            for (uint32_t i = 0; i < rope->n_pairs; i++) {
                /* In f32, as the models were trained: angles of far positions are rounded, and that is part of the model. */
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
    turn_head(f, layer, key, layer->k_bias ? layer->k_bias + at : NULL, layer->k_norm, row);
    if (layer->v_bias) f->kern->add(value, layer->v_bias + at, layer->head_dim);
    if (layer->v_norm) f->kern->rms_norm(value, value, NULL, layer->head_dim, f->model->eps);
    f->kern->kv_store[kv->type](own->k + head * own->head_bytes, own->v + head * own->head_bytes, key, value,
                                f->batch->pos[row] % own->capacity, layer->head_dim);
}

/* Heads of queries and of keys of all rows; head by head, so that a worker mostly has rings to itself. */
static void turn_and_store(const st_forward *f, const st_layer *layer, uint32_t i) {
    uint32_t n = f->batch->n, stores = layer->kv_layer == i ? layer->n_kv_heads : 0, lo, hi;
    st_worker_range(f->worker, n * (layer->n_heads + stores), &lo, &hi);
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

/* Query heads first..first+count-1, which share a KV head, of n_rows consecutive tokens of one stream. */
static void attend_heads(const st_forward *f, const st_layer *layer, uint32_t row, uint32_t n_rows, uint32_t first,
                         uint32_t count) {
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
                      .capacity = rings->capacity,
                      .last = f->batch->pos[row],
                      .window = layer->window,
                      .scale = layer->attn_scale};
    if (layer->window && a.last >= layer->window) a.first = a.last - layer->window + 1;
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
        while (lo < hi) {
            uint32_t end = (lo / group + 1) * group < hi ? (lo / group + 1) * group : hi;
            attend_heads(f, layer, 0, 1, lo, end - lo);
            lo = end;
        }
        return;
    }
    for (uint32_t row = 0, turn = 0, length; row < n; row += length) {
        length = run_length(f->batch, row);
        for (uint32_t head = 0; head < layer->n_kv_heads; head++, turn++)
            if (turn % f->worker->count == f->worker->id) attend_heads(f, layer, row, length, head * group, group);
    }
}

void st_forward_attention(const st_forward *f, uint32_t i, const st_rows *input) {
    const st_layer *layer = &f->model->layers[i];
    st_scratch *s = f->s;
    st_product qkv[] = {{&layer->q, s->q, s->q_stride}, {&layer->k, s->k, s->kv_stride}, {&layer->v, s->v, s->kv_stride}};
    st_products_run(f->kern, input, qkv, layer->kv_layer == i ? 3 : 1, f->worker);
    st_worker_sync(f->worker);
    turn_and_store(f, layer, i);
    st_worker_sync(f->worker);
    attend(f, layer);
    st_worker_sync(f->worker);
    st_rows heads = st_forward_rows(f, s->attn, s->q_stride, layer->n_heads * layer->head_dim, f->batch->n);
    st_forward_quantize(f, &heads);
    st_product out = {&layer->o, s->proj, s->d_stride};
    st_products_run(f->kern, &heads, &out, 1, f->worker);
    st_worker_sync(f->worker);
}
