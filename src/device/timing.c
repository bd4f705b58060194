/* SPDX-License-Identifier: MIT */
#include "device/timing.h"

#include "base/error.h"
#include "base/mem.h"
#include "stat/stat.h"

enum { LEAST_PASSES = 5, MOST_RUNS = 4096 };

/* Of one pass after the other, in order of time. */
typedef struct run_times {
    double ns[MOST_RUNS];
    double plain_ns[MOST_RUNS + 1]; /* before each run, and after the last; without a plain step: nothing */
    double ratio[MOST_RUNS];        /* of the plain times around a run to its own */
    unsigned n, pieces;
} run_times;

/* What is run, and where. */
typedef struct run_what {
    st_queue *queue;
    const st_step *step, *plain; /* plain: NULL, or run in turns with it */
} run_what;

static int time_run(double *ns, uint64_t *end_ns, st_queue *queue, const st_step *step, stretto_error *err) {
    st_event done;
    st_event_init(&done);
    int code = st_run_step(queue, step, &done, err);
    *ns = done.end_ns > done.start_ns ? (double)(done.end_ns - done.start_ns) : 1;
    *end_ns = done.end_ns;
    return code;
}

/* Run i, and what stands after it. */
static int time_turn(run_times *times, unsigned i, uint64_t *end_ns, const run_what *what, stretto_error *err) {
    int code = time_run(&times->ns[i], end_ns, what->queue, what->step, err);
    if (!code && what->plain) code = time_run(&times->plain_ns[i + 1], end_ns, what->queue, what->plain, err);
    return code;
}

static int time_passes(run_times *times, const run_what *what, uint64_t min_ns, stretto_error *err) {
    uint64_t start = 0, now = 0;
    int code = STRETTO_OK;
    for (unsigned i = 0; i < times->pieces && !code; i++) code = time_turn(times, i, &start, what, err);
    if (what->plain) times->plain_ns[0] = times->plain_ns[times->pieces];
    times->n = 0;
    while (!code && times->n + times->pieces <= MOST_RUNS) {
        if (times->n >= LEAST_PASSES * times->pieces && now - start >= min_ns) break;
        for (unsigned i = 0; i < times->pieces && !code; i++) code = time_turn(times, times->n++, &now, what, err);
    }
    return code;
}

static double mean_of_all(const run_times *times) {
    double sum = 0;
    for (unsigned i = 0; i < times->n; i++) sum += times->ns[i];
    return sum / times->n;
}

static double mean_of_bests(const run_times *times) {
    double sum = 0;
    for (unsigned piece = 0; piece < times->pieces; piece++) {
        double best = times->ns[piece];
        for (unsigned i = piece; i < times->n; i += times->pieces)
            if (times->ns[i] < best) best = times->ns[i];
        sum += best;
    }
    return sum / times->pieces;
}

/* *out is the caller's, to free whatever comes back: too large for a stack. */
static int time_all(run_times **out, st_unit *unit, run_what *what, unsigned pieces, uint64_t min_ns,
                    stretto_error *err) {
    run_times *times = *out = st_alloc(1, sizeof *times);
    if (!times) return st_fail_memory(err, "the times of a step", sizeof *times);
    times->pieces = pieces;
    int code = st_queue_open(unit, &what->queue, err);
    if (code) return code;
    code = time_passes(times, what, min_ns, err);
    st_queue_close(what->queue);
    return code;
}

/* Of the step; its times are sorted. */
static st_timing timing_of(run_times *times) {
    st_timing t = {.runs = times->n, .mean_ns = mean_of_all(times), .best_ns = mean_of_bests(times)};
    t.median_ns = st_median(times->ns, times->n);
    return t;
}

/* How much quicker a run is than the plain ones around it. */
static double median_ratio(run_times *times) {
    double *ratio = times->ratio;
    for (unsigned i = 0; i < times->n; i++) ratio[i] = (times->plain_ns[i] + times->plain_ns[i + 1]) / 2 / times->ns[i];
    return st_median(ratio, times->n);
}

int st_step_time(st_timing *out, st_unit *unit, const st_step *step, unsigned pieces, uint64_t min_ns,
                 stretto_error *err) {
    run_times *times = NULL;
    run_what what = {.step = step};
    int code = time_all(&times, unit, &what, pieces, min_ns, err);
    if (!code) *out = timing_of(times);
    st_free(times);
    return code;
}

int st_step_time_against(st_timing *out, st_turns *turns, st_unit *unit, const st_step *step, unsigned pieces,
                         const st_step *plain, uint64_t min_ns, stretto_error *err) {
    run_times *times = NULL;
    run_what what = {.step = step, .plain = plain};
    int code = time_all(&times, unit, &what, pieces, min_ns, err);
    if (!code) {
        turns->ratio = median_ratio(times);
        turns->plain_ns = st_median(times->plain_ns, times->n + 1);
        *out = timing_of(times);
    }
    st_free(times);
    return code;
}
