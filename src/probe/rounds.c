/* SPDX-License-Identifier: MIT
 * One round holds every arm once, in an order drawn anew (randomised multiple interleaved trials, Abedi & Brecht 2017).
 * Looking at the interval after every round and stopping when it suits would make 95 % intervals cover 85-93 %; looking
 * at 10, 20, 40, ... rounds through a 98 % interval, which is then called the 95 % one, covers 94-97 %. */
#include "probe/rounds.h"

#include "base/error.h"
#include "probe/account.h"
#include "probe/verdict.h"

#include <math.h>
#include <stdio.h>

#define MAX_ROUNDS 10240 /* of the stopping rule: the tenth doubling */
#define SLEPT_NS 1000000 /* the two clocks are not read at the same instant */

#define WARM_UP_MOST 50
#define WARM_UP_WINDOW 5
#define WARM_UP_TOLERANCE 0.05

static bool cancelled(const st_probe_setup *setup) {
    return setup->cancel && atomic_load(setup->cancel);
}

static uint64_t now_ns(const st_row_run *r) {
    return st_clock_now(&r->setup->clock);
}

static st_estimate_options estimate_options(const st_row_run *r) {
    const st_probe_limits *limits = &r->setup->limits;
    return (st_estimate_options){.level = limits->rounds ? ST_LEVEL_FIXED : ST_LEVEL_LOOKS,
                                 .resamples = limits->resamples ? limits->resamples : ST_PROBE_RESAMPLES,
                                 .seed = r->plan.seed};
}

static double precision(const st_row_run *r) {
    return r->setup->limits.precision > 0 ? r->setup->limits.precision : ST_PROBE_PRECISION;
}

/* The widest interval that the rule watches. */
static double width(const st_probe_row *row) {
    double overlap = row->overlap.hi - row->overlap.lo;
    return row->one_unit ? fmax(overlap, row->overlap_unit.hi - row->overlap_unit.lo) : overlap;
}

/* How many rounds there is time for, if the others go on to take as much of it as they have; but the least there are.
 */
static size_t affordable_rounds(const st_row_run *r) {
    const uint64_t now = now_ns(r), end = r->plan.end_ns, n = r->row->n_rounds;
    if (!end || n == 0 || now <= r->begin_ns) return MAX_ROUNDS;
    const double left = end > now ? (double)(end - now) : 0;
    const double rounds = (double)n * (1 + left / (double)(now - r->begin_ns));
    return rounds > ST_PROBE_LEAST_ROUNDS ? (size_t)fmin(rounds, MAX_ROUNDS) : ST_PROBE_LEAST_ROUNDS;
}

/* About how many rounds there will be, from the width at the last look, and the time. */
static size_t expected_rounds(const st_row_run *r) {
    if (r->setup->limits.rounds) return r->setup->limits.rounds;
    const double ratio = r->looked ? width(r->row) / precision(r) : 0;
    const size_t most = affordable_rounds(r);
    size_t rounds = r->next_look;
    while (rounds < most && (double)rounds < (double)(r->next_look / 2) * ratio * ratio) rounds *= 2;
    return rounds < most ? rounds : most;
}

static void progress_tell(const st_row_run *r) {
    const st_probe_setup *setup = r->setup;
    if (!setup->progress) return;
    uint64_t now = now_ns(r), end = r->plan.end_ns;
    st_probe_progress progress = {
        .row = r->row,
        .job = r->plan.job,
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
static int cold_calls(st_row_run *r, stretto_error *err) {
    for (unsigned side = 0; side < 2; side++) {
        if (!r->plan.cold[side]) continue;
        st_sample sample;
        enum st_arm arm = side == 0 ? ST_ARM_SOLO_A : r->row->k ? ST_ARM_BATCHED : ST_ARM_SOLO_B;
        int code = st_pair_time(&r->pair, arm, &sample, err);
        if (code != STRETTO_OK) return code;
        r->row->cold_ns[side] = sample.wall_ns;
    }
    return STRETTO_OK;
}

/* Runs the pair together until its time is steady, for at most a quarter of the row's time. */
static int warm_up(st_row_run *r, stretto_error *err) {
    double walls[WARM_UP_MOST];
    st_probe_row *row = r->row;
    uint64_t end = now_ns(r) + r->plan.share_ns / 4;
    while (!row->steady && row->n_warm_up < WARM_UP_MOST && !cancelled(r->setup)) {
        st_sample sample;
        int code = st_pair_time(&r->pair, row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL, &sample, err);
        if (code != STRETTO_OK) return code;
        walls[row->n_warm_up++] = (double)sample.wall_ns;
        row->steady = st_steady(walls, row->n_warm_up, WARM_UP_WINDOW, WARM_UP_TOLERANCE);
        if (r->plan.end_ns && now_ns(r) > end) break;
    }
    return STRETTO_OK;
}

/* How long the machine has slept so far, but for a constant. */
static int64_t slept_ns(const st_probe_setup *setup) {
    if (setup->boot) return (int64_t)(st_clock_now(setup->boot) - st_clock_now(&setup->clock));
    return setup->virtual_time ? 0 : (int64_t)(st_boot_ns() - st_now_ns());
}

/* ---- one round ---- */

/* What a round times: arms, and parts of what is measured beside them. */
enum { ITEM_BESIDE = ST_ARM_COUNT, ITEM_COUNT = ST_ARM_COUNT + ST_BESIDE_COUNT * ST_PART_COUNT };

/* One thread that submits both would start them one after the other: what its units do is measured by two, after the
 * turn, so that the submitters need not change from arm to arm. */
static bool beside_is_apart(const st_probe_row *row) {
    return !row->k && row->arrangement->submit == ST_SUBMIT_ONE_THREAD;
}

static unsigned arms_list(const st_probe_row *row, unsigned items[ITEM_COUNT]) {
    unsigned n = 0;
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if (row->arms & 1u << arm) items[n++] = arm;
    return n;
}

static unsigned beside_list(const st_probe_row *row, unsigned items[ITEM_COUNT]) {
    unsigned n = 0, n_parts = row->k ? 1 : ST_PART_COUNT;
    for (unsigned kind = 0; kind < ST_BESIDE_COUNT; kind++)
        for (unsigned part = 0; part < n_parts && row->beside & 1u << kind; part++)
            items[n++] = ITEM_BESIDE + kind * ST_PART_COUNT + part;
    return n;
}

static int arm_run(st_row_run *r, st_pair *pair, enum st_arm arm, st_round *round, stretto_error *err) {
    st_sample *sample = &round->arms[arm];
    int code = st_pair_time(pair, arm, sample, err);
    if (code != STRETTO_OK) return code;
    sample->begin_ns -= r->begin_ns;
    return sample->wall_ns > 0
               ? STRETTO_OK
               : st_fail(err, STRETTO_E_UNIT,
                         "%s took no time at all: the unit's clock is not the probe's, or it ran nothing",
                         st_arm_name(arm));
}

/* A control that fails is left out, since the rows may do better. */
static void beside_run(st_pair *pair, unsigned item, st_round *round, st_probe_row *row) {
    unsigned kind = (item - ITEM_BESIDE) / ST_PART_COUNT, part = (item - ITEM_BESIDE) % ST_PART_COUNT;
    if (!(row->beside & 1u << kind)) return;
    if (st_pair_time_beside(pair, kind, part, &round->beside[kind], NULL) != STRETTO_OK) row->beside &= ~(1u << kind);
}

/* A sample of which a part is missing is none. */
static void beside_check(const st_probe_row *row, st_round *round) {
    for (unsigned kind = 0; kind < ST_BESIDE_COUNT; kind++) {
        st_beside_sample *s = &round->beside[kind];
        bool whole = s->solo_ns[0] && (row->k || (s->solo_ns[1] && s->end_ns[0] && s->end_ns[1]));
        if (!whole) *s = (st_beside_sample){0};
    }
}

static int items_run(st_row_run *r, st_round *round, stretto_error *err) {
    st_probe_row *row = r->row;
    unsigned items[ITEM_COUNT], n = arms_list(row, items), n_arms = 0;
    if (!beside_is_apart(row)) n += beside_list(row, items + n);
    st_rng_shuffle(&r->rng, items, n);
    for (unsigned i = 0; i < n; i++) {
        if (items[i] >= ITEM_BESIDE) {
            beside_run(&r->pair, items[i], round, row);
            continue;
        }
        round->order[n_arms++] = (uint8_t)items[i];
        int code = arm_run(r, &r->pair, items[i], round, err);
        if (code != STRETTO_OK) return code;
    }
    beside_check(row, round);
    return STRETTO_OK;
}

static int round_run(st_row_run *r, stretto_error *err) {
    st_probe_row *row = r->row;
    st_round *round = st_row_reserve(row);
    if (!round) return st_fail_memory(err, "another round", sizeof *round);
    int64_t slept = slept_ns(r->setup);
    round->begin_ns = now_ns(r) - r->begin_ns;
    int code = items_run(r, round, err);
    if (code != STRETTO_OK) return code;
    if (slept_ns(r->setup) - slept > SLEPT_NS)
        row->n_discarded++;
    else
        row->n_rounds++;
    return STRETTO_OK;
}

/* ---- turns ---- */

/* Looks where it is time to, and whether enough is known. */
static int enough(st_row_run *r, stretto_error *err) {
    st_probe_row *row = r->row;
    const st_probe_limits *limits = &r->setup->limits;
    r->ended = true;
    row->stop = ST_STOP_ROUNDS;
    if (row->n_rounds >= (limits->rounds ? limits->rounds : MAX_ROUNDS)) return STRETTO_OK;
    if (row->n_rounds == r->next_look) {
        st_estimate_options options = estimate_options(r);
        int code = st_estimate_factors(row, &options, err);
        if (code == STRETTO_OK) code = st_account_row(row, &options, err);
        if (code != STRETTO_OK) return code;
        r->looked = true;
        r->next_look *= 2;
        row->stop = ST_STOP_PRECISION;
        if (!limits->rounds && width(row) < precision(r)) return STRETTO_OK;
    }
    row->stop = ST_STOP_BUDGET;
    uint64_t end = r->plan.end_ns;
    if (end && row->n_rounds >= ST_PROBE_LEAST_ROUNDS && now_ns(r) >= end) return STRETTO_OK;
    r->ended = false;
    return STRETTO_OK;
}

static int rounds_run(st_row_run *r, size_t rounds, stretto_error *err) {
    size_t first = r->row->n_rounds;
    for (;;) {
        int code = enough(r, err);
        if (code != STRETTO_OK || r->ended || r->row->n_rounds - first >= rounds) return code;
        if (cancelled(r->setup)) return st_fail(err, STRETTO_E_STOPPED, "stopped on request");
        code = round_run(r, err);
        if (code != STRETTO_OK) return code;
        progress_tell(r);
    }
}

/* The controls of the rounds from `first` on, from two threads. */
static void rounds_beside(st_row_run *r, size_t first) {
    st_probe_row *row = r->row;
    if (!beside_is_apart(row) || !row->beside) return;
    st_probe_job job = r->setup->jobs[r->plan.job];
    job.arrangement = st_arrangement_find("two-units", NULL);
    st_pair pair;
    if (st_pair_open(&pair, r->setup, &job, NULL) != STRETTO_OK) return;
    for (size_t i = first; i < row->n_rounds && !cancelled(r->setup); i++) {
        unsigned items[ITEM_COUNT], n = beside_list(row, items);
        st_rng_shuffle(&r->rng, items, n);
        for (unsigned k = 0; k < n; k++) beside_run(&pair, items[k], &row->rounds[i], row);
        beside_check(row, &row->rounds[i]);
    }
    st_pair_close(&pair);
}

/* Before the first rounds what it takes to be steady; later one run, since others ran meanwhile. */
static int turn_prepare(st_row_run *r, stretto_error *err) {
    if (r->begun) {
        st_sample sample;
        return st_pair_time(&r->pair, r->row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL, &sample, err);
    }
    r->begun = true;
    int code = cold_calls(r, err);
    progress_tell(r);
    if (code == STRETTO_OK) code = warm_up(r, err);
    r->begin_ns = now_ns(r);
    return code;
}

void st_row_begin(st_row_run *run, const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row) {
    *run = (st_row_run){.setup = setup, .plan = *plan, .row = row, .next_look = ST_PROBE_LEAST_ROUNDS};
    st_rng_seed(&run->rng, plan->seed);
}

void st_row_turn(st_row_run *run, size_t rounds) {
    size_t first = run->row->n_rounds;
    run->code = st_pair_open(&run->pair, run->setup, &run->setup->jobs[run->plan.job], &run->error);
    if (run->code == STRETTO_OK) {
        run->code = turn_prepare(run, &run->error);
        if (run->code == STRETTO_OK) run->code = rounds_run(run, rounds, &run->error);
        st_pair_close(&run->pair);
        rounds_beside(run, first);
    }
    if (run->code == STRETTO_OK) return;
    run->ended = true;
    run->row->stop = run->code == STRETTO_E_STOPPED ? ST_STOP_CANCELLED : ST_STOP_ERROR;
}

bool st_row_is_decided(const st_row_run *run) {
    const st_interval *factor = st_row_decisive(run->row);
    const st_account *memory = &run->row->memory;
    bool verdict = factor->hi < ST_OVERLAP_THRESHOLD || factor->lo >= ST_OVERLAP_THRESHOLD;
    bool full = run->row->overlap.value >= ST_OVERLAP_FULL;
    bool cause = full || !memory->known || memory->margin.lo > 0 || memory->margin.hi < 0;
    return run->looked && verdict && cause;
}

static int row_numbers(st_row_run *r, stretto_error *err) {
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

int st_row_end(st_row_run *run, stretto_error *err) {
    st_probe_row *row = run->row;
    stretto_error late;
    int numbers = row_numbers(run, &late);
    if (run->code == STRETTO_OK && numbers != STRETTO_OK) {
        run->code = numbers;
        run->error = late;
        row->stop = ST_STOP_ERROR;
    }
    if (run->code == STRETTO_OK) return STRETTO_OK;
    row->error = run->error;
    char pair[ST_PAIR_TEXT];
    return st_fail(err, run->code, "%s, %s: %s", st_row_pair_text(pair, row), row->arrangement->name, run->error.text);
}

int st_row_measure(const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row, stretto_error *err) {
    st_row_run run;
    st_row_begin(&run, setup, plan, row);
    st_row_turn(&run, SIZE_MAX);
    return st_row_end(&run, err);
}
