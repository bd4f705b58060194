/* SPDX-License-Identifier: MIT */
#include "unit/null.h"

#include "base/error.h"
#include "base/mem.h"
#include "unit/event.h"

#include <stdio.h>

typedef struct null_unit {
    st_unit unit; /* first member */
    unsigned index;
} null_unit;

static void null_info(const st_unit *unit, st_unit_info *info) {
    snprintf(info->name, sizeof info->name, "null:%u", ((const null_unit *)unit)->index);
    snprintf(info->kind, sizeof info->kind, "null");
    snprintf(info->device, sizeof info->device, "nothing is run");
    info->n_threads = 1;
    info->max_pending = 256; /* none ever waits, so any number would do */
    info->shares_memory = true;
}

static int null_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    st_queue *queue = st_alloc(1, sizeof *queue);
    if (!queue) return st_fail_memory(err, "a queue", sizeof *queue);
    queue->unit = unit;
    *out = queue;
    return STRETTO_OK;
}

static void null_queue_close(st_queue *queue) {
    st_free(queue);
}

static int null_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                       stretto_error *err) {
    (void)err; /* what goes wrong is the event's */
    st_event_begin(done, queue->unit);
    int code = STRETTO_OK;
    for (size_t i = 0; i < n_deps; i++) {
        int failed = st_event_wait(deps[i], code == STRETTO_OK ? &done->error : NULL);
        if (code == STRETTO_OK) code = failed;
    }
    done->start_ns = done->end_ns = st_clock_now(&queue->unit->clock);
    st_event_complete(done, code, &done->error, step->name);
    return STRETTO_OK;
}

static void null_quiet(st_unit *unit) {
    (void)unit;
}

static void null_close(st_unit *unit) {
    st_free(unit);
}

static const st_unit_ops null_ops = {
    .info = null_info,
    .queue_open = null_queue_open,
    .queue_close = null_queue_close,
    .submit = null_submit,
    .wait = st_event_block,
    .quiet = null_quiet,
    .close = null_close,
};

int st_null_open(st_unit **out, unsigned index, stretto_error *err) {
    *out = NULL;
    null_unit *null = st_alloc(1, sizeof *null);
    if (!null) return st_fail_memory(err, "a null unit", sizeof *null);
    null->unit = (st_unit){.ops = &null_ops, .clock = st_clock_real()};
    null->index = index;
    *out = &null->unit;
    return STRETTO_OK;
}
