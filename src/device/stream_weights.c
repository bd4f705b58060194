/* SPDX-License-Identifier: MIT
 * Streaming weights through the caches, so that a step finds them as a real step would. */
#include "device/chain_impl.h"

#include <string.h>

/* Reads one word of every cache line. */
static uint64_t read_lines(const uint8_t *data, size_t bytes) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i + sizeof word <= bytes; i += 64) {
        memcpy(&word, data + i, sizeof word);
        sum += word;
    }
    return sum;
}

static uint64_t read_matrix(const st_matrix *m, uint64_t *sum) {
    size_t bytes = m->data ? m->strip_bytes * st_matrix_strips(m) : 0;
    *sum += read_lines(m->data, bytes);
    return bytes;
}

static uint64_t read_chunk(const st_chunk *chunk, uint64_t *sum) {
    uint64_t bytes = 0;
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++)
        for (uint32_t m = 0; m < ST_LAYER_MATRICES; m++)
            bytes += read_matrix(st_layer_matrix(&chunk->model->layers[i], m), sum);
    if (chunk->head) bytes += read_matrix(&chunk->model->head, sum);
    return bytes;
}

static bool listed(const uint32_t *list, uint32_t n, uint32_t item) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == item) return true;
    return false;
}

void st_chain_stream_weights(const st_chain *chain, const uint32_t *except, uint32_t n_except, uint64_t min_bytes) {
    uint64_t done = 0, pass, sum = 0;
    do {
        pass = 0;
        for (uint32_t c = 0; c < chain->n_chunks; c++)
            if (!listed(except, n_except, c)) pass += read_chunk(&chain->chunks[c], &sum);
        done += pass;
    } while (pass && done < min_bytes);
    volatile uint64_t sink = sum; /* keeps the reads */
    (void)sink;
}
