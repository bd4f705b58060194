/* SPDX-License-Identifier: MIT
 * Measuring a cost table for the planner on this machine: each chunk of the session's model on each of its lanes, what
 * lanes that share no core do to each other, and what the host adds. */
#ifndef CLI_PLAN_MEASURE_H
#define CLI_PLAN_MEASURE_H

#include "plan/simulate.h"
#include "session.h"

/* Measures in many short turns: each times nearly everything, so that whatever slows the machine for a while meets all
 * alike, and more turns can follow whenever it suits. What is timed: each chunk from start to end as its unit stamped
 * them, in calls through the whole model, each row with keys and values of its own. Beside another lane: the same while
 * that lane decodes or reads a prompt, over the time alone in the same turn. */
typedef struct plan_meter plan_meter;

/* The session's model must be open and its chunks placed; it outlives the meter. STRETTO_E_STOPPED on request. */
int plan_meter_open(plan_meter **out, session *s, const st_workload *workload, stretto_error *err);
void plan_meter_close(plan_meter *meter); /* NULL is fine */
int plan_meter_turn(plan_meter *meter, stretto_error *err);
/* As many turns as a first decision wants; of a slow model fewer. */
int plan_meter_turns(plan_meter *meter, stretto_error *err);

/* What is known of the session's chunks without measuring: names, layers and bytes. Chunks must be placed; the table
 * has as many. */
void plan_describe_chunks(const session *s, st_costs *costs);

/* Means (plan_samples_mean) over all turns so far, of which there must be one at least; *out is the caller's:
 * st_costs_free. */
int plan_meter_costs(const plan_meter *meter, st_costs *out, stretto_error *err);

/* CPUs that other programs kept busy since the meter was opened, on average; -1: unknown. A busy machine is warned of.
 */
double plan_meter_others(const plan_meter *meter);

#endif
