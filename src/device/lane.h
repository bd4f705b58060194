/* SPDX-License-Identifier: MIT
 * Inside a CPU lane. A leader thread takes steps from the lane's queues and runs each on the lane's pool, of which it
 * is worker 0. The lane is a first-in-first-out device over all its queues: one step at a time, and among the steps
 * that can start (first of their queue, dependencies done) the one that was submitted first. */
#ifndef ST_DEVICE_LANE_H
#define ST_DEVICE_LANE_H

#include "device/cpu.h"
#include "device/leader.h"
#include "unit/event.h"
#include "unit/unit.h"

#include <pthread.h>

/* How long idle workers spin before they sleep: long enough for what a decoder does between two tokens, short enough
 * not to be in the way of others. */
#define ST_LANE_SPIN_NS 150000u

/* The OS processors that a lane's workers are bound to. */
typedef struct st_lane_cpus {
    unsigned n; /* workers; 0: they are not bound */
    unsigned cpu[ST_UNIT_MAX_CORES];
} st_lane_cpus;

#define ST_LANE_MAX_PENDING 256u /* submissions a queue holds; a power of two, since positions wrap */

typedef struct st_lane st_lane;
typedef struct st_lane_queue st_lane_queue;
typedef struct st_lane_record st_lane_record;

typedef struct st_lane_dep {
    st_listener listener; /* first member: hangs on the event that the record waits for */
    st_lane_record *record;
} st_lane_dep;

/* One submission. It is told of its dependencies, so an event may be reused before the leader comes to look. */
struct st_lane_record {
    st_lane_queue *queue;
    const st_step *step;
    st_event *done;
    uint64_t ticket;    /* order of submission over all queues of the lane */
    atomic_uint unmet;  /* dependencies that are not done yet */
    atomic_int failure; /* code of the first dependency that failed, whose reason is in done->error; 0: none */
    st_lane_dep deps[ST_UNIT_MAX_DEPS];
};

/* A ring with one submitter and one taker. */
struct st_lane_queue {
    st_queue queue; /* first member */
    st_lane_queue *next;
    unsigned finished;             /* submissions whose event is done; under the lane's lock */
    _Alignas(64) atomic_uint head; /* position of the next to run; moved by the leader */
    _Alignas(64) atomic_uint tail; /* position of the next to be submitted; moved by the submitter */
    st_lane_record records[ST_LANE_MAX_PENDING];
};

struct st_lane {
    st_unit unit; /* first member */
    st_unit_info info;
    st_lane_cpus cpus;
    st_pool *pool;
    pthread_t leader;
    uint64_t spin_ns;
    pthread_mutex_t lock;     /* over queues, their next, finished */
    pthread_cond_t completed; /* a queue's `finished` went up; signalled while somebody closes a queue */
    st_lane_queue *queues;
    unsigned closers;
    st_bell bell;        /* rings when there may be something to run */
    atomic_uint callers; /* listeners that still hang somewhere or are being called */
    atomic_bool stop;
    _Atomic uint64_t tickets;
};

/* cpu.c: what a lane that is opened with these options says of itself: name, cores, number of threads. Errors as in
 * st_cpu_open. */
int st_lane_describe(st_unit_info *info, const st_host *host, const st_cpu_options *options, stretto_error *err);
void st_lane_cpus_find(st_lane_cpus *cpus, const st_unit_info *info, const st_host *host, bool pin);
/* Of a pool's options: NULL where workers are not bound. */
const unsigned *st_lane_cpus_pool(const st_lane_cpus *cpus);
/* st_unit_bind for a unit with such workers. */
bool st_lane_cpus_bind(const st_lane_cpus *cpus, unsigned worker);

/* lane_queue.c: the submitters' side, operations of st_unit_ops. */
int st_lane_queue_open(st_unit *unit, st_queue **out, stretto_error *err);
void st_lane_queue_close(st_queue *queue);
int st_lane_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                   stretto_error *err);

/* lane.c: the leader's side. */
void *st_lane_leader(void *lane);

#endif
