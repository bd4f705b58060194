/* SPDX-License-Identifier: MIT */
#include "plan/break_even.h"

#include "base/error.h"
#include "base/utf8.h"
#include "plan/candidates.h"
#include "plan/simulate.h"

#include <stdio.h>
#include <stdlib.h>

#define STREAMS 4
#define PROMPT 512
#define GENERATE 64 /* tokens of each stream: enough for beginning and end not to count */
#define OVERLAP_LEAST (-1.0)
#define PRECISION 1e-3
#define CANDIDATES_MAX 16

typedef struct contest {
    const st_costs *costs;
    const st_break_even_question *question;
    enum st_use use;
    uint32_t streams;
    st_workload workload;
    st_schedule one[CANDIDATES_MAX], two[CANDIDATES_MAX];
    uint32_t n_one, n_two;
    stretto_error missing; /* why a candidate could not be simulated */
    stretto_error *err;
} contest;

static const uint32_t micro_batches[] = {16, 32, 64, 128, 256};
#define N_MICRO_BATCHES (sizeof micro_batches / sizeof *micro_batches)

/* ---- the sides ---- */

static void add_one(contest *c, uint32_t unit) {
    if (unit == ST_COST_NONE) return;
    if (c->use == ST_USE_STREAMS) st_candidate_batched(&c->one[c->n_one++], c->costs, unit, c->streams);
    st_candidate_one(&c->one[c->n_one++], c->costs, unit);
}

static void add_pipelines(contest *c, const uint32_t units[2]) {
    for (size_t i = 0; i < N_MICRO_BATCHES && micro_batches[i] < c->workload.prompt; i++) {
        st_schedule *s = &c->two[c->n_two];
        if (!st_candidate_split(s, c->costs, units, 2, (st_candidate_call){ST_WORK_PREFILL, micro_batches[i]},
                                ST_CANDIDATE_ANY_ROOM))
            continue;
        s->micro_batch = micro_batches[i];
        s->pipelined = true;
        c->n_two++;
    }
}

static void add_stages(contest *c, const uint32_t units[2]) {
    uint32_t half = (c->streams + 1) / 2;
    for (uint32_t batch = 1; batch <= half; batch = batch < half ? half : half + 1) {
        st_schedule *s = &c->two[c->n_two];
        if (!st_candidate_split(s, c->costs, units, 2, (st_candidate_call){ST_WORK_DECODE, batch},
                                ST_CANDIDATE_ANY_ROOM))
            continue;
        st_candidate_stage(s, c->streams, batch);
        c->n_two++;
    }
}

static void add_candidates(contest *c) {
    const st_break_even_question *q = c->question;
    add_one(c, q->joined);
    add_one(c, q->x);
    add_one(c, q->y);
    for (unsigned order = 0; order < 2; order++) {
        uint32_t units[2] = {order ? q->y : q->x, order ? q->x : q->y};
        if (c->use == ST_USE_PREFILL) add_pipelines(c, units);
        if (c->use == ST_USE_STREAMS) add_stages(c, units);
    }
    if (c->use == ST_USE_STREAMS)
        st_candidate_replicas(&c->two[c->n_two++], c->costs, (uint32_t[]){q->x, q->y}, 2, c->streams);
}

/* ---- the contest ---- */

/* Tokens a second; 0 when it cannot be simulated. */
static int value(contest *c, const st_schedule *s, double overlap, double *rate) {
    st_sim_options options = {.slowdown = st_slowdown_of_overlap(overlap)};
    st_sim_result result;
    stretto_error why;
    *rate = 0;
    int code = st_simulate(&result, c->costs, s, &c->workload, &options, &why);
    if (code == STRETTO_E_INPUT) {
        c->missing = why;
        return STRETTO_OK;
    }
    if (code) return st_fail(c->err, code, "%s", why.text);
    *rate = c->use == ST_USE_PREFILL ? c->workload.prompt * 1e9 / result.ttft_ns : result.tokens_per_s;
    st_sim_result_free(&result);
    return STRETTO_OK;
}

static int best(contest *c, const st_schedule *list, uint32_t n, double overlap, double *rate, uint32_t *which) {
    *rate = 0;
    *which = 0;
    for (uint32_t i = 0; i < n; i++) {
        double own;
        int code = value(c, &list[i], overlap, &own);
        if (code) return code;
        if (own > *rate) *rate = own, *which = i;
    }
    return STRETTO_OK;
}

/* Between an overlap where both units lose and one where they win. */
static int find(contest *c, double goal, double loses, double wins, double *at) {
    while (wins - loses > PRECISION) {
        double middle = (loses + wins) / 2, rate;
        uint32_t which;
        int code = best(c, c->two, c->n_two, middle, &rate, &which);
        if (code) return code;
        if (rate >= goal) {
            wins = middle;
        } else {
            loses = middle;
        }
    }
    *at = (loses + wins) / 2;
    return STRETTO_OK;
}

const char *st_percent_text(char out[static ST_PERCENT_TEXT], double part) {
    if (part < 0.005)
        snprintf(out, ST_PERCENT_TEXT, "less than 1 %%");
    else
        snprintf(out, ST_PERCENT_TEXT, "%.0f %%", 100 * part);
    return out;
}

static void tell(st_break_even_result *out, const st_schedule *one, const st_schedule *two, double at_least) {
    st_buf a = {0}, b = {0};
    st_schedule_title(&a, one);
    st_schedule_title(&b, two);
    const char *x = a.failed ? "one unit" : a.data, *y = b.failed ? "both units" : b.data;
    char by[ST_PERCENT_TEXT];
    switch (out->answer) {
    case ST_BREAK_EVEN_AT:
        snprintf(out->reason, sizeof out->reason, "%.*s beats %.*s from an overlap factor of %.2f on", ST_CUT(y, 140),
                 ST_CUT(x, 110), out->overlap);
        break;
    case ST_BREAK_EVEN_NEVER:
        st_percent_text(by, 1 - out->two_tokens_per_s / out->one_tokens_per_s);
        snprintf(out->reason, sizeof out->reason, "even with perfect overlap %.*s would be %s slower than %.*s",
                 ST_CUT(y, 140), by, ST_CUT(x, 100));
        break;
    default:
        st_percent_text(by, at_least / out->one_tokens_per_s - 1);
        snprintf(out->reason, sizeof out->reason, "%.*s is %s faster than %.*s even without any overlap",
                 ST_CUT(y, 140), by, ST_CUT(x, 100));
        break;
    }
    st_buf_free(&a);
    st_buf_free(&b);
}

static int decide(contest *c, st_break_even_result *out) {
    uint32_t one, two;
    double worst;
    int code = best(c, c->one, c->n_one, 1, &out->one_tokens_per_s, &one);
    if (!code) code = best(c, c->two, c->n_two, 1, &out->two_tokens_per_s, &two);
    if (!code) code = best(c, c->two, c->n_two, OVERLAP_LEAST, &worst, &two);
    if (code) return code;
    double goal = out->one_tokens_per_s;
    if (!(goal > 0) || !(out->two_tokens_per_s > 0)) {
        out->answer = ST_BREAK_EVEN_UNKNOWN;
        snprintf(out->reason, sizeof out->reason, "%.*s",
                 ST_CUT(c->missing.text[0] ? c->missing.text : "two units need two chunks", 310));
        return STRETTO_OK;
    }
    out->answer = out->two_tokens_per_s < goal ? ST_BREAK_EVEN_NEVER
                  : worst >= goal              ? ST_BREAK_EVEN_ALWAYS
                                               : ST_BREAK_EVEN_AT;
    if (out->answer == ST_BREAK_EVEN_AT) code = find(c, goal, OVERLAP_LEAST, 1, &out->overlap);
    double shown = out->answer == ST_BREAK_EVEN_NEVER ? 1
                   : out->answer == ST_BREAK_EVEN_AT  ? out->overlap
                                                      : OVERLAP_LEAST;
    double rate;
    if (!code) code = best(c, c->two, c->n_two, shown, &rate, &two);
    if (!code) tell(out, &c->one[one], &c->two[two], worst);
    return code;
}

static int check(const st_costs *costs, const st_break_even_question *q, stretto_error *err) {
    bool joined = q->joined == ST_COST_NONE || q->joined < costs->n_units;
    if (q->x >= costs->n_units || q->y >= costs->n_units || q->x == q->y || !joined)
        return st_fail(err, STRETTO_E_USAGE, "a break-even of units %u and %u: the table has %u", q->x, q->y,
                       costs->n_units);
    if (st_costs_share_core(costs, q->x, q->y))
        return st_fail(err, STRETTO_E_USAGE, "%s and %s share a core: they are no two units", costs->units[q->x].name,
                       costs->units[q->y].name);
    return STRETTO_OK;
}

static void impossible(st_break_even_result *out, const st_costs *costs) {
    st_buf chain = {0};
    st_chain_text(&chain, costs);
    out->answer = ST_BREAK_EVEN_IMPOSSIBLE;
    snprintf(out->reason, sizeof out->reason, "%.*s is a chain, nothing can run beside it",
             ST_CUT(chain.failed ? "token, chunks, token" : chain.data, 200));
    st_buf_free(&chain);
}

int st_break_even(st_break_even_result *out, const st_costs *costs, const st_break_even_question *question,
                  enum st_use use, stretto_error *err) {
    *out = (st_break_even_result){0};
    int code = check(costs, question, err);
    if (code) return code;
    if (use == ST_USE_ONE_STREAM) {
        impossible(out, costs);
        return STRETTO_OK;
    }
    contest *c = calloc(1, sizeof *c);
    if (!c) return st_fail_memory(err, "a break-even", sizeof *c);
    c->costs = costs;
    c->question = question;
    c->use = use;
    c->err = err;
    c->streams = question->streams ? question->streams : STREAMS;
    c->workload = (st_workload){.streams = c->streams, .prompt = 1, .generate = GENERATE};
    if (use == ST_USE_PREFILL)
        c->workload =
            (st_workload){.streams = 1, .prompt = question->prompt ? question->prompt : PROMPT, .generate = 1};
    add_candidates(c);
    code = decide(c, out);
    free(c);
    return code;
}
