/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "probe/account.h"
#include "probe/beside.h"
#include "probe/conditions.h"
#include "probe/rounds.h"
#include "probe/turns.h"
#include "probe/verdict.h"
#include "probe/worth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether each side can run where the job puts it. */
static int job_check_units(const st_probe_setup *setup, const st_probe_job *job, stretto_error *err) {
    const char *name = job->arrangement->name;
    for (unsigned i = 0; i < 2; i++) {
        if (job->unit[i] >= setup->n_units)
            return st_fail(err, STRETTO_E_USAGE, "%s: unit %u is asked for, but there are %u", name, job->unit[i],
                           setup->n_units);
        const st_probe_side *side = &setup->sides[job->side[i]];
        st_unit_info info;
        st_unit_info_get(setup->units[job->unit[i]], &info);
        if (!side->steps[job->unit[i]])
            return st_fail(err, STRETTO_E_USAGE, "%s: %s cannot run on %s", name, side->name, info.name);
    }
    unsigned wanted = job->arrangement->n_units, n_units = job->unit[0] == job->unit[1] ? 1 : 2;
    if (wanted == 0 || wanted == n_units) return STRETTO_OK;
    return st_fail(err, STRETTO_E_USAGE, "%s wants %s, but %s and %s are on %s", name,
                   wanted == 1 ? "one unit" : "two units", setup->sides[job->side[0]].name,
                   setup->sides[job->side[1]].name, n_units == 1 ? "one" : "two");
}

static int job_check(const st_probe_setup *setup, const st_probe_job *job, stretto_error *err) {
    const char *name = job->arrangement->name;
    for (unsigned i = 0; i < 2; i++)
        if (job->side[i] >= setup->n_sides)
            return st_fail(err, STRETTO_E_USAGE, "%s: side %u is asked for, but there are %u", name, job->side[i],
                           setup->n_sides);
    if (job->side[0] == job->side[1])
        return st_fail(err, STRETTO_E_USAGE, "%s: %s is on both sides: a pair needs two", name,
                       setup->sides[job->side[0]].name);
    return job->skip ? STRETTO_OK : job_check_units(setup, job, err);
}

static int rows_create(st_probe_record *record, const st_probe_setup *setup, stretto_error *err) {
    for (unsigned i = 0; i < setup->n_jobs; i++) {
        int code = job_check(setup, &setup->jobs[i], err);
        if (code != STRETTO_OK) return code;
    }
    if (setup->n_jobs == 0) return st_fail(err, STRETTO_E_USAGE, "nothing to probe");
    record->rows = st_alloc(setup->n_jobs, sizeof *record->rows);
    if (!record->rows) return st_fail_memory(err, "the probe's record", setup->n_jobs * sizeof *record->rows);
    record->n_rows = setup->n_jobs;
    for (unsigned i = 0; i < setup->n_jobs; i++) st_row_describe(&record->rows[i], setup, &setup->jobs[i]);
    return STRETTO_OK;
}

static void record_begin(st_probe_record *record, const st_probe_setup *setup) {
    *record =
        (st_probe_record){.cache = setup->evict ? ST_CACHE_STEP : ST_CACHE_WARM,
                          .seed = setup->seed,
                          .rounds = setup->limits.rounds,
                          .budget_ns = setup->limits.budget_ns,
                          .n_processes = 1,
                          .precision = setup->limits.precision > 0 ? setup->limits.precision : ST_PROBE_PRECISION};
    const char *title = setup->title ? setup->title : "";
    snprintf(record->title, sizeof record->title, "%.*s", ST_CUT(title, sizeof record->title - 1));
}

static void conditions_before(st_probe_record *record, const st_probe_setup *setup) {
    if (setup->virtual_time) return;
    record->has_conditions = true;
    st_conditions_read(&record->before, setup->host, "");
    st_tracing_warn(&record->warnings, getenv);
}

/* The machine is read anew, since its limits may have changed meanwhile. */
static void conditions_after(st_probe_record *record, const st_probe_setup *setup) {
    if (!record->has_conditions) return;
    st_host now;
    bool read = setup->host && st_host_read(&now, "", NULL) == STRETTO_OK;
    st_conditions_read(&record->after, read ? &now : setup->host, "");
    if (read) st_host_free(&now);
}

/* ---- causes ---- */

static void causes_set(st_probe_record *record) {
    for (size_t i = 0; i < record->n_rows; i++)
        if (record->rows[i].n_rounds > 0) st_cause_set(&record->rows[i], record);
}

/* What the causes still lack is measured after all rows, and once more for all of them, since they look at each other.
 */
static void causes_find(st_probe_record *record, const st_probe_setup *setup) {
    causes_set(record);
    for (unsigned i = 0; i < setup->n_jobs; i++) {
        st_probe_row *row = &record->rows[i];
        const unsigned *unit = setup->jobs[i].unit;
        if (setup->cancel && atomic_load(setup->cancel)) break;
        if (setup->evict && st_cause_wants_warm(row)) st_row_measure_warm(row, setup, i);
        if (setup->unpinned && st_cause_wants_unpinned(row) && setup->unpinned[unit[0]] && setup->unpinned[unit[1]])
            st_row_measure_unpinned(row, setup, i);
    }
    causes_set(record);
}

static int peaks_copy(st_probe_record *record, const st_probe_setup *setup, stretto_error *err) {
    if (!setup->peaks) return STRETTO_OK;
    record->peaks = st_alloc(setup->n_units, sizeof *record->peaks);
    if (!record->peaks) return st_fail_memory(err, "the units' peaks", setup->n_units * sizeof *record->peaks);
    for (unsigned i = 0; i < setup->n_units; i++)
        if (setup->peaks[i].unit[0]) record->peaks[record->n_peaks++] = setup->peaks[i];
    return STRETTO_OK;
}

/* Keeps the first failure. */
static int also(int code, int later, const stretto_error *problem, stretto_error *err) {
    return code != STRETTO_OK || later == STRETTO_OK ? code : st_fail(err, later, "%s", problem->text);
}

static int measure(st_probe_record *record, const st_probe_setup *setup, stretto_error *err) {
    uint64_t begin = st_clock_now(&setup->clock);
    unsigned resamples = setup->limits.resamples ? setup->limits.resamples : ST_PROBE_RESAMPLES;
    stretto_error problem;
    if (!setup->virtual_time) record->join_ns = st_join_measure();
    int code = st_turns_run(record, setup, err);
    code = also(code, st_account_record(record, resamples, &problem), &problem, err);
    causes_find(record, setup);
    code = also(code, st_worth_set(record, setup->costs, &problem), &problem, err);
    record->duration_ns = st_clock_now(&setup->clock) - begin;
    return code;
}

int st_probe_run(const st_probe_setup *setup, st_probe_record *record, stretto_error *err) {
    record_begin(record, setup);
    int code = rows_create(record, setup, err);
    if (code == STRETTO_OK) code = peaks_copy(record, setup, err);
    if (code != STRETTO_OK) return code;
    conditions_before(record, setup);
    code = measure(record, setup, err);
    conditions_after(record, setup);
    st_conditions_warn(record);
    return code;
}
