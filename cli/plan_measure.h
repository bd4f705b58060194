/* SPDX-License-Identifier: MIT
 * Measuring a cost table for the planner on this machine: each chunk of the session's model on each of its lanes, what
 * lanes that share no core do to each other, and what the host adds. */
#ifndef CLI_PLAN_MEASURE_H
#define CLI_PLAN_MEASURE_H

#include "plan/cost.h"
#include "session.h"

typedef struct plan_measure_options {
    uint32_t depth;   /* tokens in the context while decoding */
    uint32_t streams; /* the largest call of decoding rows is at least that */
} plan_measure_options;

/* What is timed: each chunk from start to end as its unit stamped them, in steps through the whole model, so that
 * caches are as in a real step; medians. Beside another lane: the same while that lane decodes or reads a prompt, over
 * the time alone, measured in turns. The session's model must be open and its chunks placed. *out is the caller's:
 * st_costs_free. STRETTO_E_STOPPED on request. */
int plan_measure(st_costs *out, session *s, const plan_measure_options *options, stretto_error *err);

#endif
