/* SPDX-License-Identifier: MIT
 * What the runs of a plan's schedules came to, round by round: means, and how well they are known. */
#ifndef CLI_PLAN_ROUNDS_H
#define CLI_PLAN_ROUNDS_H

#include "plan/choose.h"
#include "run_rates.h"

#define PLAN_ROUNDS_LEAST 4
#define PLAN_ROUNDS_MOST 16
#define PLAN_MARGIN 0.06 /* means are known well enough: half of the 95 % interval, as a part of the mean */

/* One run of a schedule: what was measured, what its steps took over what was planned, and what is predicted with such
 * steps (zeros where that is unknown). */
typedef struct schedule_run {
    run_rates measured, with_steps;
    double decode_pace, prefill_pace;
} schedule_run;

typedef struct plan_rounds {
    schedule_run *runs; /* [n_rows][PLAN_ROUNDS_MOST] owned */
    size_t n_rows;
    uint32_t n;  /* complete rounds */
    bool looked; /* how many there are is decided by their margins */
} plan_rounds;

int plan_rounds_open(plan_rounds *r, size_t n_rows, bool looked, stretto_error *err); /* STRETTO_E_MEMORY */
void plan_rounds_close(plan_rounds *r);

/* Where the run of a row in the round that goes on is noted. n is less than PLAN_ROUNDS_MOST. */
schedule_run *plan_rounds_now(plan_rounds *r, size_t row);

/* Whether tokens/s and the time to the first token of each row that was run are known to PLAN_MARGIN: looked at after
 * PLAN_ROUNDS_LEAST rounds and twice as many each time, through ST_LEVEL_LOOKS. After every round, through the 95 %
 * interval, that would hold the truth in 91 % of cases where runs spread by 8 %; so it is 96 % (simulated). Rows are
 * the possible ones of the choice. */
bool plan_rounds_enough(const plan_rounds *r, const st_choice *choice);

/* Fills in `measured` of the rows that were run; nothing without a complete round. */
void plan_rounds_note(const plan_rounds *r, st_choice *choice);

#endif
