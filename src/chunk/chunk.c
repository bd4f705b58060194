/* SPDX-License-Identifier: MIT */
#include "chunk/chunk.h"

#include <stdio.h>

/* Layers below the span whose KV its layers read. */
static void find_borrowed(st_chunk *chunk) {
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++) {
        uint32_t from = chunk->model->layers[i].kv_layer, b = 0;
        if (from >= chunk->span.first) continue;
        while (b < chunk->n_borrowed && chunk->borrowed[b] != from) b++;
        if (b == chunk->n_borrowed) chunk->borrowed[chunk->n_borrowed++] = from;
    }
}

void st_chunks_describe(st_chunk *chunks, const st_span *spans, uint32_t n, const st_model *model) {
    for (uint32_t c = 0; c < n; c++) {
        st_chunk *chunk = &chunks[c];
        *chunk = (st_chunk){.model = model, .index = c, .span = spans[c], .embeds = c == 0, .head = c == n - 1};
        snprintf(chunk->name, sizeof chunk->name, "chunk%u", c + 1);
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
