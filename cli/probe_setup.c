/* SPDX-License-Identifier: MIT */
#include "probe_setup.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVICT_LEAST (32u << 20) /* where the cache's size is not known */

/* ---- pairs ---- */

static int add_pair(probe_plan *plan, uint32_t a, uint32_t b, stretto_error *err) {
    uint32_t n = plan->s->n_chunks;
    for (unsigned i = 0; i < plan->n_pairs; i++) {
        if (plan->pairs[i].a == a && plan->pairs[i].b == b) return STRETTO_OK;
    }
    if (a == 0 || b == 0 || a > n || b > n) {
        return st_fail(err, STRETTO_E_USAGE, "no chunk %u: the model has %u (1 to %u); --chunks changes that",
                       a && a <= n ? b : a, n, n);
    }
    if (a == b) return st_fail(err, STRETTO_E_USAGE, "a pair needs two chunks, not chunk %u twice", a);
    if (plan->n_pairs == PROBE_PAIRS_MAX) return st_fail(err, STRETTO_E_USAGE, "more than %d pairs", PROBE_PAIRS_MAX);
    plan->pairs[plan->n_pairs++] = (probe_pair){a, b};
    return STRETTO_OK;
}

static int add_all(probe_plan *plan, stretto_error *err) {
    for (uint32_t a = 1; a <= plan->s->n_chunks; a++) {
        for (uint32_t b = a + 1; b <= plan->s->n_chunks; b++) {
            int rc = add_pair(plan, a, b, err);
            if (rc) return rc;
        }
    }
    return STRETTO_OK;
}

/* The pair of the spike, and the two chunks that read most. */
static int add_default(probe_plan *plan, stretto_error *err) {
    const session *s = plan->s;
    int rc = add_pair(plan, 1, s->n_chunks < 3 ? 2 : 3, err);
    if (rc) return rc;
    st_chunk chunks[ST_MAX_CHUNKS];
    st_chunks_describe(chunks, s->spans, s->n_chunks, s->model);
    uint32_t most = 0, next = 1;
    for (uint32_t i = 1; i < s->n_chunks; i++) {
        if (chunks[i].bytes > chunks[most].bytes) {
            next = most;
            most = i;
        } else if (next == most || chunks[i].bytes > chunks[next].bytes) {
            next = i;
        }
    }
    return add_pair(plan, (most < next ? most : next) + 1, (most < next ? next : most) + 1, err);
}

static int add_listed(probe_plan *plan, const char *text, stretto_error *err) {
    const char *at = text;
    while (*at) {
        unsigned a, b;
        int used = 0;
        if (sscanf(at, " %5u , %5u %n", &a, &b, &used) != 2 || used == 0) {
            return st_fail(err, STRETTO_E_USAGE,
                           "--pairs wants two chunks, as in 1,3 (or \"1,3 2,4\", or all), not \"%.60s\"", text);
        }
        int rc = add_pair(plan, a, b, err);
        if (rc) return rc;
        at += used;
        if (*at == ';') at++;
    }
    return plan->n_pairs ? STRETTO_OK : st_fail(err, STRETTO_E_USAGE, "--pairs is empty");
}

int probe_pairs_parse(probe_plan *plan, const char *text, stretto_error *err) {
    if (plan->s->n_chunks < 2) {
        return st_fail(err, STRETTO_E_USAGE, "a pair needs two chunks, this split has one; --chunks 4 makes four");
    }
    int rc = !text                      ? add_default(plan, err)
             : strcmp(text, "all") == 0 ? add_all(plan, err)
                                        : add_listed(plan, text, err);
    for (unsigned i = 0; i < plan->n_pairs; i++) plan->pairs[i].a--, plan->pairs[i].b--;
    return rc;
}

/* ---- sides ---- */

static unsigned most_threads(const session *s) {
    unsigned most = 1;
    for (unsigned i = 0; i < s->lanes.n; i++) {
        st_unit_info info;
        st_unit_info_get(s->lanes.units[i], &info);
        if (info.n_threads > most) most = info.n_threads;
    }
    return most;
}

static int add_side(probe_plan *plan, uint32_t chunk, uint32_t depth, unsigned *side, stretto_error *err) {
    for (*side = 0; *side < plan->n_sides; (*side)++) {
        if (plan->chunk_of[*side] == chunk) return STRETTO_OK;
    }
    const session *s = plan->s;
    int32_t *ids = calloc(depth + 1, sizeof *ids); /* token 0 at every position: the work is the same for all */
    if (!ids) return st_fail_memory(err, "the probe's context", (unsigned long long)depth * sizeof *ids);
    int rc = st_chunk_step_create(&plan->steps[*side], s->chain, chunk, ids, depth + 1, 1, most_threads(s), err);
    free(ids);
    if (rc) return rc;
    plan->n_sides++;
    plan->chunk_of[*side] = chunk;
    snprintf(plan->side_names[*side], sizeof plan->side_names[*side], "%u", chunk + 1);
    const st_step **row = plan->on_units + (size_t)*side * s->lanes.n;
    for (unsigned u = 0; u < s->lanes.n; u++) row[u] = st_chunk_step_get(plan->steps[*side]);
    plan->sides[*side] = (st_probe_side){.name = plan->side_names[*side], .steps = row};
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
    unit[0] = lane_of(s, pair->a);
    unit[1] = lane_of(s, pair->b);
    if (unit[0] == unit[1] && s->lanes.n > 1) unit[1] = unit[0] == 0 ? 1 : 0;
    return unit[0] != unit[1];
}

static const char *why_not_two(const probe_plan *plan) {
    const st_host *host = &plan->s->lanes.host;
    if (plan->own_units) return "there is one unit only; --units cpu:0,cpu:1 makes two";
    if (host->n_cores < 2) return "one core is allowed here, and two units need two";
    return "the CPU quota here is one core's, and two units need two";
}

static int add_job(probe_plan *plan, const st_arrangement *arrangement, const probe_pair *pair, const unsigned side[2],
                   stretto_error *err) {
    st_probe_job job = {.arrangement = arrangement, .side = {side[0], side[1]}, .chain = true};
    unsigned two[2];
    bool have_two = two_units(plan, pair, two);
    if (arrangement->n_units == 1 || (arrangement->n_units == 0 && !have_two)) {
        job.unit[0] = job.unit[1] = plan->own_units ? lane_of(plan->s, pair->a) : 0;
    } else if (have_two) {
        job.unit[0] = two[0];
        job.unit[1] = two[1];
    } else if (plan->all_arrangements) {
        job.skip = why_not_two(plan);
    } else {
        return st_fail(err, STRETTO_E_USAGE, "%s cannot be measured: %s", arrangement->name, why_not_two(plan));
    }
    plan->jobs[plan->n_jobs++] = job;
    return STRETTO_OK;
}

/* Two threads with a queue each is what one-unit and two-units are, too: by default each is measured once. */
static bool wanted(const probe_plan *plan, const st_arrangement *table, size_t i) {
    bool same = table[i].n_units == 0 && table[i].submit == ST_SUBMIT_TWO_THREADS;
    return plan->all_arrangements ? !same : plan->chosen[i];
}

static int add_jobs(probe_plan *plan, uint32_t depth, stretto_error *err) {
    size_t n;
    const st_arrangement *table = st_arrangements(&n);
    for (unsigned p = 0; p < plan->n_pairs; p++) {
        unsigned side[2];
        int rc = add_side(plan, plan->pairs[p].a, depth, &side[0], err);
        if (!rc) rc = add_side(plan, plan->pairs[p].b, depth, &side[1], err);
        for (size_t k = 0; k < n && !rc; k++) {
            if (wanted(plan, table, k)) rc = add_job(plan, &table[k], &plan->pairs[p], side, err);
        }
        if (rc) return rc;
    }
    return STRETTO_OK;
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
        uint32_t pair[2] = {plan->chunk_of[job->side[0]], plan->chunk_of[job->side[1]]};
        st_chain_stream_weights(plan->s->chain, pair, 2, plan->evict_bytes);
        return;
    }
    for (size_t i = 0; i < plan->evict_bytes; i += 64)
        plan->evict_buffer[i]++; /* writes: pages that were only zeroed share one */
}

/* ---- all of it ---- */

int probe_plan_build(probe_plan *plan, uint32_t depth, stretto_error *err) {
    size_t n_arrangements;
    st_arrangements(&n_arrangements);
    session_title(plan->s, plan->title, sizeof plan->title);
    plan->on_units = calloc((size_t)ST_MAX_CHUNKS * plan->s->lanes.n, sizeof *plan->on_units);
    plan->jobs = calloc(plan->n_pairs * n_arrangements, sizeof *plan->jobs);
    if (!plan->on_units || !plan->jobs)
        return st_fail_memory(err, "the probe's jobs", plan->n_pairs * sizeof *plan->jobs);
    int rc = add_jobs(plan, depth, err);
    return rc ? rc : prepare_eviction(plan, err);
}

void probe_plan_free(probe_plan *plan) {
    for (unsigned i = 0; i < ST_MAX_CHUNKS; i++) st_chunk_step_free(plan->steps[i]);
    free(plan->on_units);
    free(plan->jobs);
    st_free(plan->evict_buffer);
}
