/* SPDX-License-Identifier: MIT */
#include "chunk/chunk.h"

#include <stdio.h>

static void note_layer(uint32_t *list, uint32_t *n, uint32_t layer) {
    for (uint32_t i = 0; i < *n; i++)
        if (list[i] == layer) return;
    list[(*n)++] = layer;
}

/* What crosses the boundaries of a chunk: KV of earlier chunks that it reads, and its own that later ones read. */
static void find_borrowed(st_chunk *chunk) {
    const st_model *m = chunk->model;
    for (uint32_t i = chunk->span.first; i < m->n_layers; i++) {
        uint32_t from = m->layers[i].kv_layer;
        if (i <= chunk->span.last && from < chunk->span.first) note_layer(chunk->borrowed, &chunk->n_borrowed, from);
        if (i > chunk->span.last && from >= chunk->span.first && from <= chunk->span.last)
            note_layer(chunk->lent, &chunk->n_lent, from);
    }
}

void st_chunks_describe(st_chunk *chunks, const st_span *spans, uint32_t n, const st_model *model) {
    for (uint32_t c = 0; c < n; c++) {
        st_chunk *chunk = &chunks[c];
        *chunk = (st_chunk){.model = model, .index = c, .span = spans[c], .embeds = c == 0, .head = c == n - 1};
        snprintf(chunk->name, sizeof chunk->name, "%u", c + 1);
        snprintf(chunk->step_name, sizeof chunk->step_name, "chunk %u", c + 1);
        for (uint32_t i = spans[c].first; i <= spans[c].last; i++) {
            chunk->bytes += st_layer_bytes(model, i);
            chunk->operations += st_layer_operations(model, i);
        }
        if (chunk->embeds && model->d_ple) {
            chunk->bytes += model->ple_model.file_bytes;
            chunk->operations += (uint64_t)model->ple_model.rows * model->ple_model.cols;
        }
        if (!chunk->head) continue;
        chunk->bytes += st_head_bytes(model);
        chunk->operations += st_head_operations(model);
    }
    for (uint32_t c = 0; c < n; c++) find_borrowed(&chunks[c]);
}
