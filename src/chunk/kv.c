/* SPDX-License-Identifier: MIT */
#include "chunk/kv.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

static uint64_t whole_blocks(uint64_t positions) {
    return (positions + ST_ATTN_BLOCK - 1) / ST_ATTN_BLOCK * ST_ATTN_BLOCK;
}

/* Positions that a layer must hold so that a whole batch can be stored before its first row is attended. */
static uint64_t layer_capacity(const st_layer *layer, uint32_t n_ctx, uint32_t max_batch) {
    uint64_t all = whole_blocks(n_ctx);
    if (!layer->window) return all;
    uint64_t sliding = whole_blocks((uint64_t)layer->window + max_batch);
    return sliding < all ? sliding : all;
}

uint64_t st_kv_size(const st_model *model, st_span span, enum st_kv_type type, uint32_t n_ctx, uint32_t max_batch) {
    uint64_t bytes = 0;
    for (uint32_t i = span.first; i <= span.last; i++) {
        const st_layer *layer = &model->layers[i];
        if (layer->kv_layer != i) continue;
        bytes +=
            2 * layer_capacity(layer, n_ctx, max_batch) * layer->n_kv_heads * layer->head_dim * st_kv_item_bytes(type);
    }
    return bytes;
}

static void lay_out(st_kv *kv, uint32_t max_batch) {
    for (uint32_t i = kv->span.first; i <= kv->span.last; i++) {
        const st_layer *layer = &kv->model->layers[i];
        st_kv_layer *own = &kv->own[i - kv->span.first];
        if (layer->kv_layer != i) continue;
        own->capacity = (uint32_t)layer_capacity(layer, kv->n_ctx, max_batch);
        own->head_bytes = (size_t)own->capacity * layer->head_dim * st_kv_item_bytes(kv->type);
    }
    kv->bytes = st_kv_size(kv->model, kv->span, kv->type, kv->n_ctx, max_batch);
}

static void hand_out(st_kv *kv) {
    uint8_t *at = kv->memory;
    for (uint32_t i = kv->span.first; i <= kv->span.last; i++) {
        st_kv_layer *own = &kv->own[i - kv->span.first];
        if (!own->capacity) continue;
        size_t bytes = own->head_bytes * kv->model->layers[i].n_kv_heads;
        own->k = at;
        own->v = at + bytes;
        at += 2 * bytes;
        kv->visible[i] = own;
    }
}

int st_kv_create(st_kv **out, const st_model *model, st_span span, enum st_kv_type type, uint32_t n_ctx,
                 uint32_t max_batch, stretto_error *err) {
    *out = NULL;
    st_kv *kv = calloc(1, sizeof *kv);
    if (!kv) return st_fail_memory(err, "KV", sizeof *kv);
    *kv = (st_kv){.model = model, .span = span, .type = type, .n_ctx = n_ctx};
    kv->own = calloc(span.last - span.first + 1, sizeof *kv->own);
    kv->visible = calloc(model->n_layers, sizeof *kv->visible);
    if (kv->own && kv->visible) {
        lay_out(kv, max_batch);
        kv->memory = st_alloc(kv->bytes ? kv->bytes : 1, 1);
    }
    if (!kv->memory) {
        int code = st_fail_memory(err, "KV", kv->bytes);
        st_kv_free(kv);
        return code;
    }
    hand_out(kv);
    *out = kv;
    return 0;
}

void st_kv_free(st_kv *kv) {
    if (!kv) return;
    st_free(kv->memory);
    free(kv->visible);
    free(kv->own);
    free(kv);
}

void st_kv_borrow(st_kv *kv, uint32_t layer, const st_kv *from) {
    kv->visible[layer] = from->visible[layer];
}

uint64_t st_kv_read_bytes(const st_model *model, st_span span, enum st_kv_type type, uint32_t pos) {
    uint64_t bytes = 0;
    for (uint32_t i = span.first; i <= span.last; i++) {
        const st_layer *layer = &model->layers[i];
        uint64_t seen = (uint64_t)pos + 1;
        if (layer->window && seen > layer->window) seen = layer->window;
        bytes += 2 * seen * layer->n_kv_heads * layer->head_dim * st_kv_item_bytes(type);
    }
    return bytes;
}
