/* SPDX-License-Identifier: MIT */
#include "api/chain.h"

#include "api/api.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_options(const stretto_chain_options *o, stretto_error *err) {
    if (o->kv_type != STRETTO_KV_F16 && o->kv_type != STRETTO_KV_F32)
        return st_fail(err, STRETTO_E_USAGE, "KV of type %d, wanted %d (f16) or %d (f32)", (int)o->kv_type,
                       STRETTO_KV_F16, STRETTO_KV_F32);
    for (size_t i = 0; i < o->n_units; i++)
        if (!o->units || !o->units[i]) return st_fail(err, STRETTO_E_USAGE, "unit %zu of %zu is NULL", i, o->n_units);
    return STRETTO_OK;
}

/* Public and inner unit of each chunk. */
static int place(stretto_chain *c, uint32_t n_chunks, st_unit **inner, const stretto_chain_options *o,
                 stretto_error *err) {
    if (o->n_units == 0) {
        stretto_cpu_options cpu = {.log = o->log};
        int code = stretto_unit_open_cpu(&c->own_unit, NULL, &cpu, err);
        if (code) return code;
    }
    c->units = calloc(n_chunks, sizeof *c->units);
    if (!c->units) return st_fail_memory(err, "chain", n_chunks * sizeof *c->units);
    for (uint32_t i = 0; i < n_chunks; i++) {
        c->units[i] = o->n_units ? o->units[i % o->n_units] : c->own_unit;
        inner[i] = c->units[i]->unit;
    }
    return STRETTO_OK;
}

static int open_chain(stretto_chain *c, const stretto_model *model, const stretto_chain_options *o,
                      stretto_error *err) {
    st_span spans[ST_MAX_CHUNKS];
    st_unit *inner[ST_MAX_CHUNKS];
    uint32_t n = 0;
    int code = check_options(o, err);
    if (!code) code = st_split_parse(spans, &n, o->chunks, model->model, err);
    if (!code) code = place(c, n, inner, o, err);
    if (code) return code;
    st_chain_options options = {.model = model->model,
                                .spans = spans,
                                .n_chunks = n,
                                .units = inner,
                                .kv_type = o->kv_type == STRETTO_KV_F32 ? ST_KV_F32 : ST_KV_F16,
                                .n_ctx = o->n_ctx,
                                .max_batch = o->max_batch,
                                .max_logits = o->max_logits};
    return st_chain_open(&c->chain, &options, err);
}

int stretto_chain_open(stretto_chain **out, const stretto_model *model, const stretto_chain_options *options,
                       stretto_error *err) {
    static const stretto_chain_options defaults;
    *out = NULL;
    stretto_chain *c = calloc(1, sizeof *c);
    if (!c) return st_fail_memory(err, "chain", sizeof *c);
    int code = open_chain(c, model, options ? options : &defaults, err);
    if (code) {
        stretto_chain_close(c);
        return code;
    }
    *out = c;
    return STRETTO_OK;
}

void stretto_chain_close(stretto_chain *c) {
    if (!c) return;
    st_chain_close(c->chain);
    stretto_unit_close(c->own_unit);
    free(c->units);
    free(c);
}

static int pass_logits(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    const stretto_chain *c = arg;
    return c->logits_fn(c->logits_arg, pos, logits, argmax);
}

int stretto_chain_append(stretto_chain *c, const int32_t *ids, size_t n, stretto_logits_fn fn, void *arg,
                         stretto_error *err) {
    uint32_t room = st_chain_ctx(c->chain) - st_chain_length(c->chain);
    if (n > UINT32_MAX)
        return st_fail(err, STRETTO_E_INPUT, "%zu tokens do not fit: the context has room for %u more", n, room);
    c->logits_fn = fn;
    c->logits_arg = arg;
    return st_chain_forward(c->chain, ids, (uint32_t)n, fn ? ST_WANT_ALL : ST_WANT_LAST, fn ? pass_logits : NULL, c,
                            err);
}

const float *stretto_chain_logits(const stretto_chain *c) {
    return st_chain_logits(c->chain);
}

int32_t stretto_chain_argmax(const stretto_chain *c) {
    return st_chain_argmax(c->chain);
}

uint32_t stretto_chain_length(const stretto_chain *c) {
    return st_chain_length(c->chain);
}

uint32_t stretto_chain_ctx(const stretto_chain *c) {
    return st_chain_ctx(c->chain);
}

int stretto_chain_truncate(stretto_chain *c, uint32_t n, stretto_error *err) {
    return st_chain_truncate(c->chain, n, err);
}

void stretto_chain_reset(stretto_chain *c) {
    st_chain_reset(c->chain);
}

size_t stretto_chain_n_chunks(const stretto_chain *c) {
    return st_chain_n_chunks(c->chain);
}

int stretto_chain_chunk(const stretto_chain *c, size_t i, stretto_chunk_info *info, stretto_error *err) {
    uint32_t n = st_chain_n_chunks(c->chain);
    if (i >= n) return st_fail(err, STRETTO_E_USAGE, "no chunk %zu: the chain has %u (0 to %u)", i, n, n - 1);
    const st_chunk *chunk = st_chain_chunk(c->chain, (uint32_t)i);
    st_unit_info unit;
    st_unit_info_get(st_chain_unit(c->chain, (uint32_t)i), &unit);
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", chunk->name);
    snprintf(info->unit, sizeof info->unit, "%s", unit.name);
    info->first = chunk->span.first;
    info->last = chunk->span.last;
    info->head = chunk->head;
    info->bytes = chunk->bytes;
    info->operations = chunk->operations;
    st_chain_times(c->chain, (uint32_t)i, &info->start_ns, &info->end_ns);
    return STRETTO_OK;
}
