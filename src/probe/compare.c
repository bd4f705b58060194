/* SPDX-License-Identifier: MIT */
#include "probe/compare.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "probe/estimate.h"
#include "stat/grouped.h"

#include <math.h>
#include <string.h>

#define LEVEL 0.95
#define RESAMPLES 2000
#define RESAMPLES_LEAST 200
#define DRAWS_MOST 2e8 /* values drawn for one interval: with a million rounds there are fewer resamples */

/* ---- matching ---- */

static bool same_row(const st_probe_row *x, const st_probe_row *y) {
    return x->arrangement == y->arrangement && strcmp(x->name[0], y->name[0]) == 0 &&
           strcmp(x->name[1], y->name[1]) == 0;
}

static const st_probe_row *find_row(const st_probe_record *record, const st_probe_row *like) {
    for (size_t i = 0; i < record->n_rows; i++)
        if (same_row(&record->rows[i], like)) return &record->rows[i];
    return NULL;
}

static int check_alike(const st_probe_record *before, const st_probe_record *after, const char *const names[2],
                       stretto_error *err) {
    if (strcmp(before->title, after->title) != 0)
        return st_fail(err, STRETTO_E_INPUT, "%.*s and %.*s cannot be compared: one is of %.*s, the other of %.*s",
                       ST_CUT(names[0], 60), ST_CUT(names[1], 60), ST_CUT(before->title, 150),
                       ST_CUT(after->title, 150));
    if (before->cache != after->cache)
        return st_fail(
            err, STRETTO_E_INPUT, "%.*s and %.*s cannot be compared: one has the cache state %s, the other %s",
            ST_CUT(names[0], 60), ST_CUT(names[1], 60), st_cache_name(before->cache), st_cache_name(after->cache));
    return STRETTO_OK;
}

static int match_rows(st_compare *out, stretto_error *err) {
    const st_probe_record *before = out->record[0], *after = out->record[1];
    size_t most = before->n_rows + after->n_rows;
    out->rows = st_alloc(most, sizeof *out->rows);
    if (!out->rows) return st_fail_memory(err, "a comparison", most * sizeof *out->rows);
    for (size_t i = 0; i < before->n_rows; i++) out->rows[out->n_rows++].side[0] = &before->rows[i];
    for (size_t i = 0; i < before->n_rows; i++) out->rows[i].side[1] = find_row(after, &before->rows[i]);
    for (size_t i = 0; i < after->n_rows; i++)
        if (!find_row(before, &after->rows[i])) out->rows[out->n_rows++].side[1] = &after->rows[i];
    return STRETTO_OK;
}

/* ---- intervals ---- */

typedef double (*value_fn)(const st_probe_row *row, const st_round *round, enum st_arm arm);

static double value_factor(const st_probe_row *row, const st_round *round, enum st_arm arm) {
    (void)arm;
    return row->one_unit ? st_round_overlap_unit(row, round) : st_round_overlap(row, round);
}

static double value_time(const st_probe_row *row, const st_round *round, enum st_arm arm) {
    (void)row;
    return (double)round->arms[arm].wall_ns;
}

static int group_rounds(st_grouped *out, const st_probe_row *row, value_fn fn, enum st_arm arm, bool processes,
                        stretto_error *err) {
    size_t n = row->n_rounds;
    double *values = st_alloc(n, sizeof *values);
    unsigned *group = st_alloc(n, sizeof *group);
    int code = values && group ? STRETTO_OK : st_fail_memory(err, "a comparison", n * (sizeof *values + sizeof *group));
    for (size_t i = 0; i < n && !code; i++) {
        values[i] = fn(row, &row->rounds[i], arm);
        group[i] = processes ? row->rounds[i].process : 0;
    }
    if (!code) code = st_grouped_create(out, values, group, n, err);
    st_free(values);
    st_free(group);
    return code;
}

static double change_of(double before, double after, bool ratio) {
    return ratio ? after / before : after - before;
}

static unsigned count_resamples(const st_grouped g[2]) {
    double most = DRAWS_MOST / (double)(g[0].n + g[1].n);
    return most > RESAMPLES ? RESAMPLES : most < RESAMPLES_LEAST ? RESAMPLES_LEAST : (unsigned)most;
}

static int interval(st_interval *out, st_grouped g[2], bool ratio, uint64_t seed, stretto_error *err) {
    unsigned n = count_resamples(g);
    double *changes = st_alloc(n, sizeof *changes);
    if (!changes) return st_fail_memory(err, "a comparison", n * sizeof *changes);
    st_rng rng;
    st_rng_seed(&rng, seed);
    for (unsigned i = 0; i < n; i++) {
        double before = st_grouped_resample(&g[0], &rng), after = st_grouped_resample(&g[1], &rng);
        changes[i] = change_of(before, after, ratio);
    }
    st_sort(changes, n);
    *out = (st_interval){.value = change_of(st_grouped_median(&g[0]), st_grouped_median(&g[1]), ratio),
                         .lo = st_quantile_sorted(changes, n, (1 - LEVEL) / 2),
                         .hi = st_quantile_sorted(changes, n, (1 + LEVEL) / 2)};
    size_t fewer = g[0].n_groups < g[1].n_groups ? g[0].n_groups : g[1].n_groups;
    st_grouped_widen(out, fewer, ratio);
    st_free(changes);
    return STRETTO_OK;
}

static int compare_one(st_interval *out, const st_compare *compare, const st_compare_row *row, value_fn fn,
                       enum st_arm arm, bool ratio, stretto_error *err) {
    st_grouped g[2] = {0};
    int code = STRETTO_OK;
    for (unsigned i = 0; i < 2 && !code; i++)
        code = group_rounds(&g[i], row->side[i], fn, arm, compare->between_runs, err);
    if (!code) code = interval(out, g, ratio, compare->seed, err);
    st_grouped_free(&g[0]);
    st_grouped_free(&g[1]);
    return code;
}

static enum st_change judge(const st_interval *in, double none) {
    return in->lo > none ? ST_CHANGE_MORE : in->hi < none ? ST_CHANGE_LESS : ST_CHANGE_NONE;
}

static int compare_row(const st_compare *compare, st_compare_row *row, stretto_error *err) {
    const st_probe_row *before = row->side[0], *after = row->side[1];
    row->measured =
        before && after && before->n_rounds > 0 && after->n_rounds > 0 && before->one_unit == after->one_unit;
    if (!row->measured) return STRETTO_OK;
    int code = compare_one(&row->factor, compare, row, value_factor, 0, false, err);
    row->overlap = judge(&row->factor, 0);
    row->verdict_changed = before->verdict != after->verdict;
    for (unsigned arm = 0; arm < ST_ARM_COUNT && !code; arm++) {
        if (!(before->arms & after->arms & 1u << arm)) continue;
        code = compare_one(&row->times[arm], compare, row, value_time, arm, true, err);
        row->time[arm] = judge(&row->times[arm], 1);
    }
    return code;
}

int st_compare_records(st_compare *out, const st_probe_record *before, const st_probe_record *after,
                       const char *const names[2], uint64_t seed, stretto_error *err) {
    *out = (st_compare){.record = {before, after},
                        .n_processes = {before->n_processes, after->n_processes},
                        .between_runs = before->n_processes > 1 && after->n_processes > 1,
                        .seed = seed};
    int code = check_alike(before, after, names, err);
    if (!code) code = match_rows(out, err);
    for (size_t i = 0; i < out->n_rows && !code; i++) code = compare_row(out, &out->rows[i], err);
    return code;
}

void st_compare_free(st_compare *compare) {
    st_free(compare->rows);
    *compare = (st_compare){0};
}
