/* SPDX-License-Identifier: MIT */
#include "chunk/scratch.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

static size_t whole_strips(size_t n) {
    return (n + ST_STRIP - 1) / ST_STRIP * ST_STRIP;
}
static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Widens s to what the chunk needs. */
static void measure(st_scratch *s, const st_chunk *chunk) {
    const st_model *m = chunk->model;
    s->d_stride = whole_strips(m->d_model);
    s->ff_stride = larger(s->ff_stride, whole_strips(m->d_ple));
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++) {
        const st_layer *l = &m->layers[i];
        s->q_stride = larger(s->q_stride, whole_strips((size_t)l->n_heads * l->head_dim));
        s->kv_stride = larger(s->kv_stride, whole_strips((size_t)l->n_kv_heads * l->head_dim));
        s->ff_stride = larger(s->ff_stride, whole_strips(l->n_ff));
    }
    if (chunk->embeds) s->ple_stride = st_ple_stride(m);
}

/* Gives out `bytes` of the one allocation; on the first pass (memory NULL) only counts. */
static void *take(st_scratch *s, size_t *at, size_t bytes) {
    uint8_t *p = s->memory ? s->memory + *at : NULL;
    *at += (bytes + ST_ALIGN - 1) / ST_ALIGN * ST_ALIGN;
    return p;
}

static size_t lay_out(st_scratch *s, const st_model *m) {
    size_t at = 0, n = s->max_batch, f = sizeof(float);
    for (uint32_t r = 0; r < m->n_ropes; r++) s->cos_sin[r] = take(s, &at, n * m->ropes[r].head_dim * f);
    s->norm = take(s, &at, n * s->d_stride * f);
    size_t widest = larger(s->d_stride, s->q_stride);
    s->quant_gate = take(s, &at, n * st_panel_bytes(1, (uint32_t)s->ff_stride));
    s->quant = take(s, &at, n * st_panel_bytes(1, (uint32_t)widest));
    s->q = take(s, &at, n * s->q_stride * f);
    s->attn = take(s, &at, n * s->q_stride * f);
    s->k = take(s, &at, n * s->kv_stride * f);
    s->v = take(s, &at, n * s->kv_stride * f);
    s->proj = take(s, &at, n * s->d_stride * f);
    s->gate = take(s, &at, n * s->ff_stride * f);
    s->up = take(s, &at, n * s->ff_stride * f);
    s->ple_token = take(s, &at, s->max_threads * s->ple_stride * f);
    st_solo *solo = s->solo = take(s, &at, s->max_threads * sizeof *solo);
    for (uint32_t t = 0; t < s->max_threads; t++) {
        st_solo own = {.x = take(s, &at, s->d_stride * f), .norm = take(s, &at, s->d_stride * f)};
        own.quant = take(s, &at, st_panel_bytes(1, (uint32_t)widest));
        if (solo) solo[t] = own;
    }
    s->best = take(s, &at, (size_t)s->max_threads * n * sizeof *s->best);
    return at;
}

int st_scratch_create(st_scratch **out, const st_chunk *chunks, uint32_t n, uint32_t max_batch, uint32_t max_threads,
                      stretto_error *err) {
    *out = NULL;
    st_scratch *s = calloc(1, sizeof *s);
    if (!s) return st_fail_memory(err, "scratch", sizeof *s);
    s->max_batch = max_batch;
    s->max_threads = max_threads;
    for (uint32_t i = 0; i < n; i++) measure(s, &chunks[i]);
    size_t bytes = s->bytes = lay_out(s, chunks[0].model);
    s->memory = st_alloc(bytes, 1);
    if (!s->memory) {
        free(s);
        return st_fail_memory(err, "scratch", bytes);
    }
    lay_out(s, chunks[0].model);
    *out = s;
    return 0;
}

size_t st_scratch_bytes(const st_scratch *scratch) {
    return scratch->bytes;
}

void st_scratch_free(st_scratch *scratch) {
    if (!scratch) return;
    st_free(scratch->memory);
    free(scratch);
}

float st_scratch_best(const st_scratch *scratch, uint32_t wanted) {
    return scratch->best[wanted].value;
}
