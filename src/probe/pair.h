/* SPDX-License-Identifier: MIT
 * One pair of steps, ready to be timed: its queues, and each arm once. */
#ifndef ST_PROBE_PAIR_H
#define ST_PROBE_PAIR_H

#include "probe/probe.h"
#include "probe/start.h"

typedef struct st_pair {
    const st_probe_setup *setup;
    const st_probe_job *job;
    const st_step *step[2];
    st_queue *queue[2]; /* two, on one unit or on two; one for a batch, whose step[1] is the call of k tokens */
    st_event done[2];
    st_starter *starter; /* NULL: one thread submits both */
} st_pair;

/* Opens queues, and the second submitter where the arrangement wants one. On failure nothing is left open. */
int st_pair_open(st_pair *pair, const st_probe_setup *setup, const st_probe_job *job, stretto_error *err);
void st_pair_close(st_pair *pair);

/* Brings caches and pools to the state that the probe promises, then times one arm; sample->begin_ns is on the
 * setup's clock. The code is that of the first step that failed. */
int st_pair_time(st_pair *pair, enum st_arm arm, st_sample *sample, stretto_error *err);

#endif
