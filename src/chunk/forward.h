/* SPDX-License-Identifier: MIT
 * The parts of a forward that its files share. Every function is called by all workers of the team; "ends with a sync"
 * means that what it wrote is then visible to all. */
#ifndef ST_CHUNK_FORWARD_H
#define ST_CHUNK_FORWARD_H

#include "chunk/product.h"
#include "chunk/scratch.h"

/* A single row is not worth sharing: for row-wise steps every worker then does all of it in buffers of its own, which
 * costs no more time than to wait for one that does it, and saves a sync. `alone` says so; x, norm and quant are then
 * this worker's. */
typedef struct st_forward {
    const st_chunk *chunk;
    const st_model *model;
    const st_kern *kern;
    st_scratch *s;
    const st_batch *batch;
    const st_worker *worker;
    bool alone;
    float *x;       /* [n][d_model] hidden states */
    float *norm;    /* [n][d_stride] */
    uint8_t *quant; /* panels of the widest row */
} st_forward;

/* Rows of `width` f32 at x as the input of a product, to be quantized into f->quant. */
st_rows st_forward_rows(const st_forward *f, const float *x, size_t stride, uint32_t width, uint32_t n);
/* Quantizes rows: all of them when alone (no sync), else this worker's columns, and ends with a sync. */
void st_forward_quantize(const st_forward *f, const st_rows *rows);
/* Whether this worker does the row-wise steps of a panel's rows. */
bool st_forward_panel_mine(const st_forward *f, uint32_t panel);

void st_forward_trace(const st_forward *f, enum st_trace_point point, uint32_t layer, const float *rows, uint32_t width,
                      size_t stride);

/* Fills hidden from ids, and the per-layer inputs where the model has them. Ends with a sync. */
void st_forward_embed(const st_forward *f);
/* Attention of layer i, from the normed input to proj (after o_proj). Ends with a sync, after which `next` is read. */
void st_forward_attention(const st_forward *f, uint32_t i, const st_rows *input, st_ahead next);
/* Cosines and sines of the batch's positions. No sync. */
void st_forward_angles(const st_forward *f);
/* Final norm, head, cap and argmax of the wanted rows. Ends with a sync. */
void st_forward_head(const st_forward *f);

#endif
