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

/* Query heads first..first+count-1 of one row, which share a KV head. */
static void attend_heads(const st_forward *f, const st_layer *layer, uint32_t row, uint32_t first, uint32_t count) {
    const st_kv *kv = f->batch->kv[row];
    const st_kv_layer *rings = kv->visible[layer->kv_layer];
    uint32_t group = layer->n_heads / layer->n_kv_heads, head = first / group, pos = f->batch->pos[row];
    size_t at = row * f->s->q_stride + (size_t)first * layer->head_dim;
    st_attention a = {.q = f->s->q + at,
                      .out = f->s->attn + at,
                      .n_heads = count,
                      .head_dim = layer->head_dim,
                      .k = rings->k + head * rings->head_bytes,
                      .v = rings->v + head * rings->head_bytes,
                      .capacity = rings->capacity,
                      .first = layer->window && pos >= layer->window ? pos - layer->window + 1 : 0,
                      .last = pos,
                      .scale = layer->attn_scale,
                      .scratch = f->s->scores + f->worker->id * f->s->scores_stride};
    f->kern->attention[kv->type](&a);
}

/* One row: its heads are shared out. Many rows: whole groups of heads, dealt in turn, since later rows see more. */
static void attend(const st_forward *f, const st_layer *layer) {
    uint32_t group = layer->n_heads / layer->n_kv_heads, n = f->batch->n, lo, hi;
    if (n == 1) {
        st_worker_range(f->worker, layer->n_heads, &lo, &hi);
        while (lo < hi) {
            uint32_t end = (lo / group + 1) * group < hi ? (lo / group + 1) * group : hi;
            attend_heads(f, layer, 0, lo, end - lo);
            lo = end;
        }
        return;
    }
    for (uint32_t head = 0; head < layer->n_kv_heads; head++)
        for (uint32_t row = 0; row < n; row++)
            if ((row + head) % f->worker->count == f->worker->id) attend_heads(f, layer, row, head * group, group);
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
    st_worker_sync(f->worker);
    st_product out = {&layer->o, s->proj, s->d_stride};
    st_products_run(f->kern, &heads, &out, 1, f->worker);
    st_worker_sync(f->worker);
}
