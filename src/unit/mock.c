/* SPDX-License-Identifier: MIT */
#include "unit/mock.h"

#include "base/error.h"
#include "base/mem.h"
#include "unit/mock_machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void machine_lock(st_mock_machine *machine) {
    pthread_mutex_lock(&machine->lock);
}
static void machine_unlock(st_mock_machine *machine) {
    pthread_mutex_unlock(&machine->lock);
}

static uint64_t clock_now(void *arg) {
    st_mock_machine *machine = arg;
    machine_lock(machine);
    uint64_t now = mock_now(machine);
    machine_unlock(machine);
    return now;
}

static uint64_t clock_boot(void *arg) {
    const st_mock_options *o = &((const st_mock_machine *)arg)->options;
    uint64_t now = clock_now(arg);
    return now >= o->sleep_at_ns ? now + o->sleep_ns : now;
}

static void mock_info(const st_unit *base, st_unit_info *info) {
    const mock_unit *unit = (const mock_unit *)base;
    snprintf(info->name, sizeof info->name, "%s", unit->name);
    snprintf(info->kind, sizeof info->kind, "mock");
    snprintf(info->device, sizeof info->device, "scripted, on virtual time");
    info->n_threads = unit->options.n_threads;
    info->n_cores = unit->options.n_cores;
    memcpy(info->cores, unit->cores, unit->options.n_cores * sizeof *unit->cores);
    info->max_pending = MOCK_PENDING;
    info->shares_memory = true;
}

static int mock_queue_open(st_unit *base, st_queue **out, stretto_error *err) {
    mock_unit *unit = (mock_unit *)base;
    mock_queue *queue = st_alloc(1, sizeof *queue);
    if (queue) queue->jobs = st_alloc(MOCK_PENDING, sizeof *queue->jobs);
    if (!queue || !queue->jobs) {
        st_free(queue);
        return st_fail_memory(err, "a mock queue", sizeof *queue + MOCK_PENDING * sizeof *queue->jobs);
    }
    queue->base.unit = base;
    machine_lock(unit->machine);
    st_rng_seed(&queue->rng, unit->machine->options.seed ^ (++unit->machine->n_queues << 32));
    mock_queue **end = &unit->queues;
    while (*end) end = &(*end)->next;
    *end = queue;
    machine_unlock(unit->machine);
    *out = &queue->base;
    return STRETTO_OK;
}

/* Lets time pass until *count is 0. What waits for units that run in real time is waited for in real time. */
static void machine_drain(st_mock_machine *machine, const unsigned *count) {
    while (*count > 0) {
        if (mock_advance(machine, HUGE_VAL)) continue;
        machine_unlock(machine);
        sched_yield();
        machine_lock(machine);
    }
}

static void mock_queue_close(st_queue *base) {
    mock_queue *queue = (mock_queue *)base;
    mock_unit *unit = (mock_unit *)base->unit;
    machine_lock(unit->machine);
    machine_drain(unit->machine, &queue->count);
    mock_queue **at = &unit->queues;
    while (*at != queue) at = &(*at)->next;
    *at = queue->next;
    machine_unlock(unit->machine);
    st_free(queue->jobs);
    st_free(queue);
}

static void dep_done(st_listener *listener, int code, const stretto_error *error) {
    mock_job *job = ((mock_dep *)listener)->job;
    if (code != STRETTO_OK && !atomic_flag_test_and_set(&job->failed)) {
        job->code = code;
        job->error = *error;
    }
    atomic_fetch_sub_explicit(&job->waiting, 1, memory_order_release);
}

static void job_depend(mock_job *job, st_event *const *deps, size_t n_deps) {
    atomic_store_explicit(&job->waiting, (unsigned)n_deps, memory_order_relaxed);
    for (size_t i = 0; i < n_deps; i++) {
        job->deps[i] = (mock_dep){.listener.fn = dep_done, .job = job};
        if (!st_event_listen(deps[i], &job->deps[i].listener))
            dep_done(&job->deps[i].listener, deps[i]->code, &deps[i]->error);
    }
}

static void queue_push(mock_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                       bool dies) {
    mock_unit *unit = (mock_unit *)queue->base.unit;
    mock_job *job = &queue->jobs[(queue->first + queue->count) % MOCK_PENDING];
    job->done = done;
    job->step = *step;
    job->seq = unit->machine->seq++;
    job->ready = unit->machine->now + (double)unit->options.latency_ns;
    job->code = STRETTO_OK;
    job->running = false;
    job->dies = dies;
    atomic_flag_clear(&job->failed);
    job_depend(job, deps, n_deps);
    queue->count++;
}

static int mock_submit(st_queue *base, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                       stretto_error *err) {
    mock_queue *queue = (mock_queue *)base;
    mock_unit *unit = (mock_unit *)base->unit;
    st_mock_machine *machine = unit->machine;
    uint64_t dies_at = unit->options.dies_at;
    int code = STRETTO_OK;
    st_event_begin(done, base->unit);
    machine_lock(machine);
    if (unit->options.submit_ns > 0) {
        double until = machine->now + (double)unit->options.submit_ns;
        while (mock_advance(machine, until)) {
        }
    }
    if (dies_at && unit->submissions >= dies_at)
        code = st_fail(err, STRETTO_E_UNIT, "unit %s is gone: it died at submission %llu", unit->name,
                       (unsigned long long)dies_at);
    else if (queue->count == MOCK_PENDING)
        code = st_fail(err, STRETTO_E_UNIT, "a queue of unit %s is full: it holds %d submissions", unit->name,
                       MOCK_PENDING);
    else
        queue_push(queue, step, deps, n_deps, done, ++unit->submissions == dies_at);
    machine_unlock(machine);
    return code;
}

static void mock_wait(st_event *event) {
    st_mock_machine *machine = ((mock_unit *)event->unit)->machine;
    machine_lock(machine);
    while (!st_event_done(event)) {
        if (mock_advance(machine, HUGE_VAL)) continue;
        machine_unlock(machine); /* it depends on a unit that runs in real time */
        sched_yield();
        machine_lock(machine);
    }
    machine_unlock(machine);
}

static uint64_t mock_cpu_ns(st_unit *base) {
    mock_unit *unit = (mock_unit *)base;
    machine_lock(unit->machine);
    uint64_t ns = (uint64_t)llround(unit->cpu_ns);
    machine_unlock(unit->machine);
    return ns;
}

static void mock_quiet(st_unit *unit) {
    (void)unit;
} /* nothing of it runs while nobody waits */

static void mock_close(st_unit *base) {
    mock_unit *unit = (mock_unit *)base;
    machine_lock(unit->machine);
    for (mock_queue *queue = unit->queues; queue; queue = queue->next) machine_drain(unit->machine, &queue->count);
    mock_unit **at = &unit->machine->units;
    while (*at != unit) at = &(*at)->next;
    *at = unit->next;
    machine_unlock(unit->machine);
    st_free(unit);
}

static const st_unit_ops mock_ops = {
    .info = mock_info,
    .queue_open = mock_queue_open,
    .queue_close = mock_queue_close,
    .submit = mock_submit,
    .wait = mock_wait,
    .quiet = mock_quiet,
    .cpu_ns = mock_cpu_ns,
    .close = mock_close,
};

st_step st_mock_step(const char *name, st_mock_work *work, uint64_t bytes) {
    return (st_step){.name = name, .arg = work, .bytes = bytes};
}

int st_mock_machine_create(st_mock_machine **out, const st_mock_options *options, stretto_error *err) {
    *out = NULL;
    st_mock_machine *machine = st_alloc(1, sizeof *machine);
    if (!machine) return st_fail_memory(err, "a mock machine", sizeof *machine);
    machine->options = *options;
    pthread_mutex_init(&machine->lock, NULL);
    *out = machine;
    return STRETTO_OK;
}

void st_mock_machine_destroy(st_mock_machine *machine) {
    if (!machine) return;
    pthread_mutex_destroy(&machine->lock);
    st_free(machine);
}

int st_mock_open(st_unit **out, st_mock_machine *machine, const st_mock_unit_options *options, stretto_error *err) {
    *out = NULL;
    if (options->n_cores > ST_UNIT_MAX_CORES)
        return st_fail(err, STRETTO_E_USAGE, "unit %s: %u cores asked, at most %d are possible", options->name,
                       options->n_cores, ST_UNIT_MAX_CORES);
    mock_unit *unit = st_alloc(1, sizeof *unit);
    if (!unit) return st_fail_memory(err, "a mock unit", sizeof *unit);
    unit->base = (st_unit){.ops = &mock_ops, .clock = st_mock_clock(machine)};
    unit->machine = machine;
    unit->options = *options;
    if (options->engines == 0) unit->options.engines = 1;
    if (options->n_threads == 0) unit->options.n_threads = options->n_cores ? options->n_cores : 1;
    snprintf(unit->name, sizeof unit->name, "%s", options->name);
    if (options->n_cores > 0) memcpy(unit->cores, options->cores, options->n_cores * sizeof *unit->cores);
    machine_lock(machine);
    mock_unit **end = &machine->units;
    while (*end) end = &(*end)->next;
    *end = unit;
    machine_unlock(machine);
    *out = &unit->base;
    return STRETTO_OK;
}

st_clock st_mock_clock(st_mock_machine *machine) {
    return (st_clock){.now = clock_now, .arg = machine};
}
st_clock st_mock_boot_clock(st_mock_machine *machine) {
    return (st_clock){.now = clock_boot, .arg = machine};
}

void st_mock_advance(st_mock_machine *machine, uint64_t ns) {
    machine_lock(machine);
    double until = machine->now + (double)ns;
    while (mock_advance(machine, until)) {
    }
    machine_unlock(machine);
}

void st_mock_chill(st_mock_machine *machine) {
    machine_lock(machine);
    for (mock_unit *unit = machine->units; unit; unit = unit->next) unit->chilled = true;
    machine_unlock(machine);
}
