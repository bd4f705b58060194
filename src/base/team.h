/* SPDX-License-Identifier: MIT
 * What one thread of a team knows while all of them run the same function: its number, how many there are, and the
 * barrier they share. Kernels and chunks take a worker and split work by rows; they know nothing of pools or units. */
#ifndef ST_BASE_TEAM_H
#define ST_BASE_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two counters, each on a cache line of its own; team.c says what they count. */
typedef struct st_barrier {
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint phase;
    unsigned count;
} st_barrier;

/* What a worker of a team has taken of its part of a job (deal.h), on a cache line of its own. Zeroed at first. */
typedef struct st_hand {
    _Alignas(64) atomic_uint taken[2]; /* items of this job, and of the next or the last one */
    atomic_uint dealt[2];              /* items that there are, and one; 0: the worker has not begun the job */
    unsigned jobs;                     /* so far; the worker's own */
} st_hand;

typedef struct st_worker {
    unsigned id, count;  /* id is 0..count-1 */
    st_barrier *barrier; /* of `count` threads; may be NULL when count is 1 */
    st_hand *hands;      /* [count] of the team; NULL: each worker keeps to its own part */
} st_worker;

void st_barrier_init(st_barrier *barrier, unsigned count);

/* Waits until all workers of the team have come here; what they wrote before is then visible to all. Spins (a pinned
 * pair crosses in tens of nanoseconds), and yields the core after a while in case the team is oversubscribed. */
void st_worker_sync(const st_worker *worker);

/* Memory that a worker will read next; NULL: nothing. */
typedef struct st_ahead {
    const void *data;
    size_t bytes;
} st_ahead;

/* As st_worker_sync. A worker that has to wait fetches into its core's cache what it will read next, from the start and
 * as far as the time goes: a core alone cannot draw all that memory gives, so a wait without that is bandwidth lost. */
void st_worker_sync_ahead(const st_worker *worker, st_ahead ahead);

/* The part [*lo, *hi) of `total` items that is this worker's; contiguous, in order of id, sizes differ by at most
 * one. */
static inline void st_worker_range(const st_worker *worker, uint32_t total, uint32_t *lo, uint32_t *hi) {
    *lo = (uint32_t)((uint64_t)total * worker->id / worker->count);
    *hi = (uint32_t)((uint64_t)total * (worker->id + 1) / worker->count);
}

static inline st_worker st_worker_alone(void) {
    return (st_worker){.id = 0, .count = 1, .barrier = 0};
}

#endif
