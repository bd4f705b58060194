/* SPDX-License-Identifier: MIT
 * From what overlap factor on two units are worth more than one. The answer depends on what everything costs on each
 * unit, so it is simulated: the best schedule that uses both units against the best that uses one, which may be the
 * unit made of both units' cores. */
#ifndef ST_PLAN_BREAK_EVEN_H
#define ST_PLAN_BREAK_EVEN_H

#include "plan/cost.h"

enum st_use {
    ST_USE_ONE_STREAM, /* decoding one stream */
    ST_USE_PREFILL,    /* reading one prompt */
    ST_USE_STREAMS,    /* decoding several streams */
    ST_USES
};

typedef struct st_break_even_question {
    uint32_t x, y;    /* two units of the table that share no core */
    uint32_t joined;  /* the unit made of both, or ST_COST_NONE */
    uint32_t streams; /* of ST_USE_STREAMS; 0: 4 */
    uint32_t prompt;  /* tokens, of ST_USE_PREFILL; 0: 512 */
} st_break_even_question;

enum st_break_even_answer {
    ST_BREAK_EVEN_AT,         /* at `overlap` */
    ST_BREAK_EVEN_NEVER,      /* both units lose even when they overlap perfectly */
    ST_BREAK_EVEN_ALWAYS,     /* they win even when each stands in the other's way (an overlap factor of -1) */
    ST_BREAK_EVEN_IMPOSSIBLE, /* the steps are a chain: nothing could run beside another */
    ST_BREAK_EVEN_UNKNOWN,    /* the table does not say enough; the reason says what is missing */
};

typedef struct st_break_even_result {
    enum st_break_even_answer answer;
    double overlap;          /* of ST_BREAK_EVEN_AT, -1 to 1 */
    double one_tokens_per_s; /* of the best schedule on one unit, 0: none */
    double two_tokens_per_s; /* of the best on both at an overlap factor of 1 */
    char reason[320];        /* one sentence without a full stop; never empty */
} st_break_even_result;

/* An overlap factor f stands for two units that slow each other alike: of two equal steps that started together
 * Tparallel = (2 - f) T, so each goes 2 - f times slower while both run. The table's own slowdowns are not used.
 * STRETTO_E_USAGE when x, y and joined are not units of the table, or x and y share a core; STRETTO_E_MEMORY. */
int st_break_even(st_break_even_result *out, const st_costs *costs, const st_break_even_question *question,
                  enum st_use use, stretto_error *err);

/* The two directions of that. */
static inline double st_slowdown_of_overlap(double overlap) {
    return 2 - overlap;
}
static inline double st_overlap_of_slowdown(double slowdown) {
    return 2 - slowdown;
}

/* "12 %"; of what would round to nothing, but is something, "less than 1 %". Returns out. */
#define ST_PERCENT_TEXT 24
const char *st_percent_text(char out[static ST_PERCENT_TEXT], double part);

#endif
