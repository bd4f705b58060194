/* SPDX-License-Identifier: MIT
 * The decision: every schedule that a cost table allows, simulated; the best for a goal, the runner-up, why, and what
 * would change the answer. */
#ifndef ST_PLAN_CHOOSE_H
#define ST_PLAN_CHOOSE_H

#include "plan/simulate.h"

enum st_goal {
    ST_GOAL_LATENCY, /* least time from handing a prompt over to its last token, for each token: the mean over streams
                      */
    ST_GOAL_THROUGHPUT, /* all streams done soonest */
    ST_GOAL_TTFT,       /* first tokens soonest: the mean over streams */
};
extern const char *const st_goal_names[]; /* "latency", "throughput", "ttft"; ended by NULL */

/* What running a schedule gave, as in st_sim_result; filled in by who runs it. */
typedef struct st_measured {
    bool done;
    double tokens_per_s, stream_tokens_per_s, prefill_tokens_per_s, ttft_ns; /* means over `rounds` runs */
    uint32_t rounds;
    double rate_margin,
        ttft_margin; /* half of the 95 % intervals of the first and the last, as parts of them; 0: unknown */
    double decode_pace, prefill_pace; /* what its steps took over what was planned (plan/pace.h); 0: unknown, */
    st_sim_rates with_steps;          /* and what is predicted with such steps; zeros where that is unknown */
    st_sim_event *events;             /* [n_events] what ran when in one run, without the host; owned; NULL: not kept */
    size_t n_events;
    char why[200]; /* it was not run; "": nobody tried */
} st_measured;

typedef struct st_choice_row {
    st_schedule schedule; /* of one that is impossible: as far as it makes sense */
    bool possible;
    char title[160];
    char why[320];        /* it is impossible */
    double score;         /* nanoseconds, the less the better; of a possible one */
    st_sim_result result; /* without events */
    st_measured measured;
} st_choice_row;

typedef struct st_choice {
    enum st_goal goal;
    st_workload workload;
    uint64_t seed;
    st_choice_row *rows; /* [n_rows] owned: the possible ones from best to worst, then the impossible ones */
    size_t n_rows, n_possible;
    size_t runner_up; /* the best row that differs from the first in more than its host work; n_possible: none */
    size_t cap_rows;
    char reason[480]; /* why the first is the best, in a sentence; "" when nothing is possible */
    /* What overlap factor would change the answer: where the best schedule that uses several units at once and the best
     * that does not are equal. */
    bool turns;      /* there is one between -1 and 1 */
    double overlap;  /* that factor */
    double measured; /* what the table's slowdowns amount to for the schedule concerned; NAN: no two units */
    char turn[320];  /* in a sentence; "" when nothing can be compared */
} st_choice;

/* Workload: all streams are handed over at once. STRETTO_E_USAGE for an empty workload; STRETTO_E_MEMORY;
 * STRETTO_E_STOPPED after cancel, which may be NULL: nothing is chosen then. That nothing is possible is no error:
 * n_possible is 0 and each row says why. *out is the caller's: st_choice_free. */
int st_choose(st_choice *out, const st_costs *costs, const st_workload *workload, enum st_goal goal, uint64_t seed,
              const atomic_bool *cancel, stretto_error *err);
/* The same schedules with other costs of the same chunks and units, and what was measured of them: predicted, put in
 * order and explained anew. STRETTO_E_MEMORY. */
int st_choose_again(st_choice *choice, const st_costs *costs, stretto_error *err);
void st_choice_free(st_choice *choice); /* zeroed memory is fine */

/* Whether several units ever work at the same time in a possible row's simulation: what a schedule allows, such as a
 * prompt in micro-batches over two units, need not happen with every workload. */
bool st_row_overlaps(const st_choice_row *row);

#endif
