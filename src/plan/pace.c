/* SPDX-License-Identifier: MIT
 * The steps of a run are replayed in the order of their stamps: at each moment it is known which units are at work, and
 * so by how much the table has each of them slowed. Steps arrive when their call is done, hence not in that order; they
 * are kept until enough have come that an earlier one is unlikely. */
#include "plan/pace.h"

#include "base/error.h"

#include <stdlib.h>

#define KEPT_MOST 4096

/* What a unit does at the moment of the replay. */
typedef struct running {
    bool busy;
    st_pace_step step;
    double alone_ns; /* that it would have taken so far with nothing beside */
} running;

typedef struct totals {
    double took_ns, planned_ns;
} totals;

struct st_pace {
    const st_costs *costs;
    uint32_t n_units, table[ST_PLAN_UNITS_MAX]; /* the schedule's units as indices of the table */
    running units[ST_PLAN_UNITS_MAX];
    uint64_t now_ns;
    totals totals[ST_PLAN_UNITS_MAX][ST_WORKS];
    st_pace_step kept[KEPT_MOST];
    size_t n_kept;
};

int st_pace_open(st_pace **out, const st_costs *costs, const st_schedule *schedule, stretto_error *err) {
    const char *names[ST_PLAN_UNITS_MAX];
    *out = NULL;
    st_pace *p = calloc(1, sizeof *p);
    if (!p) return st_fail_memory(err, "the steps of a run", sizeof *p);
    p->costs = costs;
    p->n_units = schedule->n_units;
    for (uint32_t u = 0; u < costs->n_units; u++) names[u] = costs->units[u].name;
    int code = st_schedule_bind(schedule, costs->n_chunks, names, costs->n_units, p->table, err);
    if (code)
        st_pace_close(p);
    else
        *out = p;
    return code;
}

void st_pace_close(st_pace *p) {
    free(p);
}

/* ---- the replay ---- */

/* How many times slower the table has unit u go now. */
static double slowness(const st_pace *p, uint32_t u) {
    const st_pace_step *own = &p->units[u].step;
    double slow = 1;
    for (uint32_t v = 0; v < p->n_units; v++) {
        const st_pace_step *other = &p->units[v].step;
        if (v == u || !p->units[v].busy) continue;
        slow += st_cost_slowdown(p->costs, p->table[u], own->chunk, st_cost_call_beside(&own->rows), p->table[v],
                                 other->chunk, st_cost_call_beside(&other->rows)) -
                1;
    }
    return slow > ST_COST_LEAST_RATE ? slow : ST_COST_LEAST_RATE;
}

static void go_to(st_pace *p, uint64_t now_ns) {
    if (now_ns <= p->now_ns) return;
    for (uint32_t u = 0; u < p->n_units; u++)
        if (p->units[u].busy) p->units[u].alone_ns += (double)(now_ns - p->now_ns) / slowness(p, u);
    p->now_ns = now_ns;
}

static void end_step(st_pace *p, uint32_t u) {
    const st_pace_step *step = &p->units[u].step;
    double planned = st_cost_call_ns(p->costs, step->chunk, p->table[u], &step->rows);
    totals *t = &p->totals[u][st_cost_call_work(&step->rows)];
    p->units[u].busy = false;
    if (!(planned > 0)) return;
    t->took_ns += p->units[u].alone_ns;
    t->planned_ns += planned;
}

/* Ends what has ended by then, in its order. */
static void end_steps(st_pace *p, uint64_t until_ns) {
    for (;;) {
        uint32_t first = p->n_units;
        for (uint32_t u = 0; u < p->n_units; u++) {
            if (!p->units[u].busy || p->units[u].step.end_ns > until_ns) continue;
            if (first == p->n_units || p->units[u].step.end_ns < p->units[first].step.end_ns) first = u;
        }
        if (first == p->n_units) return;
        go_to(p, p->units[first].step.end_ns);
        end_step(p, first);
    }
}

/* A step that came too late to be replayed in its order counts from where the replay is, and the time before as alone.
 */
static void begin_step(st_pace *p, const st_pace_step *step) {
    running *unit = &p->units[step->unit];
    end_steps(p, step->start_ns);
    go_to(p, step->start_ns);
    if (unit->busy) end_step(p, step->unit);
    uint64_t before_ns = step->end_ns < p->now_ns ? step->end_ns : p->now_ns;
    *unit = (running){.busy = true, .step = *step, .alone_ns = (double)(before_ns - step->start_ns)};
    if (step->end_ns <= p->now_ns) end_step(p, step->unit);
}

static int by_start(const void *a, const void *b) {
    uint64_t x = ((const st_pace_step *)a)->start_ns, y = ((const st_pace_step *)b)->start_ns;
    return (x > y) - (x < y);
}

/* The first n of those that are kept. */
static void replay(st_pace *p, size_t n) {
    qsort(p->kept, p->n_kept, sizeof *p->kept, by_start);
    for (size_t i = 0; i < n; i++) begin_step(p, &p->kept[i]);
    p->n_kept -= n;
    for (size_t i = 0; i < p->n_kept; i++) p->kept[i] = p->kept[n + i];
}

void st_pace_add(st_pace *p, const st_pace_step *step) {
    if (step->unit >= p->n_units || step->chunk >= p->costs->n_chunks || step->end_ns < step->start_ns) return;
    if (p->n_kept == KEPT_MOST) replay(p, KEPT_MOST / 2);
    p->kept[p->n_kept++] = *step;
}

/* ---- what came of it ---- */

static void add(totals *sum, const totals *own) {
    sum->took_ns += own->took_ns;
    sum->planned_ns += own->planned_ns;
}

static double factor(const totals *t) {
    return t->planned_ns > 0 ? t->took_ns / t->planned_ns : 0;
}

st_pace_result st_pace_finish(st_pace *p) {
    st_pace_result result = {.n_units = p->n_units};
    totals decode = {0}, prefill = {0};
    replay(p, p->n_kept);
    end_steps(p, UINT64_MAX);
    for (uint32_t u = 0; u < p->n_units; u++) {
        add(&decode, &p->totals[u][ST_WORK_DECODE]);
        add(&prefill, &p->totals[u][ST_WORK_PREFILL]);
        result.unit_decode[u] = factor(&p->totals[u][ST_WORK_DECODE]);
        result.unit_prefill[u] = factor(&p->totals[u][ST_WORK_PREFILL]);
    }
    result.decode = factor(&decode);
    result.prefill = factor(&prefill);
    return result;
}

/* by_one: a point of one token that is not the only one. */
static void scale(st_cost_curve *curve, double by, double by_one) {
    for (uint32_t i = 0; i < curve->n; i++)
        curve->points[i].ns *= curve->n > 1 && curve->points[i].tokens == 1 ? by_one : by;
}

/* One token of a prompt is decoding but for the head, where more have a cost of their own. Without costs of prompts
 * those of decoding are both. */
static void scale_unit(const st_pace *p, uint32_t u, double decode, double prefill, st_costs *out) {
    totals both = p->totals[u][ST_WORK_DECODE];
    add(&both, &p->totals[u][ST_WORK_PREFILL]);
    for (uint32_t c = 0; c < out->n_chunks; c++) {
        st_cost_curve *prompts = st_costs_curve(out, c, u, ST_WORK_PREFILL);
        double own = prompts->n > 0 ? decode : factor(&both);
        scale(st_costs_curve(out, c, u, ST_WORK_DECODE), own, own);
        scale(prompts, prefill, decode);
    }
}

int st_pace_costs(const st_pace *p, const st_pace_result *result, st_costs *out, stretto_error *err) {
    int code = st_costs_of(out, p->costs, p->table, p->n_units, err);
    for (uint32_t u = 0; u < p->n_units && !code; u++) {
        double decode = result->unit_decode[u], prefill = result->unit_prefill[u];
        if (decode == 0 && prefill == 0) continue; /* it had nothing to do */
        scale_unit(p, u, decode > 0 ? decode : prefill, prefill > 0 ? prefill : decode, out);
    }
    return code;
}

int st_pace_simulate(const st_pace *p, const st_pace_result *result, const st_schedule *schedule,
                     const st_workload *workload, st_sim_rates *out, stretto_error *err) {
    st_costs costs = {0};
    st_sim_result run = {0};
    st_sim_options options = {0};
    int code = st_pace_costs(p, result, &costs, err);
    if (!code) code = st_simulate(&run, &costs, schedule, workload, &options, err);
    *out = (st_sim_rates){run.tokens_per_s, run.stream_tokens_per_s, run.prefill_tokens_per_s, run.ttft_ns};
    st_sim_result_free(&run);
    st_costs_free(&costs);
    return code;
}
