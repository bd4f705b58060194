/* SPDX-License-Identifier: MIT
 * The inside of a chain, shared with the stand-alone steps made from it. */
#ifndef ST_DEVICE_CHAIN_IMPL_H
#define ST_DEVICE_CHAIN_IMPL_H

#include "device/chain.h"

/* One chunk of a chain as a step: what it runs, on what, where. */
typedef struct st_chunk_call {
    const st_chunk *chunk;
    st_unit *unit;
    st_queue *queue;
    bool owns_queue;
    st_kv *kv;         /* owned */
    st_kv **rows;      /* [max_batch] kv again and again; owned */
    st_scratch *scratch;
    st_batch batch;
    st_step step;
    st_event event;
} st_chunk_call;

struct st_chain {
    const st_model *model;
    uint32_t n_chunks, n_ctx, max_batch, max_logits;
    enum st_kv_type kv_type;
    const atomic_bool *stop;
    st_chunk *chunks;      /* [n_chunks] */
    st_chunk_call *calls;  /* [n_chunks] */
    st_scratch *scratch;   /* of all chunks, which run one after the other */
    float *hidden;         /* [max_batch][d_model] */
    float *ple;            /* [max_batch][ple stride] */
    float *logits;         /* [max_logits][logits stride] */
    int32_t *ids;          /* [max_batch] */
    uint32_t *pos;         /* [max_batch] */
    int32_t *argmax;       /* [max_logits] */
    uint32_t *wanted;      /* [max_logits] */
    uint32_t n_past;
    uint32_t n_stored;     /* the most positions there have been since the last reset */
    uint32_t last_wanted;  /* row of the last position whose logits were wanted */
};

#endif
