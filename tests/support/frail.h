/* SPDX-License-Identifier: MIT
 * A unit that fails when it is told to. */
#ifndef ST_TEST_FRAIL_H
#define ST_TEST_FRAIL_H

#include "base/error.h"
#include "unit/event.h"

#include <stdio.h>

/* Runs steps on the submitting thread; the n-th one fails, or the n-th submission is refused. */
typedef struct frail {
    st_unit unit; /* first member */
    st_queue queue;
    unsigned submitted, fails_at, refuses_at;
} frail;

static inline void frail_info(const st_unit *unit, st_unit_info *info) {
    (void)unit;
    snprintf(info->name, sizeof info->name, "frail:0");
    info->n_threads = 1;
    info->max_pending = 1;
    info->shares_memory = true;
}

static inline int frail_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    (void)err;
    *out = &((frail *)unit)->queue;
    return 0;
}

static inline void frail_queue_close(st_queue *queue) {
    (void)queue;
}

static inline int frail_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps,
                               st_event *done, stretto_error *err) {
    frail *f = (frail *)queue->unit;
    stretto_error error = {0};
    int code = 0;
    if (++f->submitted == f->refuses_at) return st_fail(err, STRETTO_E_UNIT, "frail:0 is gone");
    st_event_begin(done, queue->unit);
    for (size_t i = 0; i < n_deps && !code; i++) code = st_event_wait(deps[i], &error);
    st_worker alone = st_worker_alone();
    if (!code && f->submitted == f->fails_at) code = st_fail(&error, STRETTO_E_UNIT, "frail:0 lost its power");
    if (!code) code = step->run(step->arg, &alone, &error);
    st_event_complete(done, code, &error, step->name);
    return 0;
}

static inline void frail_nothing(st_unit *unit) {
    (void)unit;
}

static const st_unit_ops frail_ops = {.info = frail_info,
                                      .queue_open = frail_queue_open,
                                      .queue_close = frail_queue_close,
                                      .submit = frail_submit,
                                      .wait = st_event_block,
                                      .quiet = frail_nothing,
                                      .close = frail_nothing};

static inline frail frail_make(unsigned fails_at, unsigned refuses_at) {
    return (frail){
        .unit = {.ops = &frail_ops, .clock = st_clock_real()}, .fails_at = fails_at, .refuses_at = refuses_at};
}

#endif
