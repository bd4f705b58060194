/* SPDX-License-Identifier: MIT */
#include "device/timing.h"

#include "stat/stat.h"

enum { LEAST_RUNS = 5, MOST_RUNS = 2000 };

static int time_runs(st_timing *out, st_queue *queue, const st_step *step, uint64_t min_ns, stretto_error *err) {
    double ns[MOST_RUNS];
    st_event done;
    st_event_init(&done);
    uint64_t start = 0;
    *out = (st_timing){0};
    for (;;) {
        int code = st_run_step(queue, step, &done, err);
        if (code) return code;
        if (start == 0) {
            start = done.end_ns;
            continue;
        }
        ns[out->runs++] = done.end_ns > done.start_ns ? (double)(done.end_ns - done.start_ns) : 1;
        if (out->runs == MOST_RUNS || (out->runs >= LEAST_RUNS && done.end_ns - start >= min_ns)) break;
    }
    st_sort(ns, out->runs);
    out->best_ns = ns[0];
    out->median_ns = st_median_sorted(ns, out->runs);
    return STRETTO_OK;
}

int st_step_time(st_timing *out, st_unit *unit, const st_step *step, uint64_t min_ns, stretto_error *err) {
    st_queue *queue;
    int code = st_queue_open(unit, &queue, err);
    if (code) return code;
    code = time_runs(out, queue, step, min_ns, err);
    st_queue_close(queue);
    return code;
}
