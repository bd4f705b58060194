/* SPDX-License-Identifier: MIT
 * The matrix products of a model's decode step, by kind, each kind alone on a lane: where a step's time goes. */
#ifndef ST_DEVICE_PARTS_H
#define ST_DEVICE_PARTS_H

#include "device/timing.h"
#include "model/model.h"

enum st_part {
    ST_PART_QKV,
    ST_PART_ATTN_OUT,
    ST_PART_GATE_UP,
    ST_PART_DOWN,
    ST_PART_PLE, /* per-layer embeddings, where a model has them */
    ST_PART_HEAD,
    ST_PARTS
};
const char *st_part_name(enum st_part part); /* "q, k, v" */

typedef struct st_part_time {
    st_timing time;
    st_turns turns;
    uint64_t bytes;      /* of the file's weights, 0: the model has no such part, and nothing was timed */
    uint64_t operations; /* multiply-adds */
} st_part_time;

/* Times the products of one kind of all layers, one token, on all workers of a lane, in turns with a plain step
 * (control.h). Other layers' weights, and what the plain step reads, pass between two uses of one, as in a real step,
 * if they are more than the caches hold. STRETTO_E_UNIT, STRETTO_E_MEMORY. */
int st_part_measure(st_part_time *out, const st_model *model, enum st_part part, st_unit *unit, const st_step *plain,
                    stretto_error *err);

#endif
