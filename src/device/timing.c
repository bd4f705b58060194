/* SPDX-License-Identifier: MIT */
#include "device/timing.h"

#include "stat/stat.h"

enum { LEAST_PASSES = 5, MOST_RUNS = 4096 };

/* Of one pass after the other, in order of time. */
typedef struct run_times {
    double ns[MOST_RUNS];
    unsigned n, pieces;
} run_times;

static int time_run(double *ns, uint64_t *end_ns, st_queue *queue, const st_step *step, stretto_error *err) {
    st_event done;
    st_event_init(&done);
    int code = st_run_step(queue, step, &done, err);
    *ns = done.end_ns > done.start_ns ? (double)(done.end_ns - done.start_ns) : 1;
    *end_ns = done.end_ns;
    return code;
}

static int time_passes(run_times *times, st_queue *queue, const st_step *step, uint64_t min_ns, stretto_error *err) {
    uint64_t start = 0, now = 0;
    int code = STRETTO_OK;
    for (unsigned i = 0; i < times->pieces && !code; i++) code = time_run(&times->ns[i], &start, queue, step, err);
    times->n = 0;
    while (!code && times->n + times->pieces <= MOST_RUNS) {
        if (times->n >= LEAST_PASSES * times->pieces && now - start >= min_ns) break;
        for (unsigned i = 0; i < times->pieces && !code; i++)
            code = time_run(&times->ns[times->n++], &now, queue, step, err);
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

int st_step_time(st_timing *out, st_unit *unit, const st_step *step, unsigned pieces, uint64_t min_ns,
                 stretto_error *err) {
    run_times times = {.pieces = pieces};
    st_queue *queue;
    int code = st_queue_open(unit, &queue, err);
    if (code) return code;
    code = time_passes(&times, queue, step, min_ns, err);
    st_queue_close(queue);
    if (code) return code;
    out->runs = times.n;
    out->mean_ns = mean_of_all(&times);
    out->best_ns = mean_of_bests(&times);
    out->median_ns = st_median(times.ns, times.n);
    return STRETTO_OK;
}
