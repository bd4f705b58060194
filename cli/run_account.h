/* SPDX-License-Identifier: MIT
 * What a run came to beside what was predicted of it; and how much of the difference is that its steps took another
 * time than when the schedule was planned, since a machine changes, and how much is left for the planner. */
#ifndef CLI_RUN_ACCOUNT_H
#define CLI_RUN_ACCOUNT_H

#include "plan/pace.h"
#include "run_rates.h"

/* What was predicted, and for what. */
typedef struct run_expected {
    bool there, for_known; /* for_known: the file says what it was predicted for */
    st_workload workload;
    run_rates rates;
    bool has_costs;
    st_costs costs; /* that it was predicted from; owned */
    st_pace *pace;  /* of the run's steps, or NULL; owned */
} run_expected;

/* Makes ready for the steps of a run of the schedule, where they can be compared with what was planned.
 * STRETTO_E_MEMORY. */
int run_expected_watch(run_expected *expected, const st_schedule *schedule, stretto_error *err);
void run_expected_see(run_expected *expected, const st_schedule *schedule, const st_pass_seen *pass);
void run_expected_close(run_expected *expected); /* what it owns; zeroed memory is fine */

/* What was run: prompts that were all handed over at once, and the least and the most of their tokens, and of those
 * that they generated. */
typedef struct run_load {
    uint32_t n, prompt[2], generated[2];
} run_load;

void run_load_add(run_load *load, uint32_t n_prompt, uint32_t n_generated); /* one prompt more */

typedef struct run_account {
    run_rates measured, predicted, with_steps; /* with_steps: predicted, had the steps been known */
    st_workload workload;                      /* that it was predicted for */
    bool has_prediction, for_known, comparable, has_steps;
    char not_compared[200]; /* why measured and predicted are not comparable, */
    char no_steps[200];     /* and why the difference is not told apart */
    char units[ST_PLAN_UNITS_MAX][ST_PLAN_NAME];
    st_pace_result steps; /* by those units */
} run_account;

/* Measured and predicted are compared where as many prompts were run, and each of them was, and became, as long to a
 * twentieth or a token; what steps took with them. The last thing to be asked of the expected. */
void run_account_of(run_account *out, run_expected *expected, const st_schedule *schedule, const run_rates *measured,
                    const run_load *load);

/* On standard error: a line of figures; if any were predicted, one more with those, their quotients or why they cannot
 * be compared, and what of that the steps were. */
void run_account_print(cli *cx, const run_account *account);

/* The same; the caller's reference. NULL when memory is out. */
json_t *run_account_json(const run_account *account);

#endif
