/* SPDX-License-Identifier: MIT */
#include "device/placement.h"

#include "base/error.h"

#include <stdlib.h>

/* The first chunk that runs on the unit of chunk i. */
static uint32_t first_on_unit(const st_placement *p, uint32_t i) {
    uint32_t first = 0;
    while (p->units[first] != p->units[i]) first++;
    return first;
}

/* Working memory for all chunks of the unit of chunk `first`, as wide as the widest of them needs it. */
static int open_scratch(st_placement *p, uint32_t first, unsigned n_threads, stretto_error *err) {
    st_chunk *own = calloc(p->n_chunks, sizeof *own);
    if (!own) return st_fail_memory(err, "placement", p->n_chunks * sizeof *own);
    uint32_t n = 0;
    for (uint32_t i = first; i < p->n_chunks; i++)
        if (p->units[i] == p->units[first]) own[n++] = p->chunks[i];
    int code = st_scratch_create(&p->scratch[first], own, n, p->max_rows, n_threads, err);
    free(own);
    return code;
}

static int open_units(st_placement *p, stretto_error *err) {
    for (uint32_t i = 0; i < p->n_chunks; i++) {
        st_unit_info info;
        st_unit_info_get(p->units[i], &info);
        if (!info.shares_memory)
            return st_fail(err, STRETTO_E_USAGE,
                           "unit %s does not share memory with the host, so chunk %u cannot run there", info.name,
                           i + 1);
        uint32_t first = first_on_unit(p, i);
        if (first < i) {
            p->scratch[i] = p->scratch[first];
            continue;
        }
        int code = open_scratch(p, i, info.n_threads, err);
        if (code) return code;
    }
    return STRETTO_OK;
}

int st_placement_open(st_placement **out, const st_model *model, const st_span *spans, uint32_t n_chunks,
                      st_unit *const *units, uint32_t max_rows, stretto_error *err) {
    *out = NULL;
    st_placement *p = calloc(1, sizeof *p);
    if (!p) return st_fail_memory(err, "placement", sizeof *p);
    *p = (st_placement){.model = model, .n_chunks = n_chunks, .max_rows = max_rows};
    p->chunks = calloc(n_chunks, sizeof *p->chunks);
    p->units = calloc(n_chunks, sizeof *p->units);
    p->scratch = calloc(n_chunks, sizeof *p->scratch);
    int code = STRETTO_OK;
    if (!p->chunks || !p->units || !p->scratch) {
        code = st_fail_memory(err, "placement", n_chunks * sizeof *p->chunks);
    } else {
        st_chunks_describe(p->chunks, spans, n_chunks, model);
        for (uint32_t i = 0; i < n_chunks; i++) p->units[i] = units[i];
        code = open_units(p, err);
    }
    if (code)
        st_placement_close(p);
    else
        *out = p;
    return code;
}

uint64_t st_placement_bytes(const st_placement *p) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n_chunks; i++)
        if (first_on_unit(p, i) == i) bytes += st_scratch_bytes(p->scratch[i]);
    return bytes;
}

void st_placement_close(st_placement *p) {
    if (!p) return;
    for (uint32_t i = 0; p->scratch && p->units && i < p->n_chunks; i++)
        if (first_on_unit(p, i) == i) st_scratch_free(p->scratch[i]);
    free(p->scratch);
    free(p->units);
    free(p->chunks);
    free(p);
}
