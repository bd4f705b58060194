/* SPDX-License-Identifier: MIT
 * Streaming weights through the caches, so that a step finds them as a real step would. */
#include "device/chain_impl.h"

#define LINE 64u

typedef struct reading {
    const st_kern *kern;
    uint64_t done, sum;
} reading;

/* Whole lines only: a matrix begins on one and may end within one. */
static void read_matrix(reading *r, const st_matrix *m) {
    size_t bytes = m->data ? m->strip_bytes * st_matrix_strips(m) / LINE * LINE : 0;
    if (bytes == 0) return;
    r->sum += r->kern->stream(m->data, bytes, ST_STREAM_FOUR);
    r->done += bytes;
}

/* Until all of it has been read or, with most > 0, that many bytes in all. */
static void read_chunk(reading *r, const st_chunk *chunk, uint64_t most) {
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++)
        for (uint32_t m = 0; m < ST_LAYER_MATRICES; m++) {
            if (most && r->done >= most) return;
            read_matrix(r, st_layer_matrix(&chunk->model->layers[i], m));
        }
    if (chunk->head && (!most || r->done < most)) read_matrix(r, &chunk->model->head);
}

static bool listed(const uint32_t *list, uint32_t n, uint32_t item) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == item) return true;
    return false;
}

uint64_t st_chain_stream_weights(const st_chain *chain, const uint32_t *except, uint32_t n_except, uint64_t min_bytes) {
    reading r = {.kern = chain->model->kern};
    uint64_t before, most = 0; /* the first time all of it */
    do {
        before = r.done;
        for (uint32_t c = 0; c < chain->n_chunks; c++)
            if (!listed(except, n_except, c)) read_chunk(&r, &chain->chunks[c], most);
        most = min_bytes;
    } while (r.done > before && r.done < min_bytes);
    volatile uint64_t sink = r.sum; /* keeps the reads */
    (void)sink;
    return r.done;
}
