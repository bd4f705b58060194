/* SPDX-License-Identifier: MIT */
#include "probe/beside.h"

#include "base/mem.h"
#include "probe/account.h"
#include "probe/rounds.h"
#include "probe/start.h"
#include "unit/null.h"

#define FOLLOW_ROUNDS 10
#define RESAMPLES 1000
#define LEVEL 0.95
#define JOIN_WARM_UP 20
#define JOIN_PAIRS 200

/* ---- the same pair under other conditions ---- */

/* Rounds of the same pair with that measured beside; the caller frees row->rounds. */
static bool follow(st_probe_row *row, st_probe_setup *own, unsigned job, unsigned beside) {
    own->progress = NULL;
    own->limits = (st_probe_limits){.rounds = FOLLOW_ROUNDS, .resamples = RESAMPLES};
    *row = (st_probe_row){0};
    st_row_describe(row, own, &own->jobs[job]);
    row->beside = beside;
    const st_row_plan plan = {.job = job, .seed = own->seed + job};
    const st_estimate_options options = {.level = LEVEL, .resamples = RESAMPLES, .seed = plan.seed};
    return st_row_measure(own, &plan, row, NULL) == STRETTO_OK && st_account_row(row, &options, NULL) == STRETTO_OK;
}

void st_row_measure_warm(st_probe_row *row, const st_probe_setup *setup, unsigned job) {
    st_probe_setup own = *setup;
    st_probe_row other;
    if (follow(&other, &own, job, 1u << ST_BESIDE_WARM) && other.has_warm) {
        row->has_warm = true;
        row->warm = other.warm;
        row->warm_gain = other.warm_gain;
    }
    st_free(other.rounds);
}

void st_row_measure_unpinned(st_probe_row *row, const st_probe_setup *setup, unsigned job) {
    st_probe_setup own = *setup;
    st_probe_row other;
    own.units = setup->unpinned;
    row->has_unpinned = follow(&other, &own, job, 0);
    if (row->has_unpinned) row->unpinned = other.overlap;
    st_free(other.rounds);
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
