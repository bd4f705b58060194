/* SPDX-License-Identifier: MIT */
#include "probe/beside.h"

#include "base/error.h"
#include "base/mem.h"
#include "probe/rounds.h"
#include "probe/start.h"
#include "probe/verdict.h"
#include "unit/null.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONTROL_ROUNDS 20
#define FOLLOW_ROUNDS 10
#define RESAMPLES 1000
#define JOIN_WARM_UP 20
#define JOIN_PAIRS 200

/* ---- controls ---- */

static bool both_have(const st_probe_side *control, const unsigned unit[2]) {
    return control->steps && control->steps[unit[0]] && control->steps[unit[1]];
}

static void control_rates(st_control_result *out, enum st_control_kind control, const st_probe_row *row,
                          const st_step *const step[2]) {
    double work[2];
    for (unsigned i = 0; i < 2; i++) {
        work[i] = (double)(control == ST_CONTROL_BANDWIDTH ? step[i]->bytes : step[i]->operations);
        out->solo_rate[i] = work[i] / out->solo_ns[i];
    }
    out->parallel_rate = control == ST_CONTROL_CLOCK
                             ? fmin(out->solo_rate[0] / row->slowdown[0], out->solo_rate[1] / row->slowdown[1])
                             : st_row_common_rate(row, work);
}

/* One control on one pair of units, as a pair of its own. */
static int control_measure(st_control_result *out, const st_probe_setup *setup, enum st_control_kind control,
                           const unsigned unit[2], stretto_error *err) {
    const st_probe_side *side = &setup->controls[control];
    const st_probe_side sides[2] = {*side, *side};
    const st_probe_job job = {
        .arrangement = st_arrangement_find("two-units", NULL), .side = {0, 1}, .unit = {unit[0], unit[1]}};
    st_probe_setup own = *setup;
    own.sides = sides;
    own.n_sides = 2;
    own.jobs = &job;
    own.n_jobs = 1;
    own.evict = NULL;
    own.progress = NULL;
    own.limits = (st_probe_limits){.rounds = CONTROL_ROUNDS, .resamples = RESAMPLES};
    st_probe_row row = {0};
    st_row_describe(&row, &own, &job);
    const st_row_plan plan = {.seed = setup->seed + control};
    int code = st_row_measure(&own, &plan, &row, err);
    if (code == STRETTO_OK) {
        *out = (st_control_result){.n_rounds = row.n_rounds,
                                   .solo_ns = {row.median_ns[ST_ARM_SOLO_A], row.median_ns[ST_ARM_SOLO_B]},
                                   .parallel_ns = row.median_ns[ST_ARM_PARALLEL],
                                   .slowdown = {row.slowdown[0], row.slowdown[1]},
                                   .overlap = row.overlap};
        control_rates(out, control, &row, (const st_step *[]){side->steps[unit[0]], side->steps[unit[1]]});
    }
    st_free(row.rounds);
    return code;
}

static bool seen_before(const st_probe_setup *setup, unsigned i) {
    const unsigned *unit = setup->jobs[i].unit;
    for (unsigned k = 0; k < i; k++)
        if (!setup->jobs[k].skip && memcmp(setup->jobs[k].unit, unit, sizeof setup->jobs[k].unit) == 0) return true;
    return false;
}

static int unit_pair_measure(st_unit_pair *out, const st_probe_setup *setup, const unsigned unit[2],
                             stretto_error *err) {
    for (unsigned i = 0; i < 2; i++) {
        st_unit_info info;
        st_unit_info_get(setup->units[unit[i]], &info);
        memcpy(out->unit[i], info.name, sizeof info.name);
    }
    for (unsigned control = 0; control < ST_CONTROL_COUNT; control++) {
        if (!both_have(&setup->controls[control], unit)) continue;
        stretto_error problem;
        int code = control_measure(&out->controls[control], setup, control, unit, &problem);
        if (code == STRETTO_E_STOPPED || code == STRETTO_E_MEMORY) return st_fail(err, code, "%s", problem.text);
    }
    return STRETTO_OK;
}

static bool controls_known(const st_probe_setup *setup) {
    for (unsigned c = 0; setup->controls && c < ST_CONTROL_COUNT; c++)
        for (unsigned i = 0; setup->controls[c].steps && i < setup->n_units; i++)
            if (setup->controls[c].steps[i]) return true;
    return false;
}

int st_controls_measure(st_probe_record *record, const st_probe_setup *setup, stretto_error *err) {
    if (!controls_known(setup)) return STRETTO_OK;
    record->unit_pairs = st_alloc(setup->n_jobs, sizeof *record->unit_pairs);
    if (!record->unit_pairs) return st_fail_memory(err, "controls", setup->n_jobs * sizeof *record->unit_pairs);
    for (unsigned i = 0; i < setup->n_jobs; i++) {
        const st_probe_job *job = &setup->jobs[i];
        if (job->skip || job->unit[0] == job->unit[1] || seen_before(setup, i)) continue;
        int code = unit_pair_measure(&record->unit_pairs[record->n_unit_pairs++], setup, job->unit, err);
        if (code != STRETTO_OK) return code;
    }
    return STRETTO_OK;
}

/* ---- the same pair under other conditions ---- */

static bool follow(st_interval *out, st_probe_setup *own, unsigned job) {
    own->progress = NULL;
    own->limits = (st_probe_limits){.rounds = FOLLOW_ROUNDS, .resamples = RESAMPLES};
    st_probe_row row = {0};
    st_row_describe(&row, own, &own->jobs[job]);
    const st_row_plan plan = {.job = job, .seed = own->seed + job};
    bool good = st_row_measure(own, &plan, &row, NULL) == STRETTO_OK;
    if (good) *out = row.overlap;
    st_free(row.rounds);
    return good;
}

void st_row_measure_warm(st_probe_row *row, const st_probe_setup *setup, unsigned job) {
    st_probe_setup own = *setup;
    own.evict = NULL;
    row->has_warm = follow(&row->warm, &own, job);
}

void st_row_measure_unpinned(st_probe_row *row, const st_probe_setup *setup, unsigned job) {
    st_probe_setup own = *setup;
    own.units = setup->unpinned;
    row->has_unpinned = follow(&row->unpinned, &own, job);
}

/* ---- joining ---- */

static int nothing_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg, (void)worker, (void)err;
    return STRETTO_OK;
}

static double join_pairs(st_starter *starter, st_queue *const queue[2], double ns[JOIN_PAIRS]) {
    static const st_step nothing = {.name = "nothing", .run = nothing_run};
    st_clock clock = st_clock_real();
    st_event done[2];
    for (unsigned i = 0; i < 2; i++) st_event_init(&done[i]);
    for (unsigned i = 0; i < JOIN_WARM_UP + JOIN_PAIRS; i++) {
        st_start_side sides[2] = {{.queue = queue[0], .step = &nothing, .done = &done[0]},
                                  {.queue = queue[1], .step = &nothing, .done = &done[1]}};
        st_start_both(starter, &clock, sides);
        uint64_t end = st_clock_now(&clock);
        if (sides[0].code != STRETTO_OK || sides[1].code != STRETTO_OK) return 0;
        uint64_t begin = sides[0].begin_ns < sides[1].begin_ns ? sides[0].begin_ns : sides[1].begin_ns;
        if (i >= JOIN_WARM_UP) ns[i - JOIN_WARM_UP] = (double)(end - begin);
    }
    return st_median(ns, JOIN_PAIRS);
}

double st_join_measure(void) {
    st_unit *unit[2] = {NULL, NULL};
    st_queue *queue[2] = {NULL, NULL};
    st_starter *starter = NULL;
    double ns[JOIN_PAIRS], median = 0;
    bool good = st_starter_create(&starter, (st_unit *[2]){NULL, NULL}, NULL) == STRETTO_OK;
    for (unsigned i = 0; i < 2 && good; i++)
        good = st_null_open(&unit[i], i, NULL) == STRETTO_OK && st_queue_open(unit[i], &queue[i], NULL) == STRETTO_OK;
    if (good) median = join_pairs(starter, queue, ns);
    st_starter_destroy(starter);
    for (unsigned i = 0; i < 2; i++) {
        st_queue_close(queue[i]);
        st_unit_close(unit[i]);
    }
    return median;
}
