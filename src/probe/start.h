/* SPDX-License-Identifier: MIT
 * Starting two sides at the same time. */
#ifndef ST_PROBE_START_H
#define ST_PROBE_START_H

#include "unit/unit.h"

/* One side of a start. The caller fills queue, step and done; the rest is found. */
typedef struct st_start_side {
    st_queue *queue;
    const st_step *step;
    st_event *done;
    uint64_t begin_ns; /* right before the submission */
    int code;          /* of the submission or, where that went well, of the step */
    stretto_error error;
} st_start_side;

typedef struct st_starter st_starter;

/* Makes the second submitter's thread, which sleeps between starts. Until the starter is destroyed, by the same thread,
 * each submitter stays on the core of a worker of its unit, as st_unit_bind says: one that were on the other side's
 * core would wait there for that side's step to end. On one unit they take its first two workers' cores. units: those
 * of the sides, both NULL to leave the submitters where they are. STRETTO_E_UNIT or STRETTO_E_MEMORY. */
int st_starter_create(st_starter **out, st_unit *const units[2], stretto_error *err);
void st_starter_destroy(st_starter *starter); /* NULL is fine */

/* Submits both sides and waits for both. The calling thread submits side 0, the starter's thread side 1, after they
 * have met at a spin barrier; without a starter (NULL) the calling thread submits one after the other. */
void st_start_both(st_starter *starter, const st_clock *clock, st_start_side sides[2]);

/* Side 1 alone, submitted as st_start_both does it, so that its time alone has the same dispatch in it. */
void st_start_second(st_starter *starter, const st_clock *clock, st_start_side *side);

#endif
