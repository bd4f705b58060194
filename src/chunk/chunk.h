/* SPDX-License-Identifier: MIT
 * A chunk: a consecutive range of layers with explicit inputs and outputs. It runs on whatever threads call it, knows
 * nothing of units, and keeps no state of its own: the KV belongs to a stream, the scratch to whoever runs it. */
#ifndef ST_CHUNK_CHUNK_H
#define ST_CHUNK_CHUNK_H

#include "base/team.h"
#include "chunk/kv.h"

typedef struct st_chunk {
    const st_model *model;
    uint32_t index; /* from 0; people see index + 1 */
    st_span span;
    bool embeds, head;   /* first chunk: turns ids into hidden states; last: final norm, head, argmax */
    char name[12];       /* "1": its number, as people write it */
    char step_name[20];  /* "chunk 1": of its step, in messages */
    uint64_t bytes;      /* weights read by a decode step */
    uint64_t operations; /* multiply-adds of a decode step, without attention */
    /* Layers whose KV crosses a boundary, by name kvN: those that it reads but does not own, and own ones that later
     * chunks read. A layer borrows from one of its own kind, and there are as many kinds as ropes. */
    uint32_t n_borrowed, borrowed[ST_MODEL_ROPES];
    uint32_t n_lent, lent[ST_MODEL_ROPES];
} st_chunk;

/* Describes n chunks for n spans. chunks has room for n. */
void st_chunks_describe(st_chunk *chunks, const st_span *spans, uint32_t n, const st_model *model);

/* What a trace sees, of all rows of a batch, between two steps of the forward (worker 0, the others wait). */
enum st_trace_point { ST_TRACE_EMBED, ST_TRACE_PLE, ST_TRACE_ATTN, ST_TRACE_LAYER, ST_TRACE_NORM };
typedef struct st_trace {
    void (*fn)(void *arg, enum st_trace_point point, uint32_t layer, const float *rows, uint32_t n, uint32_t width,
               size_t stride);
    void *arg;
} st_trace;

/* Working memory for whatever of n chunks (of one model) runs, one at a time; not shared between two that run at once.
 */
typedef struct st_scratch st_scratch;
int st_scratch_create(st_scratch **out, const st_chunk *chunks, uint32_t n, uint32_t max_batch, uint32_t max_threads,
                      stretto_error *err);
size_t st_scratch_bytes(const st_scratch *scratch);
void st_scratch_free(st_scratch *scratch); /* NULL is fine */

/* The rows of one call. A row is one token of one stream; rows of the same stream stand in order of position, and their
 * earlier positions are in the KV or in the same batch. */
typedef struct st_batch {
    uint32_t n;          /* rows, at most the scratch's max_batch */
    const int32_t *ids;  /* [n] checked token ids; first chunk (and per-layer inputs), else unused */
    const uint32_t *pos; /* [n] */
    st_kv *const *kv;    /* [n] this chunk's KV of the row's stream */
    float *hidden;       /* [n][d_model] the boundary: in (unless embeds and ids) and out */
    bool embed;          /* fill hidden from ids first (first chunk) */
    float *ple;          /* [n][st_ple_stride] per-layer inputs: the first chunk fills them, the others read them */
    /* last chunk only: */
    uint32_t n_wanted;      /* rows whose logits are wanted, at most n */
    const uint32_t *wanted; /* [n_wanted] ascending row numbers */
    float *logits;          /* [n_wanted][st_logits_stride] */
    int32_t *argmax;        /* [n_wanted] */
    const st_trace *trace;  /* NULL in real use */
} st_batch;

/* Rows of per-layer inputs: whole strips. */
static inline size_t st_ple_stride(const st_model *model) {
    return ((size_t)model->n_layers * model->d_ple + ST_STRIP - 1) / ST_STRIP * ST_STRIP;
}
static inline size_t st_logits_stride(const st_model *model) {
    return ((size_t)model->n_vocab + ST_STRIP - 1) / ST_STRIP * ST_STRIP;
}

/* Runs the chunk on this worker's share; every worker of the team makes the same call. Cannot fail: everything was
 * checked and allocated before. Results are bit-equal for any number of workers, any split into chunks, and any
 * batching. */
void st_chunk_forward(const st_chunk *chunk, st_scratch *scratch, const st_batch *batch, const st_worker *worker);

/* The likeliest logit of a wanted row of the last forward with the head; for worker 0, which found it. */
float st_scratch_best(const st_scratch *scratch, uint32_t wanted);

#endif
