/* SPDX-License-Identifier: MIT
 * What the whole chain costs on each unit of a probe, so that the planner can say what an overlap is worth.
 *
 * Timed: each chunk from start to end as the unit stamped it, in calls of the whole chain, which leaves the caches as a
 * real step does. Not timed: opening the chain, and the first call of each size unless it takes long. */
#include "plan_measure.h"
#include "probe_setup.h"

#include "base/clock.h"
#include "base/error.h"
#include "stat/stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 4
#define PROMPT 64 /* tokens of the largest call */
#define CALLS 5   /* of decode, of which the first does not count */
#define PROMPTS 3 /* likewise, of a prompt */
#define CONTEXT (PROMPT + 64)
#define SLOW_NS 250000000u /* a first call that takes this long counts, and is not repeated */
#define UNITS_MAX (2 * CLI_LANES_MAX < ST_PLAN_UNITS_MAX ? 2 * CLI_LANES_MAX : ST_PLAN_UNITS_MAX)

/* The calls that are timed. Prompts first, so that the others stand behind one. */
static const struct call_size {
    enum st_work work;
    uint32_t tokens;
} sizes[] = {{ST_WORK_PREFILL, PROMPT},
             {ST_WORK_PREFILL, 16},
             {ST_WORK_DECODE, 1},
             {ST_WORK_DECODE, STREAMS / 2},
             {ST_WORK_DECODE, STREAMS}};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* Times of calls of one size; ns: [n_chunks][CALLS]. Returns how many in *n. A prompt starts anew each time. */
static int time_calls(st_chain *chain, const struct call_size *size, double *ns, unsigned *n, stretto_error *err) {
    static const int32_t ids[PROMPT];
    bool prompt = size->work == ST_WORK_PREFILL;
    uint64_t begin = st_now_ns();
    *n = prompt ? PROMPTS : CALLS;
    for (unsigned call = 0; call < *n; call++) {
        if (call == 1 && st_now_ns() - begin > SLOW_NS) {
            *n = 1;
            break;
        }
        if (prompt) st_chain_reset(chain);
        int rc = st_chain_forward(chain, ids, size->tokens, prompt ? ST_WANT_NONE : ST_WANT_ALL, NULL, NULL, err);
        if (rc) return rc;
        for (uint32_t c = 0; c < st_chain_n_chunks(chain); c++) {
            uint64_t start, end;
            st_chain_times(chain, c, &start, &end);
            ns[c * CALLS + call] = (double)(end - start);
        }
    }
    return STRETTO_OK;
}

static int time_chain(st_chain *chain, st_costs *costs, uint32_t unit, stretto_error *err) {
    uint32_t n_chunks = costs->n_chunks;
    double *ns = calloc((size_t)n_chunks * CALLS, sizeof *ns);
    if (!ns) return st_fail_memory(err, "the chain's times", (size_t)n_chunks * CALLS * sizeof *ns);
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < N_SIZES && !rc; i++) {
        unsigned n;
        rc = time_calls(chain, &sizes[i], ns, &n, err);
        for (uint32_t c = 0; c < n_chunks && !rc; c++) {
            double median = n > 1 ? st_median(&ns[c * CALLS + 1], n - 1) : ns[c * CALLS];
            st_cost_curve_add(st_costs_curve(costs, c, unit, sizes[i].work), sizes[i].tokens, median < 1 ? 1 : median);
        }
    }
    free(ns);
    return rc;
}

/* ---- units ---- */

/* A lane that costs are measured on: one of the session's, or one that is opened for it. */
typedef struct wanted {
    st_unit *unit; /* NULL: to be opened */
    st_unit_info info;
} wanted;

typedef struct wishes {
    wanted list[UNITS_MAX];
    unsigned n;
} wishes;

static void wish(wishes *w, st_unit *unit, const st_unit_info *info) {
    for (unsigned i = 0; i < w->n; i++) {
        const st_unit_info *other = &w->list[i].info;
        if (other->n_cores == info->n_cores && memcmp(other->cores, info->cores, sizeof info->cores) == 0) return;
    }
    if (w->n < UNITS_MAX) w->list[w->n++] = (wanted){unit, *info};
}

/* One unit of the cores of both, which a pair of units is set against. */
static void wish_joined(wishes *w, const st_unit_info info[2]) {
    st_unit_info both = {.n_threads = 0};
    unsigned at[2] = {0, 0};
    while (at[0] < info[0].n_cores || at[1] < info[1].n_cores) {
        unsigned next[2];
        for (unsigned i = 0; i < 2; i++) next[i] = at[i] < info[i].n_cores ? info[i].cores[at[i]] : UINT32_MAX;
        unsigned least = next[0] < next[1] ? next[0] : next[1];
        if (both.n_cores == ST_UNIT_MAX_CORES) return;
        both.cores[both.n_cores++] = least;
        for (unsigned i = 0; i < 2; i++) at[i] += next[i] == least;
    }
    wish(w, NULL, &both);
}

static unsigned lane_like(const probe_plan *plan, unsigned unit) {
    return unit < plan->n_lanes ? unit : plan->twins[unit - plan->n_lanes];
}

static void wish_all(wishes *w, const probe_plan *plan) {
    const cli_lanes *lanes = &plan->s->lanes;
    for (unsigned i = 0; i < plan->n_jobs; i++) {
        const st_probe_job *job = &plan->jobs[i];
        if (job->skip || job->arrangement->k) continue;
        st_unit_info info[2];
        for (unsigned k = 0; k < 2; k++) {
            st_unit *unit = lanes->units[lane_like(plan, job->unit[k])];
            st_unit_info_get(unit, &info[k]);
            wish(w, unit, &info[k]);
        }
        wish_joined(w, info);
    }
}

static void describe(st_cost_unit *out, const st_unit_info *info) {
    snprintf(out->name, sizeof out->name, "%s", info->name);
    out->n_threads = info->n_threads;
    out->memory = 0;
    for (unsigned i = 0; i < info->n_cores && i < ST_COST_CORES_MAX; i++)
        out->cores[out->n_cores++] = (uint16_t)info->cores[i];
}

static int time_unit(probe_plan *plan, st_unit *unit, uint32_t at, stretto_error *err) {
    session *s = plan->s;
    st_unit *units[ST_MAX_CHUNKS];
    st_unit_info info;
    st_unit_info_get(unit, &info);
    describe(&plan->costs->units[at], &info);
    for (uint32_t i = 0; i < s->n_chunks; i++) units[i] = unit;
    bool f32 = s->options->kv_type && strcmp(s->options->kv_type, "f32") == 0;
    const st_chain_options options = {.model = s->model,
                                      .spans = s->spans,
                                      .n_chunks = s->n_chunks,
                                      .units = units,
                                      .kv_type = f32 ? ST_KV_F32 : ST_KV_F16,
                                      .n_ctx = CONTEXT,
                                      .max_batch = PROMPT,
                                      .max_logits = STREAMS,
                                      .stop = s->cx->stop};
    st_chain *chain;
    cli_progress(s->cx, "timing the whole model on %s", info.name);
    int rc = st_chain_open(&chain, &options, err);
    if (!rc) rc = time_chain(chain, plan->costs, at, err);
    st_chain_close(chain);
    return rc;
}

static int time_wanted(probe_plan *plan, const wanted *w, uint32_t at, stretto_error *err) {
    if (w->unit) return time_unit(plan, w->unit, at, err);
    const st_cpu_options options = {.cores = w->info.cores, .n_cores = w->info.n_cores, .pin = true};
    st_unit *unit;
    int rc = st_cpu_open(&unit, &plan->s->lanes.host, &options, err);
    if (rc) return rc;
    rc = time_unit(plan, unit, at, err);
    st_unit_close(unit);
    return rc;
}

static int measure_all(probe_plan *plan, const wishes *w, stretto_error *err) {
    session *s = plan->s;
    int rc = st_costs_create(plan->costs, s->n_chunks, w->n, err);
    if (rc) return rc;
    plan->costs->n_memories = 1;
    snprintf(plan->costs->memories[0].name, ST_PLAN_NAME, "host");
    plan_describe_chunks(s, plan->costs);
    for (unsigned i = 0; i < w->n && !rc; i++) rc = time_wanted(plan, &w->list[i], i, err);
    cli_progress_end(s->cx);
    return rc;
}

int probe_costs_measure(probe_plan *plan, stretto_error *err) {
    uint32_t own = plan->s->model->n_ctx_train;
    wishes *w = calloc(1, sizeof *w);
    plan->costs = calloc(1, sizeof *plan->costs);
    if (!w || !plan->costs) {
        free(w);
        return st_fail_memory(err, "the chain's costs", sizeof *w);
    }
    if (!own || own >= CONTEXT) wish_all(w, plan);
    int rc = w->n > 0 ? measure_all(plan, w, err) : STRETTO_OK;
    if (w->n == 0 || rc == STRETTO_E_STOPPED) { /* the rows say what there is without */
        probe_costs_free(plan->costs);
        plan->costs = NULL;
        rc = STRETTO_OK;
    }
    free(w);
    return rc;
}

void probe_costs_free(st_costs *costs) {
    if (costs) st_costs_free(costs);
    free(costs);
}
