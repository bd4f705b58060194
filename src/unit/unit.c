/* SPDX-License-Identifier: MIT */
#include "unit/unit.h"

#include "base/error.h"
#include "unit/event.h"

#include <string.h>

void st_unit_info_get(const st_unit *unit, st_unit_info *info) {
    memset(info, 0, sizeof *info);
    unit->ops->info(unit, info);
}

int st_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    *out = NULL;
    return unit->ops->queue_open(unit, out, err);
}

void st_queue_close(st_queue *queue) {
    if (queue) queue->unit->ops->queue_close(queue);
}

/* What every unit would have to refuse. */
static int submit_check(const st_step *step, st_event *const *deps, size_t n_deps, const st_event *done,
                        stretto_error *err) {
    if (n_deps > ST_UNIT_MAX_DEPS)
        return st_fail(err, STRETTO_E_USAGE, "step %s depends on %zu events, but at most %d are possible", step->name,
                       n_deps, ST_UNIT_MAX_DEPS);
    unsigned state = atomic_load_explicit(&done->state, memory_order_acquire);
    if (state != ST_EVENT_IDLE && state != ST_EVENT_DONE)
        return st_fail(err, STRETTO_E_INTERNAL, "step %s was submitted with an event that is still pending",
                       step->name);
    for (size_t i = 0; i < n_deps; i++) {
        if (deps[i] == done) return st_fail(err, STRETTO_E_INTERNAL, "step %s depends on its own event", step->name);
        if (atomic_load_explicit(&deps[i]->state, memory_order_acquire) == ST_EVENT_IDLE)
            return st_fail(err, STRETTO_E_INTERNAL, "dependency %zu of step %s was never submitted", i, step->name);
    }
    return STRETTO_OK;
}

int st_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
              stretto_error *err) {
    int code = submit_check(step, deps, n_deps, done, err);
    if (code != STRETTO_OK) return code;
    code = queue->unit->ops->submit(queue, step, deps, n_deps, done, err);
    if (code != STRETTO_OK) st_event_undo(done);
    return code;
}

int st_event_wait(st_event *event, stretto_error *err) {
    if (atomic_load_explicit(&event->state, memory_order_acquire) == ST_EVENT_IDLE)
        return st_fail(err, STRETTO_E_INTERNAL, "waited for an event that was never submitted");
    if (!st_event_done(event)) event->unit->ops->wait(event);
    if (event->code != STRETTO_OK && err) *err = event->error;
    return event->code;
}

int st_run_step(st_queue *queue, const st_step *step, st_event *done, stretto_error *err) {
    int code = st_submit(queue, step, NULL, 0, done, err);
    return code != STRETTO_OK ? code : st_event_wait(done, err);
}

void st_unit_quiet(st_unit *unit) {
    unit->ops->quiet(unit);
}

bool st_unit_bind(st_unit *unit, unsigned worker) {
    return unit->ops->bind && unit->ops->bind(unit, worker);
}

uint64_t st_unit_cpu_ns(st_unit *unit) {
    return unit->ops->cpu_ns ? unit->ops->cpu_ns(unit) : 0;
}

void st_unit_close(st_unit *unit) {
    if (unit) unit->ops->close(unit);
}
