/* SPDX-License-Identifier: MIT */
#include "probe/spike.h"

#include "base/error.h"
#include "base/mem.h"
#include "probe/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RESAMPLES 2000
#define LEVEL 0.95
#define SEED 1 /* of the bootstrap: the same trials always give the same intervals */

typedef struct spike {
    const st_spike_setup *setup;
    st_event done[2];
    st_starter *starter; /* NULL: on virtual time */
} spike;

const char *st_spike_arm_name(enum st_spike_arm arm) {
    static const char *const names[ST_SPIKE_ARMS] = {[ST_SPIKE_A] = "solo_a",
                                                     [ST_SPIKE_B] = "solo_b",
                                                     [ST_SPIKE_SERIAL] = "serial",
                                                     [ST_SPIKE_PARALLEL] = "parallel"};
    return names[arm];
}

static int run_side(spike *s, unsigned side, stretto_error *err) {
    return st_run_step(s->setup->queue[side], s->setup->step[side], &s->done[side], err);
}

static int run_both(spike *s, stretto_error *err) {
    const st_spike_setup *setup = s->setup;
    st_start_side sides[2] = {{.queue = setup->queue[0], .step = setup->step[0], .done = &s->done[0]},
                              {.queue = setup->queue[1], .step = setup->step[1], .done = &s->done[1]}};
    st_start_both(s->starter, &setup->clock, sides);
    for (unsigned i = 0; i < 2; i++)
        if (sides[i].code != STRETTO_OK) return st_fail(err, sides[i].code, "%s", sides[i].error.text);
    return STRETTO_OK;
}

static int run_arm(spike *s, enum st_spike_arm arm, stretto_error *err) {
    if (arm == ST_SPIKE_PARALLEL) return run_both(s, err);
    int code = arm == ST_SPIKE_B ? STRETTO_OK : run_side(s, 0, err);
    if (code == STRETTO_OK && arm != ST_SPIKE_A) code = run_side(s, 1, err);
    return code;
}

static int run_trials(spike *s, st_spike_record *record, enum st_spike_arm arm, stretto_error *err) {
    const st_spike_setup *setup = s->setup;
    while (record->trials[arm] < ST_SPIKE_TRIALS) {
        if (setup->cancel && atomic_load(setup->cancel))
            return st_fail(err, STRETTO_E_STOPPED, "the spike was stopped on request");
        uint64_t begin = st_clock_now(&setup->clock);
        int code = run_arm(s, arm, err);
        if (code != STRETTO_OK) return code;
        record->ns[arm][record->trials[arm]++] = st_clock_now(&setup->clock) - begin;
    }
    return STRETTO_OK;
}

/* Both factors of one time for each arm. s: the side with the smaller median, for all resamples. */
static void factors(const double ns[ST_SPIKE_ARMS], unsigned s, double out[2]) {
    out[0] = (ns[ST_SPIKE_A] + ns[ST_SPIKE_B] - ns[ST_SPIKE_PARALLEL]) / ns[s];
    out[1] = (ns[ST_SPIKE_SERIAL] - ns[ST_SPIKE_PARALLEL]) / ns[s];
}

static void bootstrap(double sorted[ST_SPIKE_ARMS][ST_SPIKE_TRIALS], unsigned s, double *values[2]) {
    unsigned counts[ST_SPIKE_TRIALS] = {0};
    st_rng rng;
    st_rng_seed(&rng, SEED);
    for (unsigned i = 0; i < RESAMPLES; i++) {
        double drawn[ST_SPIKE_ARMS], pair[2];
        for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++)
            drawn[arm] = st_resampled_median(sorted[arm], ST_SPIKE_TRIALS, counts, &rng);
        factors(drawn, s, pair);
        for (unsigned k = 0; k < 2; k++) values[k][i] = pair[k];
    }
}

static int estimate(st_spike_record *record, stretto_error *err) {
    double sorted[ST_SPIKE_ARMS][ST_SPIKE_TRIALS];
    double *memory = st_alloc(RESAMPLES, 2 * sizeof *memory), *values[2] = {memory, memory + RESAMPLES}, pair[2];
    if (!memory) return st_fail_memory(err, "the spike's intervals", RESAMPLES * 2 * sizeof *memory);
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++) {
        double sum = 0;
        for (unsigned i = 0; i < ST_SPIKE_TRIALS; i++) sum += sorted[arm][i] = (double)record->ns[arm][i];
        record->mean_ns[arm] = sum / ST_SPIKE_TRIALS;
        record->median_ns[arm] = st_median(sorted[arm], ST_SPIKE_TRIALS);
    }
    unsigned s = record->median_ns[ST_SPIKE_B] < record->median_ns[ST_SPIKE_A] ? ST_SPIKE_B : ST_SPIKE_A;
    factors(record->median_ns, s, pair);
    bootstrap(sorted, s, values);
    st_interval *out[2] = {&record->factor, &record->factor_serial};
    for (unsigned k = 0; k < 2; k++) {
        st_sort(values[k], RESAMPLES);
        *out[k] = (st_interval){.value = pair[k],
                                .lo = st_quantile_sorted(values[k], RESAMPLES, (1 - LEVEL) / 2),
                                .hi = st_quantile_sorted(values[k], RESAMPLES, (1 + LEVEL) / 2)};
    }
    record->complete = true;
    st_free(memory);
    return STRETTO_OK;
}

int st_spike_run(const st_spike_setup *setup, st_spike_record *record, stretto_error *err) {
    spike s = {.setup = setup};
    *record = (st_spike_record){0};
    for (unsigned i = 0; i < 2; i++) {
        st_unit_info info;
        st_unit_info_get(setup->queue[i]->unit, &info);
        snprintf(record->name[i], sizeof record->name[i], "%s", setup->name[i]);
        snprintf(record->unit[i], sizeof record->unit[i], "%s", info.name);
        st_event_init(&s.done[i]);
    }
    st_unit *const units[2] = {setup->queue[0]->unit, setup->queue[1]->unit};
    int code = setup->virtual_time ? STRETTO_OK : st_starter_create(&s.starter, units, err);
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS && code == STRETTO_OK; arm++) code = run_trials(&s, record, arm, err);
    st_starter_destroy(s.starter);
    if (code != STRETTO_OK) return code;
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++)
        for (unsigned i = 0; i < ST_SPIKE_TRIALS; i++)
            if (record->ns[arm][i] == 0)
                return st_fail(err, STRETTO_E_UNIT, "a trial of %s took no time at all", st_spike_arm_name(arm));
    return estimate(record, err);
}
