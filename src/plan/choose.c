/* SPDX-License-Identifier: MIT */
#include "plan/choose.h"

#include "base/error.h"
#include "base/utf8.h"
#include "plan/break_even.h"
#include "plan/choose_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_ROWS 4 /* the best schedules of several units, of which one may win at another overlap factor */
#define TURN_LEAST (-1.0)
#define TURN_PRECISION 1e-3

const char *const st_goal_names[] = {"latency", "throughput", "ttft", NULL};

bool st_row_overlaps(const st_choice_row *row) {
    return row->result.beside_ns > 0;
}

/* The overlap factor that the table's slowdowns of two units at such work amount to: 2 minus their mean. */
static double costs_overlap(const st_costs *costs, uint32_t x, uint32_t y, enum st_work work) {
    double there = *st_cost_unit_slowdown(costs, x, work, y, work);
    double back = *st_cost_unit_slowdown(costs, y, work, x, work);
    return st_overlap_of_slowdown((there + back) / 2);
}

void st_choice_free(st_choice *choice) {
    for (size_t i = 0; i < choice->n_rows; i++) {
        st_sim_result_free(&choice->rows[i].result);
        free(choice->rows[i].measured.events);
    }
    free(choice->rows);
    *choice = (st_choice){0};
}

/* ---- the decision ---- */

static int order_rows(const void *a, const void *b) {
    const st_choice_row *x = a, *y = b;
    if (x->possible != y->possible) return x->possible ? -1 : 1;
    if (x->possible && x->score != y->score) return x->score < y->score ? -1 : 1;
    if (x->possible && x->result.end_ns != y->result.end_ns) return x->result.end_ns < y->result.end_ns ? -1 : 1;
    return strcmp(x->title, y->title);
}

static void because(const st_choice_row *row, const st_workload *workload, char *out, size_t size) {
    const st_schedule *s = &row->schedule;
    out[0] = '\0';
    if (s->draft != ST_DRAFT_NONE) {
        snprintf(out, size, ": a verification gives %.1f tokens", row->result.accepted);
    } else if (s->kind == ST_SCHEDULE_HANDOVER && st_row_overlaps(row)) {
        snprintf(out, size, ": one unit reads prompts while the other decodes");
    } else if (s->kind == ST_SCHEDULE_BATCHED || s->batch > 1) {
        snprintf(out, size, ": a call reads the weights once for %u streams", s->batch);
    } else if (s->kind == ST_SCHEDULE_PLACED && s->pipelined) {
        snprintf(out, size, ": the micro-batches of a prompt follow each other through the units");
    } else if (st_row_overlaps(row)) {
        double least = 1;
        for (uint32_t u = 0; u < s->n_units; u++)
            if (row->result.utilisation[u] < least) least = row->result.utilisation[u];
        if (least > 0.995)
            snprintf(out, size, ": its units are busy all of the time");
        else
            snprintf(out, size, ": each of its units is busy %.0f %% of the time or more", 100 * least);
    } else if (workload->streams == 1) {
        snprintf(out, size, ": the steps of one stream are a chain, and run fastest there");
    }
}

static void explain(chooser *c) {
    static const char *const gains[] = {"less time for each token", "less time for all streams",
                                        "less time to the first token"};
    st_choice *out = c->out;
    if (out->n_possible == 0) return;
    char why[120];
    because(&out->rows[0], c->workload, why, sizeof why);
    out->runner_up = 1;
    while (out->runner_up < out->n_possible &&
           !chooser_differ(&out->rows[0].schedule, &out->rows[out->runner_up].schedule))
        out->runner_up++;
    if (out->runner_up == out->n_possible) {
        snprintf(out->reason, sizeof out->reason, "%.*s is the only possible schedule",
                 ST_CUT(out->rows[0].title, 140));
        return;
    }
    const st_choice_row *second = &out->rows[out->runner_up];
    double gain = 100 * (1 - out->rows[0].score / second->score);
    if (gain < 0.05)
        snprintf(out->reason, sizeof out->reason, "%.*s needs as much %s as %.*s", ST_CUT(out->rows[0].title, 140),
                 gains[out->goal] + strlen("less "), ST_CUT(second->title, 140));
    else
        snprintf(out->reason, sizeof out->reason, "%.*s needs %.*f %% %s than %.*s%s", ST_CUT(out->rows[0].title, 140),
                 gain < 9.95 ? 1 : 0, gain, gains[out->goal], ST_CUT(second->title, 140), why);
}

/* ---- what would change it ---- */

/* What the row's schedule would be worth if its units overlapped so much; INFINITY where that cannot be simulated. */
static double score_at(const chooser *c, const st_choice_row *row, double overlap) {
    st_sim_result result;
    st_sim_options options = {.slowdown = st_slowdown_of_overlap(overlap), .seed = c->seed, .cancel = c->cancel};
    if (st_simulate(&result, c->costs, &row->schedule, c->workload, &options, NULL)) return INFINITY;
    double score = chooser_score(c->out->goal, &result);
    st_sim_result_free(&result);
    return score;
}

/* The best score of the best few schedules of several units if their units overlapped so much. */
static double overlapping_score(chooser *c, double overlap, const st_choice_row **which) {
    double best = INFINITY;
    unsigned tried = 0;
    for (size_t i = 0; i < c->out->n_possible && tried < TURN_ROWS; i++) {
        const st_choice_row *row = &c->out->rows[i];
        if (!st_row_overlaps(row)) continue;
        tried++;
        double score = score_at(c, row, overlap);
        if (score < best) best = score, *which = row;
    }
    return best;
}

static const st_choice_row *best_alone(const chooser *c) {
    for (size_t i = 0; i < c->out->n_possible; i++) {
        if (!st_row_overlaps(&c->out->rows[i])) return &c->out->rows[i];
    }
    return NULL;
}

/* The overlap factor that the table's slowdowns amount to: that at which the row's schedule is worth what it is with
 * them, so that it can be set against a turning point. Often it is that of two units at one kind of work, which is
 * tried first. */
static double row_overlap(const chooser *c, const st_choice_row *row) {
    uint32_t x = st_costs_unit(c->costs, row->schedule.units[0]), y = st_costs_unit(c->costs, row->schedule.units[1]);
    double of_pair = costs_overlap(c->costs, x, y, c->out->goal == ST_GOAL_TTFT ? ST_WORK_PREFILL : ST_WORK_DECODE);
    if (fabs(score_at(c, row, of_pair) - row->score) <= 1e-9 * row->score) return of_pair;
    double less = TURN_LEAST, more = 1;
    while (more - less > TURN_PRECISION) {
        double middle = (less + more) / 2;
        if (score_at(c, row, middle) <= row->score) {
            more = middle;
        } else {
            less = middle;
        }
    }
    return (less + more) / 2;
}

/* Between an overlap where the units together lose against `alone` and one where they win. */
static double turning_point(chooser *c, double alone, const st_choice_row **which) {
    double loses = TURN_LEAST, wins = 1;
    while (wins - loses > TURN_PRECISION) {
        double middle = (loses + wins) / 2;
        if (overlapping_score(c, middle, which) <= alone) {
            wins = middle;
        } else {
            loses = middle;
        }
    }
    return (loses + wins) / 2;
}

static void find_turn(chooser *c) {
    st_choice *out = c->out;
    const st_choice_row *alone = best_alone(c), *together = NULL;
    out->measured = NAN;
    if (!alone) return;
    double most = overlapping_score(c, 1, &together);
    if (!together) {
        if (c->costs->n_units > 1)
            snprintf(out->turn, sizeof out->turn,
                     "no overlap factor would change that: no possible schedule has two units at work at once");
        return;
    }
    const st_choice_row *at_most = together;
    char longer[ST_PERCENT_TEXT];
    bool wins = most <= alone->score, always = overlapping_score(c, TURN_LEAST, &together) <= alone->score;
    out->measured = row_overlap(c, at_most);
    if (!wins) {
        snprintf(out->turn, sizeof out->turn,
                 "no overlap factor would change that: even at 1 %.*s would take %s longer",
                 ST_CUT(at_most->title, 140), st_percent_text(longer, most / alone->score - 1));
    } else if (always) {
        snprintf(out->turn, sizeof out->turn, "no overlap factor would change that: %.*s wins even at -1",
                 ST_CUT(together->title, 140));
    } else {
        out->turns = true;
        out->overlap = turning_point(c, alone->score, &together);
        out->measured = row_overlap(c, together);
        bool now = st_row_overlaps(&out->rows[0]);
        double shown = fabs(out->overlap) < 0.005 ? 0 : out->overlap; /* not as -0.00 */
        snprintf(out->turn, sizeof out->turn, "%s an overlap factor of %.2f (here %.2f) %.*s would be the best",
                 now ? "below" : "above", shown, out->measured, ST_CUT(now ? alone->title : together->title, 140));
    }
}

static void decide(chooser *c) {
    st_choice *out = c->out;
    qsort(out->rows, out->n_rows, sizeof *out->rows, order_rows);
    out->n_possible = 0;
    while (out->n_possible < out->n_rows && out->rows[out->n_possible].possible) out->n_possible++;
    explain(c);
    find_turn(c);
}

int st_choose(st_choice *out, const st_costs *costs, const st_workload *workload, enum st_goal goal, uint64_t seed,
              const atomic_bool *cancel, stretto_error *err) {
    *out = (st_choice){.goal = goal, .workload = *workload, .seed = seed};
    if (workload->streams == 0 || workload->streams > ST_PLAN_STREAMS_MAX || workload->prompt == 0 ||
        workload->generate == 0)
        return st_fail(err, STRETTO_E_USAGE, "a plan wants 1 to %d streams, a prompt and something to generate",
                       ST_PLAN_STREAMS_MAX);
    chooser c = {.costs = costs, .workload = workload, .out = out, .seed = seed, .cancel = cancel, .err = err};
    chooser_add_all(&c);
    if (!c.code) decide(&c);
    if (!c.code && cancel && atomic_load_explicit(cancel, memory_order_relaxed))
        c.code = st_fail(err, STRETTO_E_STOPPED, "interrupted while choosing a schedule");
    if (c.code) st_choice_free(out);
    return c.code;
}

int st_choose_again(st_choice *choice, const st_costs *costs, stretto_error *err) {
    chooser c = {.costs = costs, .workload = &choice->workload, .out = choice, .seed = choice->seed, .err = err};
    for (size_t i = 0; i < choice->n_possible && !c.code; i++) chooser_predict(&c, &choice->rows[i]);
    choice->reason[0] = choice->turn[0] = '\0';
    choice->turns = false;
    if (!c.code) decide(&c);
    return c.code;
}
