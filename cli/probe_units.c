/* SPDX-License-Identifier: MIT
 * The units of a probe: what each gives at most, steps of known nature for them, and those in processes of their own,
 * which are made while no thread is about. */
#include "probe_setup.h"

#include "base/error.h"
#include "base/utf8.h"
#include "device/process.h"
#include "probe/clock_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_NS 1e6          /* about how long a control takes; one that reads has to find its pace, */
#define BURN_NS 5e5          /* arithmetic has it at once */
#define ADDITIONS 1500000ull /* about half a millisecond of them */
#define MIB ((uint64_t)1 << 20)

static const uint64_t additions = ADDITIONS;

/* Whether a job runs on that unit; with another one if `paired`. */
static bool used(const probe_plan *plan, unsigned unit, bool paired) {
    for (unsigned i = 0; i < plan->n_jobs; i++) {
        const st_probe_job *job = &plan->jobs[i];
        if (job->skip || (paired && job->unit[0] == job->unit[1])) continue;
        if (job->unit[0] == unit || job->unit[1] == unit) return true;
    }
    return false;
}

static bool batched(const probe_plan *plan, unsigned unit) {
    for (unsigned i = 0; i < plan->n_jobs; i++)
        if (!plan->jobs[i].skip && plan->jobs[i].arrangement->k && plan->jobs[i].unit[0] == unit) return true;
    return false;
}

/* A process counts as the lane that it is like. */
static bool lane_used(const probe_plan *plan, unsigned lane, bool paired) {
    bool is = used(plan, lane, paired);
    for (unsigned i = plan->n_lanes; i < plan->n_units; i++)
        is = is || (plan->twins[i - plan->n_lanes] == lane && used(plan, i, paired));
    return is;
}

/* Several times the last-level cache, so that reads come from memory. */
static uint64_t memory_bytes(const st_host *host) {
    uint64_t bytes = 4 * (uint64_t)host->llc_bytes;
    return bytes < 64 * MIB ? 64 * MIB : bytes > 256 * MIB ? 256 * MIB : bytes;
}

/* ---- peaks and controls ---- */

static int make_controls(probe_controls *out, const session *s, const st_peaks *peaks, stretto_error *err) {
    int rc = st_control_compute(&out->compute, s->kern, ST_BURN_DOTS,
                                st_peaks_operations(peaks, ST_BURN_DOTS, BURN_NS) + 1, err);
    return rc ? rc
              : st_control_stream(&out->stream, s->kern, peaks->order, st_peaks_bytes(peaks, READ_NS) + 1,
                                  memory_bytes(&s->lanes.host), err);
}

static int know_lane(probe_plan *plan, unsigned lane, stretto_error *err) {
    session *s = plan->s;
    st_peaks peaks;
    cli_progress(s->cx, "measuring what %s gives at most", s->lanes.names[lane]);
    int rc = st_peaks_measure(&peaks, s->lanes.units[lane], s->kern, memory_bytes(&s->lanes.host), err);
    if (rc) return rc;
    st_unit_peaks *out = &plan->peaks[lane];
    snprintf(out->unit, sizeof out->unit, "%s", s->lanes.names[lane]);
    out->n_threads = peaks.n_threads;
    out->gb_per_s = peaks.read.median;
    out->gmac_per_s = peaks.burn[ST_BURN_DOTS].median;
    bool wanted = lane_used(plan, lane, true) || batched(plan, lane);
    return wanted ? make_controls(&plan->own_controls[lane], s, &peaks, err) : STRETTO_OK;
}

static int know_units(probe_plan *plan, stretto_error *err) {
    int rc = STRETTO_OK;
    plan->peaks = calloc(plan->n_units, sizeof *plan->peaks);
    plan->own_controls = calloc(plan->n_lanes, sizeof *plan->own_controls);
    plan->control_steps = calloc((size_t)ST_CONTROL_COUNT * plan->n_units, sizeof *plan->control_steps);
    if (!plan->peaks || !plan->own_controls || !plan->control_steps)
        return st_fail_memory(err, "the units' controls", plan->n_units * sizeof *plan->peaks);
    for (unsigned i = 0; i < plan->n_lanes && !rc && !plan->quick; i++) {
        if (atomic_load(plan->s->cx->stop)) break;
        if (lane_used(plan, i, false)) rc = know_lane(plan, i, err);
    }
    cli_progress_end(plan->s->cx);
    return rc;
}

/* Steps of unit u, which is a lane or like one. */
static void place_controls(probe_plan *plan, unsigned u, unsigned lane) {
    const probe_controls *own = &plan->own_controls[lane];
    const st_step **steps = plan->control_steps;
    if (!own->compute || !own->stream) return;
    steps[ST_CONTROL_COMPUTE * plan->n_units + u] = st_control_step(own->compute);
    steps[ST_CONTROL_BANDWIDTH * plan->n_units + u] = st_control_step(own->stream);
    steps[ST_CONTROL_CLOCK * plan->n_units + u] = &plan->clock;
}

static void describe_controls(probe_plan *plan) {
    plan->clock = st_clock_step(&additions);
    for (unsigned u = 0; u < plan->n_units; u++) {
        unsigned lane = u < plan->n_lanes ? u : plan->twins[u - plan->n_lanes];
        place_controls(plan, u, lane);
        if (u >= plan->n_lanes) {
            plan->peaks[u] = plan->peaks[lane];
            snprintf(plan->peaks[u].unit, sizeof plan->peaks[u].unit, "process:%.*s",
                     ST_CUT(plan->s->lanes.names[lane], 39));
        }
    }
    for (unsigned c = 0; c < ST_CONTROL_COUNT; c++)
        plan->controls[c] =
            (st_probe_side){.name = st_control_name(c), .steps = plan->control_steps + (size_t)c * plan->n_units};
}

/* ---- processes ---- */

static const st_step **list_steps(const probe_plan *plan, unsigned unit, unsigned *n) {
    const st_step **steps = calloc(plan->n_sides + ST_CONTROL_COUNT, sizeof *steps);
    *n = 0;
    if (!steps) return NULL;
    for (unsigned i = 0; i < plan->n_sides; i++) steps[(*n)++] = st_chunk_step_get(plan->of[i].step);
    for (unsigned c = 0; c < ST_CONTROL_COUNT; c++) {
        const st_step *step = plan->control_steps[c * plan->n_units + unit];
        if (step) steps[(*n)++] = step;
    }
    return steps;
}

/* Called while no lane is open. */
static int open_processes(void *arg, const st_unit_info *lanes, stretto_error *err) {
    probe_plan *plan = arg;
    int rc = STRETTO_OK;
    for (unsigned u = plan->n_lanes; u < plan->n_units && !rc; u++) {
        const st_unit_info *like = &lanes[plan->twins[u - plan->n_lanes]];
        st_process_options options = {
            .lane = {.cores = like->cores, .n_cores = like->n_cores, .n_threads = like->n_threads, .pin = true}};
        const st_step **steps = list_steps(plan, u, &options.n_steps);
        if (!steps) return st_fail_memory(err, "a list of steps", plan->n_sides * sizeof *steps);
        options.steps = steps;
        rc = st_process_open(&plan->units[u], &plan->s->lanes.host, &options, err);
        free(steps);
    }
    return rc;
}

/* ---- pinning ---- */

static bool share_cores(const st_unit_info *a, const st_unit_info *b) {
    for (unsigned i = 0; i < a->n_cores; i++)
        for (unsigned k = 0; k < b->n_cores; k++)
            if (a->cores[i] == b->cores[k]) return true;
    return false;
}

static int open_unpinned(probe_plan *plan, unsigned lane, stretto_error *err) {
    if (plan->unpinned[lane]) return STRETTO_OK;
    st_unit_info info;
    st_unit_info_get(plan->units[lane], &info);
    const st_cpu_options options = {.cores = info.cores, .n_cores = info.n_cores, .n_threads = info.n_threads};
    return st_cpu_open(&plan->unpinned[lane], &plan->s->lanes.host, &options, err);
}

/* For pairs of lanes that share cores: whether it is the pinning that keeps them from running side by side. */
static int open_wanderers(probe_plan *plan, stretto_error *err) {
    plan->unpinned = calloc(plan->n_units, sizeof *plan->unpinned);
    if (!plan->unpinned) return st_fail_memory(err, "a list of units", plan->n_units * sizeof *plan->unpinned);
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < plan->n_jobs && !rc; i++) {
        const st_probe_job *job = &plan->jobs[i];
        if (job->skip || job->unit[0] == job->unit[1] || job->unit[1] >= plan->n_lanes) continue;
        st_unit_info info[2];
        for (unsigned k = 0; k < 2; k++) st_unit_info_get(plan->units[job->unit[k]], &info[k]);
        if (!share_cores(&info[0], &info[1])) continue;
        for (unsigned k = 0; k < 2 && !rc; k++) rc = open_unpinned(plan, job->unit[k], err);
    }
    return rc;
}

/* ---- all ---- */

int probe_units_open(probe_plan *plan, stretto_error *err) {
    cli_lanes *lanes = &plan->s->lanes;
    plan->units = calloc(plan->n_units, sizeof *plan->units);
    if (!plan->units) return st_fail_memory(err, "a list of units", plan->n_units * sizeof *plan->units);
    int rc = know_units(plan, err);
    if (rc) return rc;
    describe_controls(plan);
    if (!plan->quick && !atomic_load(plan->s->cx->stop)) rc = probe_costs_measure(plan, err);
    if (rc) return rc;
    if (plan->n_units > plan->n_lanes) rc = cli_lanes_pause(lanes, open_processes, plan, err);
    if (rc) return rc;
    memcpy(plan->units, lanes->units, lanes->n * sizeof *plan->units);
    return open_wanderers(plan, err);
}

void probe_units_close(probe_plan *plan) {
    for (unsigned i = plan->n_lanes; plan->units && i < plan->n_units; i++) st_unit_close(plan->units[i]);
    for (unsigned i = 0; plan->unpinned && i < plan->n_units; i++) st_unit_close(plan->unpinned[i]);
    for (unsigned i = 0; plan->own_controls && i < plan->n_lanes; i++) {
        st_control_free(plan->own_controls[i].compute);
        st_control_free(plan->own_controls[i].stream);
    }
    free(plan->units);
    free(plan->unpinned);
    free(plan->peaks);
    free(plan->own_controls);
    free(plan->control_steps);
    probe_costs_free(plan->costs);
}
