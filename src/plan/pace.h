/* SPDX-License-Identifier: MIT
 * How long the steps of a run took against what a cost table says of them: what a machine that has become slower or
 * faster since the table was measured did, apart from what the schedule's simulation gets wrong. Only the steps' own
 * stamps are looked at, never when a token came. */
#ifndef ST_PLAN_PACE_H
#define ST_PLAN_PACE_H

#include "plan/simulate.h"

/* One step: a chunk of a call, as its unit stamped it; all stamps are of one clock. */
typedef struct st_pace_step {
    uint64_t start_ns, end_ns;
    uint16_t chunk, unit; /* of the schedule */
    st_cost_call rows;
} st_pace_step;

typedef struct st_pace st_pace;

/* The schedule's units and chunks must be those of the table: STRETTO_E_INPUT as st_schedule_bind; STRETTO_E_MEMORY.
 * The table must outlive it. */
int st_pace_open(st_pace **out, const st_costs *costs, const st_schedule *schedule, stretto_error *err);
void st_pace_close(st_pace *pace); /* NULL is fine */

/* Notes a step. They may come later than others that started after them, by a thousand or two. Takes a microsecond. */
void st_pace_add(st_pace *pace, const st_pace_step *step);

/* Measured over planned, of all steps so far. A step that ran beside others is compared with what the table says of it
 * alone after its slowdowns by those have been taken out of what it took. 0: there were none of that kind. */
typedef struct st_pace_result {
    uint32_t n_units;
    double decode, prefill; /* of all units; a call with rows of prompts is prefill */
    double unit_decode[ST_PLAN_UNITS_MAX], unit_prefill[ST_PLAN_UNITS_MAX]; /* by the schedule's units */
} st_pace_result;

/* No step may be added afterwards. */
st_pace_result st_pace_finish(st_pace *pace);

/* The table of the schedule's units with chunks as slow as they were in the run: decoding and prompts each by their own
 * factor on each unit, the rest as planned. *out is the caller's. STRETTO_E_MEMORY. */
int st_pace_costs(const st_pace *pace, const st_pace_result *result, st_costs *out, stretto_error *err);

/* What the schedule, which the pace was opened with, gives with that table. As st_simulate. */
int st_pace_simulate(const st_pace *pace, const st_pace_result *result, const st_schedule *schedule,
                     const st_workload *workload, st_sim_rates *out, stretto_error *err);

#endif
