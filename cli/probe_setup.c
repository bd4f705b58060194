/* SPDX-License-Identifier: MIT */
#include "probe_setup.h"

#include "base/error.h"
#include "base/mem.h"
#include "unit/null.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVICT_LEAST (32u << 20) /* where the cache's size is not known */
#define MOST_TOKENS 8           /* of a batched call in the table of arrangements */

/* ---- sides ---- */

static int want_side(probe_plan *plan, uint32_t chunk, uint32_t tokens, unsigned *side, stretto_error *err) {
    for (*side = 0; *side < plan->n_sides; (*side)++) {
        if (plan->of[*side].chunk == chunk && plan->of[*side].tokens == tokens) return STRETTO_OK;
    }
    if (plan->n_sides == plan->cap_sides) {
        unsigned cap = plan->cap_sides ? 2 * plan->cap_sides : 16;
        probe_side *of = realloc(plan->of, cap * sizeof *of);
        if (!of) return st_fail_memory(err, "the probe's sides", cap * sizeof *of);
        plan->of = of;
        plan->cap_sides = cap;
    }
    probe_side *own = &plan->of[plan->n_sides++];
    *own = (probe_side){.chunk = chunk, .tokens = tokens};
    snprintf(own->name, sizeof own->name, "%u", chunk + 1);
    return STRETTO_OK;
}

static unsigned most_threads(const session *s) {
    unsigned most = 1;
    for (unsigned i = 0; i < s->lanes.n; i++) {
        st_unit_info info;
        st_unit_info_get(s->lanes.units[i], &info);
        if (info.n_threads > most) most = info.n_threads;
    }
    return most;
}

/* The last `tokens` of depth + tokens ones. Token 0 at every position: the work is the same for all. */
static int make_steps(probe_plan *plan, stretto_error *err) {
    const session *s = plan->s;
    unsigned threads = most_threads(s);
    int32_t *ids = calloc(plan->depth + MOST_TOKENS, sizeof *ids);
    if (!ids) return st_fail_memory(err, "the probe's context", (unsigned long long)plan->depth * sizeof *ids);
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < plan->n_sides && !rc; i++) {
        probe_side *of = &plan->of[i];
        cli_progress(s->cx, "reading %u token%s of context before chunk %s: step %u of %u", plan->depth,
                     plan->depth == 1 ? "" : "s", of->name, i + 1, plan->n_sides);
        rc = st_chunk_step_create(&of->step, s->chain, of->chunk, ids, plan->depth + of->tokens, of->tokens, threads,
                                  err);
    }
    cli_progress_end(s->cx);
    free(ids);
    return rc;
}

/* Every side can run on every unit. */
static int describe_sides(probe_plan *plan, stretto_error *err) {
    plan->sides = calloc(plan->n_sides, sizeof *plan->sides);
    plan->on_units = calloc((size_t)plan->n_sides * plan->n_units, sizeof *plan->on_units);
    if (!plan->sides || !plan->on_units)
        return st_fail_memory(err, "the probe's sides", (size_t)plan->n_sides * sizeof *plan->sides);
    for (unsigned i = 0; i < plan->n_sides; i++) {
        const st_step **row = plan->on_units + (size_t)i * plan->n_units;
        for (unsigned u = 0; u < plan->n_units; u++) row[u] = st_chunk_step_get(plan->of[i].step);
        plan->sides[i] = (st_probe_side){.name = plan->of[i].name, .steps = row};
    }
    return STRETTO_OK;
}

/* ---- jobs ---- */

static unsigned lane_of(const session *s, uint32_t chunk) {
    for (unsigned i = 0; i < s->lanes.n; i++) {
        if (s->lanes.units[i] == s->unit_of[chunk]) return i;
    }
    return 0;
}

/* The units of a pair on two: where the chunks are placed if that differs, else the two halves or the first two units.
 */
static bool two_units(const probe_plan *plan, const probe_pair *pair, unsigned unit[2]) {
    const session *s = plan->s;
    if (!plan->own_units) {
        unit[0] = 1;
        unit[1] = 2;
        return s->lanes.n == 3;
    }
    unit[0] = plan->lane_of[pair->a];
    unit[1] = plan->lane_of[pair->b];
    if (unit[0] == unit[1] && s->lanes.n > 1) unit[1] = unit[0] == 0 ? 1 : 0;
    return unit[0] != unit[1];
}

static const char *why_not_two(const probe_plan *plan) {
    const st_host *host = &plan->s->lanes.host;
    if (plan->own_units) return "there is one unit only; --units cpu:0,cpu:1 makes two";
    if (host->n_cores < 2) return "one core is allowed here, and two units need two";
    return "the CPU quota here is one core's, and two units need two";
}

/* The unit of a process that is like a lane. */
static unsigned want_process(probe_plan *plan, unsigned lane) {
    unsigned n = plan->n_units - plan->n_lanes;
    for (unsigned i = 0; i < n; i++)
        if (plan->twins[i] == lane) return plan->n_lanes + i;
    plan->twins[n] = lane;
    return plan->n_units++;
}

static int cannot(probe_plan *plan, st_probe_job *job, const char *why, stretto_error *err) {
    if (!plan->all_arrangements)
        return st_fail(err, STRETTO_E_USAGE, "%s cannot be measured: %s", job->arrangement->name, why);
    job->skip = why;
    return STRETTO_OK;
}

static int add_pair_job(probe_plan *plan, st_probe_job job, const probe_pair *pair, stretto_error *err) {
    unsigned two[2], wanted = job.arrangement->n_units;
    bool have_two = two_units(plan, pair, two);
    int rc = want_side(plan, pair->a, 1, &job.side[0], err);
    if (!rc) rc = want_side(plan, pair->b, 1, &job.side[1], err);
    if (rc) return rc;
    if (wanted == 1 || (wanted == 0 && !have_two)) {
        job.unit[0] = job.unit[1] = plan->own_units ? plan->lane_of[pair->a] : 0;
    } else if (have_two) {
        job.unit[0] = two[0];
        job.unit[1] = job.arrangement->processes ? want_process(plan, two[1]) : two[1];
    } else {
        rc = cannot(plan, &job, why_not_two(plan), err);
    }
    if (!rc) plan->jobs[plan->n_jobs++] = job;
    return rc;
}

/* Once for each chunk that is the first of a pair. */
static int add_batch_job(probe_plan *plan, st_probe_job job, const probe_pair *pair, stretto_error *err) {
    bool room = plan->depth + job.arrangement->k <= st_chain_ctx(plan->s->chain);
    int rc = want_side(plan, pair->a, 1, &job.side[0], err);
    if (!rc && room) rc = want_side(plan, pair->a, job.arrangement->k, &job.side[1], err);
    if (!rc && !room) rc = want_side(plan, pair->b, 1, &job.side[1], err); /* a job has two sides */
    if (!rc && !room) rc = cannot(plan, &job, "the model's context has no room for so many tokens", err);
    for (unsigned i = 0; i < plan->n_jobs && !rc; i++)
        if (plan->jobs[i].side[0] == job.side[0] && plan->jobs[i].arrangement == job.arrangement) return rc;
    job.unit[0] = job.unit[1] = plan->own_units ? plan->lane_of[pair->a] : 0;
    if (!rc) plan->jobs[plan->n_jobs++] = job;
    return rc;
}

/* Two threads with a queue each is what one-unit and two-units are, too: by default each is measured once. */
static bool wanted(const probe_plan *plan, const st_arrangement *table, size_t i) {
    bool same = table[i].n_units == 0 && table[i].submit == ST_SUBMIT_TWO_THREADS;
    return plan->all_arrangements ? !same : plan->chosen[i];
}

static int add_jobs(probe_plan *plan, stretto_error *err) {
    size_t n;
    const st_arrangement *table = st_arrangements(&n);
    plan->jobs = calloc(plan->n_pairs * n, sizeof *plan->jobs);
    if (!plan->jobs) return st_fail_memory(err, "the probe's jobs", plan->n_pairs * n * sizeof *plan->jobs);
    int rc = STRETTO_OK;
    for (unsigned p = 0; p < plan->n_pairs; p++) {
        for (size_t k = 0; k < n && !rc; k++) {
            st_probe_job job = {.arrangement = &table[k], .chain = true};
            if (!wanted(plan, table, k)) continue;
            rc = table[k].k ? add_batch_job(plan, job, &plan->pairs[p], err)
                            : add_pair_job(plan, job, &plan->pairs[p], err);
        }
    }
    return rc;
}

/* ---- chain ---- */

static int open_chain(probe_plan *plan, stretto_error *err) {
    session *s = plan->s;
    for (uint32_t i = 0; i < s->n_chunks; i++) plan->lane_of[i] = lane_of(s, i);
    int rc = st_null_open(&plan->nowhere, 0, err);
    for (uint32_t i = 0; i < s->n_chunks && !rc; i++) s->unit_of[i] = plan->nowhere;
    return rc ? rc : session_open_chain(s, plan->depth + 1, plan->depth + MOST_TOKENS, 0, err);
}

/* ---- caches ---- */

static int prepare_eviction(probe_plan *plan, stretto_error *err) {
    size_t cache = plan->s->lanes.host.llc_bytes;
    plan->evict_bytes = 2 * (cache ? cache : EVICT_LEAST);
    if (plan->s->n_chunks > 2) return STRETTO_OK;
    plan->evict_buffer = st_alloc(plan->evict_bytes, 1);
    return plan->evict_buffer ? STRETTO_OK : st_fail_memory(err, "what fills the caches", plan->evict_bytes);
}

void probe_plan_evict(void *arg, const st_probe_job *job) {
    const probe_plan *plan = arg;
    if (!plan->evict_buffer) {
        uint32_t pair[2] = {plan->of[job->side[0]].chunk, plan->of[job->side[1]].chunk};
        st_chain_stream_weights(plan->s->chain, pair, 2, plan->evict_bytes);
        return;
    }
    for (size_t i = 0; i < plan->evict_bytes; i += 64)
        plan->evict_buffer[i]++; /* writes: pages that were only zeroed share one */
}

/* ---- all of it ---- */

static void name_chain(probe_plan *plan) {
    uint32_t n = plan->s->n_chunks;
    st_buf text = {0};
    st_buf_text(&text, "token");
    for (uint32_t i = 1; i <= n; i++)
        if (n <= 6 || i < 3 || i == n) st_buf_printf(&text, i == n && n > 6 ? ", ..., %u" : ", %u", i);
    st_buf_text(&text, ", token");
    snprintf(plan->chain, sizeof plan->chain, "%s", text.failed ? "" : text.data);
    st_buf_free(&text);
}

int probe_plan_build(probe_plan *plan, stretto_error *err) {
    plan->n_lanes = plan->n_units = plan->s->lanes.n;
    session_title(plan->s, plan->title, sizeof plan->title);
    name_chain(plan);
    int rc = open_chain(plan, err);
    if (!rc) rc = add_jobs(plan, err);
    if (!rc) rc = make_steps(plan, err);
    if (!rc) rc = probe_units_open(plan, err);
    if (!rc) rc = describe_sides(plan, err);
    return rc ? rc : prepare_eviction(plan, err);
}

void probe_plan_free(probe_plan *plan) {
    probe_units_close(plan);
    for (unsigned i = 0; i < plan->n_sides; i++) st_chunk_step_free(plan->of[i].step);
    if (plan->nowhere) {
        st_chain_close(plan->s->chain); /* its queues are there */
        plan->s->chain = NULL;
        st_unit_close(plan->nowhere);
    }
    free(plan->of);
    free(plan->sides);
    free(plan->on_units);
    free(plan->jobs);
    st_free(plan->evict_buffer);
}
