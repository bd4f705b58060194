/* SPDX-License-Identifier: MIT
 * The inside of st_scratch: buffers sized for the widest layer of a chunk. Strides are whole strips, so that kernels
 * may write whole strips. */
#ifndef ST_CHUNK_SCRATCH_H
#define ST_CHUNK_SCRATCH_H

#include "chunk/chunk.h"

#include <stddef.h>

typedef struct st_best {
    float value;
    uint32_t index;
} st_best;

/* One row for one worker, see forward.h. */
typedef struct st_solo {
    float *x, *norm; /* [d_stride] */
    uint8_t *quant;
} st_solo;

struct st_scratch {
    uint32_t max_batch, max_threads;
    float *cos_sin[ST_MODEL_ROPES]; /* [max_batch][head_dim / 2][2] */
    float *norm;                    /* [max_batch][d_stride] input of a product */
    uint8_t *quant;                 /* the same, or attn, quantized by panels */
    float *q, *attn;                /* [max_batch][q_stride] */
    float *k, *v;                   /* [max_batch][kv_stride] */
    float *proj;                    /* [max_batch][d_stride] what is to be added to the hidden state */
    uint8_t *quant_gate;            /* gate quantized, while others still read quant */
    float *gate, *up;               /* [max_batch][ff_stride] */
    size_t d_stride, q_stride, kv_stride, ff_stride;
    float *ple_token; /* [max_threads][ple_stride] a row of the per-layer table */
    size_t ple_stride;
    st_solo *solo; /* [max_threads] */
    st_best *best; /* [max_threads][max_batch] */
    uint8_t *memory;
    size_t bytes;
};

#endif
