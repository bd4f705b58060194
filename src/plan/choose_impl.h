/* SPDX-License-Identifier: MIT
 * The inside of the decision: choose_kinds.c knows which schedules there are, choose_rows.c what becomes of one;
 * choose.c compares them. */
#ifndef ST_PLAN_CHOOSE_IMPL_H
#define ST_PLAN_CHOOSE_IMPL_H

#include "plan/choose.h"

typedef struct chooser {
    const st_costs *costs;
    const st_workload *workload;
    st_choice *out;
    uint64_t seed;
    const atomic_bool *cancel;
    stretto_error *err;
    int code; /* of the first failure, after which nothing is added */
} chooser;

/* ---- choose_rows.c ---- */
double chooser_score(enum st_goal goal, const st_sim_result *r); /* nanoseconds: the less the better */
/* What the schedule would be worth with the micro-batch that suits it, INFINITY where it is impossible. */
double chooser_try(const chooser *c, const st_schedule *s);
/* What a row's schedule comes to, or why it is impossible. */
void chooser_predict(chooser *c, st_choice_row *row);
/* The schedule with the micro-batch that reads a prompt soonest; and, where memory is too little for all of its
 * streams, the same with fewer in flight. */
void chooser_add(chooser *c, const st_schedule *s);
void chooser_add_new(chooser *c, const st_schedule *s); /* unless it is there already */
void chooser_add_impossible(chooser *c, const st_schedule *s, const char *title, const char *why);
/* With as many streams in flight, at least two, as there is memory for; as it is where that are all or none. */
st_schedule chooser_fitting(const chooser *c, const st_schedule *s);
/* In more than the host's work and how prompts are cut; both are of one table, and so of the same layers. */
bool chooser_differ(const st_schedule *a, const st_schedule *b);

/* ---- choose_kinds.c ---- */
void chooser_add_all(chooser *c);

#endif
