/* SPDX-License-Identifier: MIT
 * What a plan's text and its page say in the same words. */
#ifndef ST_REPORT_PLAN_WORDS_H
#define ST_REPORT_PLAN_WORDS_H

#include "plan/choose.h"

/* The column of what a goal compares, which stands in front: "ms/token"; NULL where that is among the others anyway. */
const char *st_plan_goal_column(enum st_goal goal);

/* How well schedules that were run had been predicted. */
typedef struct st_plan_checked {
    unsigned n;            /* that were run */
    unsigned rates, first; /* whose tokens/s, and whose time to the first token, were within a tenth */
    unsigned rounds;       /* how often each ran */
    unsigned n_steps, steps_rates, steps_first; /* the same predicted with the steps as they were */
    const st_choice_row *best;                  /* the fastest for the goal, as measured; NULL: none was run */
} st_plan_checked;
st_plan_checked st_plan_check_of(const st_choice *choice);

#define ST_PLAN_CLOSE 10.0 /* percent: a prediction further off is a bad one */

/* Percent that the measured value is above the predicted one. */
double st_plan_above(double measured, double predicted);

/* "-4 ±3 %": the measured mean above what was predicted; margin: as a part, 0 where it is unknown and not told. */
void st_plan_above_text(st_buf *out, double measured, double predicted, double margin);

/* "tokens/s of 3, the first token of 2 of 4 schedules" */
void st_plan_checked_text(st_buf *out, const st_plan_checked *checked);
void st_plan_checked_steps_text(st_buf *out, const st_plan_checked *checked); /* where n_steps is not 0 */

/* "means of 7 runs each; ±: half of the 95 % interval of the mean"; where rounds is above 1 */
void st_plan_rounds_text(st_buf *out, const st_plan_checked *checked);

/* "cpu:0+1 92.0 %, host 5.0 %, between them 3.0 %" of a row's critical path. */
void st_plan_path_text(st_buf *out, const st_choice_row *row);

/* "3 streams, prompts of 128 tokens, 64 tokens each; for throughput" */
void st_plan_task_text(st_buf *out, const st_choice *choice);

/* The time that the goal compares: "from handing over to a stream's last token, over its tokens" */
const char *st_plan_goal_text(enum st_goal goal);

#endif
