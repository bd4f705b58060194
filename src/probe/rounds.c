/* SPDX-License-Identifier: MIT
 * One round holds every arm once, in an order drawn anew (randomised multiple interleaved trials, Abedi & Brecht 2017).
 * Looking at the interval after every round and stopping when it suits would make 95 % intervals cover 85-93 %; looking
 * at 10, 20, 40, ... rounds through a 98 % interval, which is then called the 95 % one, covers 94-97 %. */
#include "probe/rounds.h"

#include "base/error.h"
#include "probe/estimate.h"
#include "probe/verdict.h"

#include <math.h>
#include <stdio.h>

#define LEVEL_FIXED 0.95
#define LEVEL_LOOKS 0.98
#define MAX_ROUNDS 10240 /* of the stopping rule: the tenth doubling */
#define SLEPT_NS 1000000 /* the two clocks are not read at the same instant */

#define WARM_UP_MOST 50
#define WARM_UP_WINDOW 5
#define WARM_UP_TOLERANCE 0.05

typedef struct run {
    const st_probe_setup *setup;
    const st_row_plan *plan;
    st_probe_row *row;
    st_pair pair;
    st_rng rng; /* of the order of arms */
    size_t next_look;
    bool looked;
    uint64_t begin_ns;
} run;

static bool cancelled(const st_probe_setup *setup) {
    return setup->cancel && atomic_load(setup->cancel);
}

static uint64_t now_ns(const run *r) {
    return st_clock_now(&r->setup->clock);
}

static st_estimate_options estimate_options(const run *r) {
    const st_probe_limits *limits = &r->setup->limits;
    return (st_estimate_options){.level = limits->rounds ? LEVEL_FIXED : LEVEL_LOOKS,
                                 .resamples = limits->resamples ? limits->resamples : ST_PROBE_RESAMPLES,
                                 .seed = r->plan->seed};
}

static double precision(const run *r) {
    return r->setup->limits.precision > 0 ? r->setup->limits.precision : ST_PROBE_PRECISION;
}

/* The widest interval that the rule watches. */
static double width(const st_probe_row *row) {
    double overlap = row->overlap.hi - row->overlap.lo;
    return row->one_unit ? fmax(overlap, row->overlap_unit.hi - row->overlap_unit.lo) : overlap;
}

/* About how many rounds there will be, from the width at the last look. */
static size_t expected_rounds(const run *r) {
    if (r->setup->limits.rounds) return r->setup->limits.rounds;
    if (!r->looked) return r->next_look;
    double ratio = width(r->row) / precision(r);
    size_t rounds = r->next_look;
    while (rounds < MAX_ROUNDS && (double)rounds < (double)(r->next_look / 2) * ratio * ratio) rounds *= 2;
    return rounds;
}

static void progress_tell(const run *r) {
    const st_probe_setup *setup = r->setup;
    if (!setup->progress) return;
    uint64_t now = now_ns(r), end = r->plan->end_ns;
    st_probe_progress progress = {
        .row = r->row,
        .job = r->plan->job,
        .n_jobs = setup->n_jobs,
        .rounds = r->row->n_rounds,
        .expected = expected_rounds(r),
        .looked = r->looked,
        .factor = *st_row_decisive(r->row),
        .seconds_left = end ? (end > now ? (double)(end - now) * 1e-9 : 0) : -1,
    };
    setup->progress(setup->progress_arg, &progress);
}

/* The first calls on a unit pay for page faults, caches and lazy set-up: kept apart. */
static int cold_calls(run *r, stretto_error *err) {
    for (unsigned side = 0; side < 2; side++) {
        if (!r->plan->cold[side]) continue;
        st_sample sample;
        enum st_arm arm = side == 0 ? ST_ARM_SOLO_A : r->row->k ? ST_ARM_BATCHED : ST_ARM_SOLO_B;
        int code = st_pair_time(&r->pair, arm, &sample, err);
        if (code != STRETTO_OK) return code;
        r->row->cold_ns[side] = sample.wall_ns;
    }
    return STRETTO_OK;
}

/* Runs the pair together until its time is steady, for at most a quarter of the row's time. */
static int warm_up(run *r, stretto_error *err) {
    double walls[WARM_UP_MOST];
    st_probe_row *row = r->row;
    uint64_t now = now_ns(r), deadline = r->plan->deadline_ns;
    uint64_t end = deadline > now ? now + (deadline - now) / 4 : now;
    while (!row->steady && row->n_warm_up < WARM_UP_MOST && !cancelled(r->setup)) {
        st_sample sample;
        int code = st_pair_time(&r->pair, row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL, &sample, err);
        if (code != STRETTO_OK) return code;
        walls[row->n_warm_up++] = (double)sample.wall_ns;
        row->steady = st_steady(walls, row->n_warm_up, WARM_UP_WINDOW, WARM_UP_TOLERANCE);
        if (deadline && now_ns(r) > end) break;
    }
    return STRETTO_OK;
}

/* How long the machine has slept so far, but for a constant. */
static int64_t slept_ns(const st_probe_setup *setup) {
    if (setup->boot) return (int64_t)(st_clock_now(setup->boot) - st_clock_now(&setup->clock));
    return setup->virtual_time ? 0 : (int64_t)(st_boot_ns() - st_now_ns());
}

static void arms_draw(run *r, unsigned *order) {
    unsigned n = 0;
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if (r->row->arms & 1u << arm) order[n++] = arm;
    st_rng_shuffle(&r->rng, order, n);
}

static int round_run(run *r, stretto_error *err) {
    st_probe_row *row = r->row;
    st_round *round = st_row_reserve(row);
    if (!round) return st_fail_memory(err, "another round", sizeof *round);
    unsigned order[ST_ARM_COUNT];
    arms_draw(r, order);
    int64_t slept = slept_ns(r->setup);
    round->begin_ns = now_ns(r) - r->begin_ns;
    for (unsigned i = 0; i < row->n_arms; i++) {
        round->order[i] = (uint8_t)order[i];
        st_sample *sample = &round->arms[order[i]];
        int code = st_pair_time(&r->pair, order[i], sample, err);
        if (code != STRETTO_OK) return code;
        sample->begin_ns -= r->begin_ns;
        if (sample->wall_ns == 0)
            return st_fail(err, STRETTO_E_UNIT,
                           "%s took no time at all: the unit's clock is not the probe's, or it ran nothing",
                           st_arm_name(order[i]));
    }
    if (slept_ns(r->setup) - slept > SLEPT_NS)
        row->n_discarded++;
    else
        row->n_rounds++;
    return STRETTO_OK;
}

/* Whether enough is known; `stop` says why. */
static int enough(run *r, bool *stop, stretto_error *err) {
    st_probe_row *row = r->row;
    const st_probe_limits *limits = &r->setup->limits;
    *stop = true;
    row->stop = ST_STOP_ROUNDS;
    if (row->n_rounds >= (limits->rounds ? limits->rounds : MAX_ROUNDS)) return STRETTO_OK;
    if (row->n_rounds == r->next_look) {
        st_estimate_options options = estimate_options(r);
        int code = st_estimate_factors(row, &options, err);
        if (code != STRETTO_OK) return code;
        r->looked = true;
        r->next_look *= 2;
        row->stop = ST_STOP_PRECISION;
        if (!limits->rounds && width(row) < precision(r)) return STRETTO_OK;
    }
    row->stop = ST_STOP_BUDGET;
    uint64_t deadline = r->plan->deadline_ns;
    if (deadline && row->n_rounds >= ST_PROBE_LEAST_ROUNDS && now_ns(r) >= deadline) return STRETTO_OK;
    *stop = false;
    return STRETTO_OK;
}

static int rounds_run(run *r, stretto_error *err) {
    r->begin_ns = now_ns(r);
    for (bool stop = false;;) {
        int code = enough(r, &stop, err);
        if (code != STRETTO_OK || stop) return code;
        if (cancelled(r->setup)) return st_fail(err, STRETTO_E_STOPPED, "stopped on request");
        code = round_run(r, err);
        if (code != STRETTO_OK) return code;
        progress_tell(r);
    }
}

static int row_numbers(run *r, stretto_error *err) {
    st_probe_row *row = r->row;
    if (row->n_rounds == 0) {
        snprintf(row->evidence, sizeof row->evidence, "no round was completed");
        row->flags = ST_ROW_FEW;
        row->rounds_needed = ST_PROBE_LEAST_ROUNDS;
        return STRETTO_OK;
    }
    st_estimate_options options = estimate_options(r);
    int code = st_estimate_row(row, &options, err);
    if (code != STRETTO_OK) return code;
    st_verdict_set(row);
    return STRETTO_OK;
}

int st_row_measure(const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row, stretto_error *err) {
    run r = {.setup = setup, .plan = plan, .row = row, .next_look = ST_PROBE_LEAST_ROUNDS};
    st_rng_seed(&r.rng, plan->seed);
    stretto_error problem;
    int code = st_pair_open(&r.pair, setup, &setup->jobs[plan->job], &problem);
    bool open = code == STRETTO_OK;
    r.pair.job = &setup->jobs[plan->job];
    if (code == STRETTO_OK) code = cold_calls(&r, &problem);
    progress_tell(&r);
    if (code == STRETTO_OK) code = warm_up(&r, &problem);
    if (code == STRETTO_OK) code = rounds_run(&r, &problem);
    if (code != STRETTO_OK) row->stop = code == STRETTO_E_STOPPED ? ST_STOP_CANCELLED : ST_STOP_ERROR;
    stretto_error late;
    int numbers = row_numbers(&r, &late);
    if (code == STRETTO_OK && numbers != STRETTO_OK) {
        code = numbers;
        problem = late;
        row->stop = ST_STOP_ERROR;
    }
    if (open) st_pair_close(&r.pair);
    if (code == STRETTO_OK) return code;
    row->error = problem;
    char pair[ST_PAIR_TEXT];
    return st_fail(err, code, "%s, %s: %s", st_row_pair_text(pair, row), row->arrangement->name, problem.text);
}
