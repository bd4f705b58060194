/* SPDX-License-Identifier: MIT
 * A compute unit: something that executes submitted steps. Units are asynchronous: submit gives an event, wait ends it.
 * This layer knows nothing of chunks, kernels or models; a step is opaque. */
#ifndef ST_UNIT_UNIT_H
#define ST_UNIT_UNIT_H

#include "base/clock.h"
#include "base/team.h"
#include "stretto/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_unit st_unit;
typedef struct st_queue st_queue;
typedef struct st_event st_event;

/* Work to be executed. The submitter owns it and keeps it unchanged until its event is done. A CPU lane calls run on
 * all its workers at once (SPMD); worker 0's return value and reason are the step's, the others' err is NULL. Foreign
 * devices have their own run. */
typedef struct st_step {
    const char *name;
    int (*run)(void *arg, const st_worker *worker, stretto_error *err); /* 0 or a negative stretto_code */
    void *arg;
    uint64_t bytes;      /* weights and KV read by one run, 0 if unknown */
    uint64_t operations; /* multiply-adds of one run, 0 if unknown */
} st_step;

enum st_event_state { ST_EVENT_IDLE, ST_EVENT_PENDING, ST_EVENT_DONE };

/* Completion of one submission. Owned by the submitter; may be reused for a new submission once done. A step whose
 * dependency failed is not run and fails with the same error. */
struct st_event {
    atomic_uint state;  /* enum st_event_state; a futex word */
    st_unit *unit;      /* where it was submitted */
    uint64_t submit_ns; /* stamped by the unit, on the unit's clock */
    uint64_t start_ns, end_ns;
    int code;                                /* of the step, valid when done */
    stretto_error error;                     /* valid when code is not 0 */
    _Atomic(struct st_listener *) listeners; /* event.h: who is told when it is done */
};

#define ST_UNIT_MAX_CORES 256
#define ST_UNIT_MAX_DEPS 16 /* dependencies of one step */
typedef struct st_unit_info {
    char name[48];      /* "cpu:0+1", "mock:0", ... */
    char kind[16];      /* "cpu", "null", "mock" */
    char device[96];    /* processor or device name */
    char driver[64];    /* driver or runtime and its version, "" for a cpu lane */
    unsigned n_threads; /* workers of a lane, 1 elsewhere */
    unsigned n_cores;
    unsigned cores[ST_UNIT_MAX_CORES]; /* indices into st_host.cores, ascending */
    unsigned max_pending;              /* submissions a queue can hold */
    bool shares_memory;                /* host pointers can be used as they are */
} st_unit_info;

typedef struct st_unit_ops {
    void (*info)(const st_unit *unit, st_unit_info *info);
    int (*queue_open)(st_unit *unit, st_queue **out, stretto_error *err);
    void (*queue_close)(st_queue *queue); /* waits for what is pending */
    int (*submit)(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                  stretto_error *err);
    void (*wait)(st_event *event);
    void (*quiet)(st_unit *unit);
    bool (*bind)(st_unit *unit, unsigned worker); /* NULL: no cores of ours */
    uint64_t (*cpu_ns)(st_unit *unit);            /* NULL: not known */
    void (*close)(st_unit *unit);
} st_unit_ops;

struct st_unit { /* first member of every unit's own structure */
    const st_unit_ops *ops;
    st_clock clock; /* what the stamps of its events are read from */
};
struct st_queue {
    st_unit *unit;
};

void st_event_init(st_event *event); /* idle; needed once before the first submission */

/* The calls below may be made from any thread; one queue is used by one thread at a time. */

void st_unit_info_get(const st_unit *unit, st_unit_info *info);
int st_queue_open(st_unit *unit, st_queue **out, stretto_error *err);
void st_queue_close(st_queue *queue); /* NULL is fine */

/* Appends step to the queue. Steps of one queue run in order; step starts after all deps (events of any unit that
 * shares memory; they must have been submitted before) are done. `done` becomes pending at once. An event that is done
 * may be reused even while a step submitted to depend on it has not started. When it fails nothing was submitted:
 * STRETTO_E_UNIT when the unit is gone or the queue is full (done is idle then), STRETTO_E_USAGE above
 * ST_UNIT_MAX_DEPS, STRETTO_E_INTERNAL when done is still pending or a dependency was never submitted (done is left as
 * it was). */
int st_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
              stretto_error *err);

/* Blocks until the event is done; returns its code and copies its error. An idle event is an internal error. */
int st_event_wait(st_event *event, stretto_error *err);
bool st_event_done(const st_event *event);

/* submit and wait in a row. */
int st_run_step(st_queue *queue, const st_step *step, st_event *done, stretto_error *err);

/* Lets the unit's idle workers go to sleep, and returns when they have. */
void st_unit_quiet(st_unit *unit);
/* Binds the calling thread to the core of that worker (0 takes the steps and is always there): a submission from there
 * wakes nobody on another core, and two submitters to two lanes never queue for one core behind a step. False when the
 * unit binds no such worker to a core; the thread then stays as it was. */
bool st_unit_bind(st_unit *unit, unsigned worker);
/* CPU time that the unit's threads have used so far, spinning included; 0: the unit does not know. */
uint64_t st_unit_cpu_ns(st_unit *unit);
/* Waits for what is pending, which may need other units to go on. Queues still open end with the unit. NULL is fine. */
void st_unit_close(st_unit *unit);

#endif
