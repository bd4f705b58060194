/* SPDX-License-Identifier: MIT
 * What the leaders of a lane and of a unit in another process do alike: a leader waits until its bell rings, spinning
 * for a while and then asleep on a futex, and runs a step on its pool. */
#ifndef ST_DEVICE_LEADER_H
#define ST_DEVICE_LEADER_H

#include "base/pool.h"
#include "unit/unit.h"

/* May lie in memory that two processes share. */
typedef struct st_bell {
    _Alignas(64) atomic_uint signal; /* changes when there may be something to do; the leader's futex */
    atomic_uint asleep;              /* 1 while the leader sleeps; set by the leader only */
    atomic_uint slept_on;            /* the value of `signal` that it went to sleep on */
    atomic_uint hush;                /* threads that want it asleep */
    bool shared;                     /* another process rings; set before anybody uses it */
} st_bell;

/* ---- whoever has something for the leader; from any thread ---- */

void st_bell_ring(st_bell *bell); /* something changed: the leader looks again */
void st_bell_wake(st_bell *bell); /* the second half of it: wakes a leader that sleeps */

/* Makes the leader sleep now rather than at the end of its spin, and returns when it does, or when it is `gone`
 * (called with arg at every look; NULL: it never is). A leader that works finds the wish when it is done. */
void st_bell_quiet(st_bell *bell, bool (*gone)(void *arg), void *arg);

/* ---- the leader ---- */

static inline unsigned st_bell_seen(st_bell *bell) {
    return atomic_load_explicit(&bell->signal, memory_order_acquire);
}

/* Spins until it rings, which is when `signal` is another than `seen`; false when it is time to sleep. */
bool st_bell_spin(st_bell *bell, unsigned seen, uint64_t spin_ns);

/* Sleeps until it rings. The pool spins for as long as its leader does, and is asleep before it. */
void st_bell_sleep(st_bell *bell, unsigned seen, st_pool *pool);

/* Runs the step on all workers of the pool; the code and the reason are worker 0's. */
int st_step_run(const st_step *step, st_pool *pool, stretto_error *err);

#endif
