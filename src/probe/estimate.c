/* SPDX-License-Identifier: MIT
 * The overlap factor of a round is (Ta + Tb - Tpar) / Ts. s is the side with the smaller median solo time, chosen once:
 * the smaller of each round would be biased when the sides are alike. Rounds are resampled whole, since one round's
 * arms share the machine's slow or fast phase. */
#include "probe/estimate.h"

#include "base/error.h"
#include "base/mem.h"
#include "probe/probe.h"
#include "stat/grouped.h"

#include <math.h>

typedef double (*round_fn)(const st_probe_row *row, const st_round *round);

static double arm_wall(const st_round *round, enum st_arm arm) {
    return (double)round->arms[arm].wall_ns;
}

static double round_reference(const st_probe_row *row, const st_round *round) {
    return arm_wall(round, row->reference ? ST_ARM_SOLO_B : ST_ARM_SOLO_A);
}

/* Of a batch: what the one call saves, over what it could save. */
static double round_batch_saved(const st_probe_row *row, const st_round *round, double singles) {
    double single = arm_wall(round, ST_ARM_SOLO_A);
    return (singles - arm_wall(round, ST_ARM_BATCHED)) / ((row->k - 1) * single);
}

double st_round_overlap(const st_probe_row *row, const st_round *round) {
    if (row->k) return round_batch_saved(row, round, row->k * arm_wall(round, ST_ARM_SOLO_A));
    double both = arm_wall(round, ST_ARM_SOLO_A) + arm_wall(round, ST_ARM_SOLO_B);
    return (both - arm_wall(round, ST_ARM_PARALLEL)) / round_reference(row, round);
}

static double round_overlap_serial(const st_probe_row *row, const st_round *round) {
    if (row->k) return round_batch_saved(row, round, arm_wall(round, ST_ARM_SERIAL));
    return (arm_wall(round, ST_ARM_SERIAL) - arm_wall(round, ST_ARM_PARALLEL)) / round_reference(row, round);
}

double st_round_overlap_unit(const st_probe_row *row, const st_round *round) {
    return (arm_wall(round, ST_ARM_QUEUED) - arm_wall(round, ST_ARM_PARALLEL)) / round_reference(row, round);
}

static double round_speedup(const st_probe_row *row, const st_round *round) {
    return arm_wall(round, ST_ARM_SERIAL) / arm_wall(round, row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL);
}

static double round_slowdown_a(const st_probe_row *row, const st_round *round) {
    (void)row;
    return (double)round->arms[ST_ARM_PARALLEL].end_ns[0] / arm_wall(round, ST_ARM_SOLO_A);
}

static double round_slowdown_b(const st_probe_row *row, const st_round *round) {
    (void)row;
    return (double)round->arms[ST_ARM_PARALLEL].end_ns[1] / arm_wall(round, ST_ARM_SOLO_B);
}

static double round_dispatch_a(const st_probe_row *row, const st_round *round) {
    (void)row;
    return (double)round->arms[ST_ARM_SOLO_A].start_ns[0];
}

static double round_dispatch_b(const st_probe_row *row, const st_round *round) {
    (void)row;
    return (double)round->arms[ST_ARM_SOLO_B].start_ns[1];
}

static double round_skew(const st_probe_row *row, const st_round *round) {
    (void)row;
    return (double)round->arms[ST_ARM_PARALLEL].skew_ns;
}

static double *column(const st_probe_row *row, round_fn fn, double *out) {
    for (size_t i = 0; i < row->n_rounds; i++) out[i] = fn(row, &row->rounds[i]);
    return out;
}

static double median_of(const st_probe_row *row, round_fn fn, double *scratch) {
    return st_median(column(row, fn, scratch), row->n_rounds);
}

static double arm_median(const st_probe_row *row, enum st_arm arm, double *scratch) {
    for (size_t i = 0; i < row->n_rounds; i++) scratch[i] = arm_wall(&row->rounds[i], arm);
    return st_median(scratch, row->n_rounds);
}

static size_t count_processes(const unsigned *process, size_t n) {
    size_t found = 1;
    for (size_t i = 1; i < n; i++) found += process[i] != process[i - 1];
    return found;
}

/* Rounds of one process are alike in ways that those of two are not. */
int st_estimate_interval(const double *values, const unsigned *process, size_t n, const st_estimate_options *options,
                         st_interval *out, stretto_error *err) {
    st_rng rng;
    st_rng_seed(&rng, options->seed);
    if (process[n - 1] == process[0])
        return st_bootstrap_median(values, n, options->level, options->resamples, &rng, out, err);
    int code = st_bootstrap_groups(values, process, n, options->level, options->resamples, &rng, out, err);
    if (code == STRETTO_OK) st_grouped_widen(out, count_processes(process, n), options->ratio);
    return code;
}

static int interval_of(const st_probe_row *row, round_fn fn, const st_estimate_options *options, double *scratch,
                       st_interval *out, stretto_error *err) {
    unsigned *process = st_alloc(row->n_rounds, sizeof *process);
    if (!process) return st_fail_memory(err, "an estimate", row->n_rounds * sizeof *process);
    for (size_t i = 0; i < row->n_rounds; i++) process[i] = row->rounds[i].process;
    int code = st_estimate_interval(column(row, fn, scratch), process, row->n_rounds, options, out, err);
    st_free(process);
    return code;
}

static int factors(st_probe_row *row, const st_estimate_options *options, double *scratch, stretto_error *err) {
    double a = arm_median(row, ST_ARM_SOLO_A, scratch);
    row->reference = row->k == 0 && arm_median(row, ST_ARM_SOLO_B, scratch) < a;
    row->level = options->level;
    int code = interval_of(row, st_round_overlap, options, scratch, &row->overlap, err);
    if (code != STRETTO_OK || !row->one_unit) return code;
    return interval_of(row, st_round_overlap_unit, options, scratch, &row->overlap_unit, err);
}

int st_estimate_factors(st_probe_row *row, const st_estimate_options *options, stretto_error *err) {
    double *scratch = st_alloc(row->n_rounds, sizeof *scratch);
    if (!scratch) return st_fail_memory(err, "an estimate", row->n_rounds * sizeof *scratch);
    int code = factors(row, options, scratch, err);
    st_free(scratch);
    return code;
}

static double cpu_share(const st_probe_row *row, enum st_arm arm, double *scratch) {
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_sample *sample = &row->rounds[i].arms[arm];
        scratch[i] = (double)sample->cpu_ns / (double)sample->wall_ns;
    }
    return st_median(scratch, row->n_rounds);
}

/* Median, spread and outliers of one arm. values and scratch have room for all rounds. */
static void arm_numbers(st_probe_row *row, enum st_arm arm, double *values, double *scratch, bool *marked) {
    row->median_ns[arm] = arm_median(row, arm, values);
    row->spread[arm] = st_spread_sorted(values, row->n_rounds);
    row->cpu_share[arm] = cpu_share(row, arm, scratch);
    for (size_t i = 0; i < row->n_rounds; i++) values[i] = arm_wall(&row->rounds[i], arm);
    st_outliers(values, row->n_rounds, marked, scratch);
    for (size_t i = 0; i < row->n_rounds; i++)
        if (marked[i]) row->rounds[i].outliers |= 1u << arm;
}

static void flag_rounds(st_probe_row *row) {
    double shorter = row->median_ns[row->reference ? ST_ARM_SOLO_B : ST_ARM_SOLO_A];
    row->n_outliers = row->n_skewed = 0;
    for (size_t i = 0; i < row->n_rounds; i++) {
        st_round *round = &row->rounds[i];
        bool skewed = (double)round->arms[ST_ARM_PARALLEL].skew_ns > ST_SKEW_LIMIT * shorter;
        round->flags = (round->outliers ? ST_ROUND_OUTLIER : 0u) | (skewed ? ST_ROUND_SKEW : 0u);
        row->n_outliers += round->outliers != 0;
        row->n_skewed += skewed;
    }
}

/* "The next call 0.08 s, spread of 70 %": with half of the runs this far apart a median says little. */
#define SPREAD_LIMIT 0.5

static void flag_row(st_probe_row *row) {
    row->flags = row->steady ? 0 : ST_ROW_NOT_STEADY;
    if (row->n_rounds < ST_PROBE_LEAST_ROUNDS) row->flags |= ST_ROW_FEW;
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if ((row->arms & 1u << arm) && row->spread[arm] > SPREAD_LIMIT) row->flags |= ST_ROW_SPREAD;
}

static void pair_numbers(st_probe_row *row, double *scratch) {
    row->slowdown[0] = median_of(row, round_slowdown_a, scratch);
    row->slowdown[1] = median_of(row, round_slowdown_b, scratch);
    row->dispatch_ns = fmax(row->dispatch_ns, median_of(row, round_dispatch_b, scratch));
    row->skew_ns = median_of(row, round_skew, scratch);
}

int st_estimate_row(st_probe_row *row, const st_estimate_options *options, stretto_error *err) {
    size_t n = row->n_rounds;
    double *values = st_alloc(n, 2 * sizeof *values), *scratch = values + n;
    bool *marked = st_alloc(n, sizeof *marked);
    int code = STRETTO_OK;
    if (!values || !marked) {
        code = st_fail_memory(err, "an estimate", n * (2 * sizeof *values + sizeof *marked));
        goto end;
    }
    for (size_t i = 0; i < n; i++) row->rounds[i].outliers = 0;
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if (row->arms & 1u << arm) arm_numbers(row, arm, values, scratch, marked);
    flag_rounds(row);
    flag_row(row);
    row->dispatch_ns = median_of(row, round_dispatch_a, values);
    if (!row->k) pair_numbers(row, values);
    code = factors(row, options, values, err);
    if (code == STRETTO_OK) code = interval_of(row, round_overlap_serial, options, values, &row->overlap_serial, err);
    st_estimate_options ratio = *options;
    ratio.ratio = true;
    if (code == STRETTO_OK) code = interval_of(row, round_speedup, &ratio, values, &row->speedup, err);
end:
    st_free(values);
    st_free(marked);
    return code;
}
