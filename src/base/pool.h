/* SPDX-License-Identifier: MIT
 * A thread pool that runs one function on all its threads at once (SPMD). The caller takes part as worker 0, so a pool
 * of n makes n - 1 threads. Idle threads spin for spin_ns and then sleep on a futex. */
#ifndef ST_BASE_POOL_H
#define ST_BASE_POOL_H

#include "base/log.h"
#include "base/team.h"
#include "stretto/error.h"

#include <stdint.h>

typedef struct st_pool st_pool;

typedef struct st_pool_options {
    unsigned count;       /* workers, caller included; at least 1 */
    const unsigned *cpus; /* [count] OS processor numbers to pin to (worker 0's entry is ignored: its thread is the
                             caller's to pin), or NULL for no pinning */
    uint64_t spin_ns;     /* how long an idle thread spins before it sleeps */
    const st_log *log;    /* a refused binding is a warning here, not a failure */
} st_pool_options;

/* STRETTO_E_USAGE for no workers, STRETTO_E_UNIT when the system has no threads to give, STRETTO_E_MEMORY. */
int st_pool_create(st_pool **out, const st_pool_options *options, stretto_error *err);
void st_pool_destroy(st_pool *pool); /* NULL is fine; not while a run is in progress */

typedef void (*st_pool_fn)(void *arg, const st_worker *worker);

/* Runs fn on every worker and returns when all have returned. One run at a time, from one thread at a time. All workers
 * come to the same syncs, and begin the same jobs (deal.h) between them. */
void st_pool_run(st_pool *pool, st_pool_fn fn, void *arg);

/* Makes idle threads sleep now rather than at the end of their spin, and returns when they do (so that their spinning
 * is not measured as somebody else's slowness). */
void st_pool_quiet(st_pool *pool);

/* CPU time of the threads that the pool made (not of the caller, who is worker 0). */
uint64_t st_pool_cpu_ns(const st_pool *pool);

#endif
