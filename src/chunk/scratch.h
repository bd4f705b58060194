/* SPDX-License-Identifier: MIT
 * The inside of st_scratch: buffers sized for the widest layer of a chunk. Strides are whole strips, so that kernels may
 * write whole strips. */
#ifndef ST_CHUNK_SCRATCH_H
#define ST_CHUNK_SCRATCH_H

#include "chunk/chunk.h"

#include <stddef.h>

typedef struct st_best {
    float value;
    uint32_t index;
} st_best;

struct st_scratch {
    uint32_t max_batch, max_threads;
    float *cos_sin[ST_MODEL_ROPES]; /* [max_batch][head_dim / 2][2] */
    float *norm;                    /* [max_batch][d_stride] input of a matrix product */
    uint8_t *quant;                 /* the same, or attn or gate, quantized by panels */
    float *q, *attn;                /* [max_batch][q_stride] */
    float *k, *v;                   /* [max_batch][kv_stride] */
    float *proj;                    /* [max_batch][d_stride] what is to be added to the hidden state */
    float *gate, *up;               /* [max_batch][ff_stride] */
    size_t d_stride, q_stride, kv_stride, ff_stride;
    float *ple_token;               /* [max_threads][ple_stride] a row of the per-layer table */
    size_t ple_stride;
    st_best *best;                  /* [max_threads][max_batch] */
    uint8_t *memory;
};

#endif
