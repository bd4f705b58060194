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

/* What is timed of a control: one side alone, or both started together. */
enum st_part { ST_PART_A, ST_PART_B, ST_PART_BOTH, ST_PART_COUNT };

/* Times a part of a control (enum st_control_kind), which both sides' units have, or of the pair itself with caches as
 * its own last run left them (ST_BESIDE_WARM). Nothing is streamed before it. Fills what that part measures. */
int st_pair_time_beside(st_pair *pair, unsigned kind, enum st_part part, st_beside_sample *out, stretto_error *err);

/* Brings caches and pools to the state that the probe promises, then times one arm; sample->begin_ns is on the
 * setup's clock. The code is that of the first step that failed. */
int st_pair_time(st_pair *pair, enum st_arm arm, st_sample *sample, stretto_error *err);

#endif
