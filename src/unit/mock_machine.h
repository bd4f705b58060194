/* SPDX-License-Identifier: MIT
 * The mock machine's own structures, shared by its two sources: mock.c is the unit interface, mock_machine.c the
 * event-driven simulation. */
#ifndef ST_UNIT_MOCK_MACHINE_H
#define ST_UNIT_MOCK_MACHINE_H

#include "base/rng.h"
#include "unit/event.h"
#include "unit/mock.h"

#include <pthread.h>

#define MOCK_PENDING 64 /* submissions a queue can hold */

typedef struct mock_job mock_job;
typedef struct mock_queue mock_queue;
typedef struct mock_unit mock_unit;

typedef struct mock_dep {
    st_listener listener; /* first */
    mock_job *job;
} mock_dep;

/* One submission. Only the first of a queue may be running. */
struct mock_job {
    st_event *done;
    st_step step;
    mock_dep deps[ST_UNIT_MAX_DEPS];
    atomic_uint waiting; /* dependencies that are not done; counted down from any thread */
    atomic_flag failed;  /* a dependency failed: code and error are its */
    int code;
    stretto_error error;
    uint64_t seq;        /* order of submission on the machine */
    double ready;        /* virtual ns when the latency is over */
    double start, total; /* once running: when, and its duration at full speed */
    double left;         /* of total */
    double speed;        /* share of full speed at the moment */
    bool running, dies, cold;
};

struct mock_queue {
    st_queue base;
    mock_queue *next; /* of the unit */
    mock_job *jobs;   /* [MOCK_PENDING] a ring */
    unsigned first, count;
    st_rng rng; /* noise: of the queue, so that it does not depend on which thread came first */
};

struct mock_unit {
    st_unit base;
    mock_unit *next; /* of the machine */
    st_mock_machine *machine;
    st_mock_unit_options options;
    char name[48];
    unsigned cores[ST_UNIT_MAX_CORES];
    mock_queue *queues;
    uint64_t submissions;
    unsigned running; /* steps in progress */
    bool chilled;     /* the next step finds the caches cold */
    double cpu_ns;    /* CPU time of its threads */
};

struct st_mock_machine {
    st_mock_options options;
    pthread_mutex_t lock; /* guards all below */
    double now;           /* virtual ns */
    uint64_t seq, n_queues;
    mock_unit *units;
};

/* All with the lock held. */

uint64_t mock_now(const st_mock_machine *machine);

/* Goes on to the next thing that happens, no later than `until`, and lets it happen. False when nothing more happens
 * until then: the clock then stands at `until`, or where it was when that is HUGE_VAL. */
bool mock_advance(st_mock_machine *machine, double until);

#endif
