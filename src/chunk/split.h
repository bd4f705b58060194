/* SPDX-License-Identifier: MIT
 * Where a model is cut into chunks. Pure arithmetic on costs per layer. */
#ifndef ST_CHUNK_SPLIT_H
#define ST_CHUNK_SPLIT_H

#include "model/model.h"

/* Layers first..last, inclusive. The last span also has the final norm and the head. */
typedef struct st_span {
    uint32_t first, last;
} st_span;

#define ST_MAX_CHUNKS 256

/* n spans over n_layers costs, each with at least one layer; head_cost belongs to the last. The largest span is as
 * small as can be, then the spans are as even as can be (least sum of squares, earlier spans the larger on a tie).
 * STRETTO_E_USAGE when n is 0 or more than n_layers. */
int st_split_even(st_span *spans, uint32_t n, const uint64_t *layer_cost, uint32_t n_layers, uint64_t head_cost,
                  stretto_error *err);

/* What --chunks says: "4" (that many, even in bytes), "0-7,8-14,15-24,25-29" (ranges that cover all layers in order),
 * or NULL for the model's default. spans has room for ST_MAX_CHUNKS. STRETTO_E_USAGE names the part that is wrong. */
int st_split_parse(st_span *spans, uint32_t *n, const char *text, const st_model *model, stretto_error *err);

#endif
