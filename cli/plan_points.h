/* SPDX-License-Identifier: MIT
 * Which calls a measured cost table is made from, and which of them there is time for. Numbers only. */
#ifndef CLI_PLAN_POINTS_H
#define CLI_PLAN_POINTS_H

#include "plan/simulate.h"

#include <stddef.h>

#define PLAN_POINTS_MAX 12
#define PLAN_LONG_NS 1e9 /* a call that takes longer is timed once */

/* A call whose time is a point of the table's curves. */
typedef struct plan_point {
    enum st_work work;
    uint32_t tokens;
    bool decodes;  /* rows of decoding streams, with their logits if they are work of that kind */
    bool left_out; /* it would take too long: its time is on the line through those of fewer tokens */
    double ns;     /* a call is expected to take, on all lanes one after the other */
} plan_point;

typedef struct plan_points {
    plan_point list[PLAN_POINTS_MAX];
    uint32_t n, n_lanes; /* n_lanes: those whose sizes were added */
} plan_points;

/* What a few calls on one lane took: of one row, of `rows` decoding rows, of `tokens` tokens of prompts. */
typedef struct plan_sizes {
    double one_ns, rows_ns, tokens_ns;
    uint32_t rows, tokens;
} plan_sizes;

/* For so many streams of prompts of so many tokens; a call has at most `most` of them, and most_rows decoding rows.
 * One token without logits is decoding but for the head: what that adds to a call is the difference. */
void plan_points_choose(plan_points *points, const st_workload *workload, uint32_t most, uint32_t most_rows);

/* Adds what calls are expected to take on one more lane: on the line through its sizes. */
void plan_points_expect(plan_points *points, const plan_sizes *sizes);

/* How often a turn times such a call: long ones once. Before decoding there is one that is not timed, since it finds
 * other calls' caches, which a long one does not notice; but one row's is to follow another. */
uint32_t plan_point_calls(const plan_points *points, uint32_t p);
uint32_t plan_point_warm_calls(const plan_points *points, uint32_t p);

/* Leaves the longest calls out until a turn of the rest is expected to take no more than most_ns; the least of each
 * kind stays. Returns what is expected then. */
double plan_points_fit(plan_points *points, double most_ns);

/* The most tokens of a call of that kind, up to the most there is a point of, that is expected to take no more than
 * most_ns on one lane; 1 where each takes longer. */
uint32_t plan_points_most(const plan_points *points, enum st_work work, double most_ns);

/* What was left out, and why: "" where nothing was. */
void plan_points_text(const plan_points *points, char *out, size_t size);

#endif
