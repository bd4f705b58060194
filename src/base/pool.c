/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/mem.h"
#include "base/spin.h"
#include "base/thread.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct follower {
    st_pool *pool;
    unsigned id; /* 1..count-1 */
    pthread_t thread;
} follower;

/* What different sides write to stands on cache lines of its own. */
struct st_pool {
    st_barrier barrier;           /* the team's own, for fn */
    st_hand *hands;               /* [count]; NULL: one worker has nobody to deal with */
    _Alignas(64) atomic_uint run; /* number of the current run; idle threads wait for it to change */
    atomic_uint hush;             /* idle threads that have seen this run sleep at once */
    atomic_bool stop;
    st_pool_fn fn; /* of the current run; written before `run` changes */
    void *arg;
    _Alignas(64) atomic_uint busy; /* followers that have not returned from fn */
    _Alignas(64) atomic_uint asleep;
    uint64_t spin_ns;
    unsigned count, started;
    follower *followers; /* [count - 1] */
};

/* Turns between two looks at the clock, which costs as much as several turns. */
#define CLOCK_TURNS 32u

/* Spins until the run is another than `seen`; false when it is time to sleep. */
static bool idle_spin(st_pool *pool, unsigned seen) {
    uint64_t since = 0;
    for (unsigned turn = 0; atomic_load_explicit(&pool->run, memory_order_acquire) == seen; turn++) {
        if (atomic_load_explicit(&pool->hush, memory_order_relaxed) == seen) return false;
        if (turn % CLOCK_TURNS == 0) {
            uint64_t now = st_now_ns();
            if (since == 0) since = now;
            if (now - since >= pool->spin_ns) return false;
        }
        st_spin_turn(turn, ST_SPIN_IDLE);
    }
    return true;
}

/* `asleep` goes up before the kernel compares `run`, and a runner changes `run` before it reads `asleep`: one of the
 * two sees the other, so no wake-up is lost. */
static void idle_sleep(st_pool *pool, unsigned seen) {
    atomic_fetch_add(&pool->asleep, 1);
    while (atomic_load(&pool->run) == seen) st_futex_wait(&pool->run, seen);
    atomic_fetch_sub(&pool->asleep, 1);
}

static void *follower_main(void *arg) {
    follower *self = arg;
    st_pool *pool = self->pool;
    st_worker worker = {.id = self->id, .count = pool->count, .barrier = &pool->barrier, .hands = pool->hands};
    for (unsigned seen = 0;; seen++) {
        if (!idle_spin(pool, seen)) idle_sleep(pool, seen);
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed)) return NULL;
        pool->fn(pool->arg, &worker);
        atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_release);
    }
}

static void run_begin(st_pool *pool) {
    atomic_fetch_add(&pool->run, 1);
    if (atomic_load(&pool->asleep) > 0) st_futex_wake(&pool->run);
}

static int pool_start(st_pool *pool, const st_pool_options *options, stretto_error *err) {
    for (unsigned id = 1; id < pool->count; id++) {
        follower *f = &pool->followers[id - 1];
        *f = (follower){.pool = pool, .id = id};
        char name[24];
        snprintf(name, sizeof name, "st-worker-%u", id);
        int code = st_thread_start(&f->thread, follower_main, f, name, err);
        if (code != STRETTO_OK) return code;
        pool->started++;
        if (options->cpus) st_thread_bind(f->thread, options->cpus[id], options->log);
    }
    return STRETTO_OK;
}

int st_pool_create(st_pool **out, const st_pool_options *options, stretto_error *err) {
    *out = NULL;
    if (options->count == 0) return st_fail(err, STRETTO_E_USAGE, "a thread pool needs at least one worker");
    st_pool *pool = st_alloc(1, sizeof *pool);
    follower *followers = st_alloc(options->count, sizeof *followers);
    st_hand *hands = options->count > 1 ? st_alloc(options->count, sizeof *hands) : NULL;
    if (!pool || !followers || (options->count > 1 && !hands)) {
        st_free(pool);
        st_free(followers);
        st_free(hands);
        return st_fail_memory(err, "thread pool", sizeof *pool + options->count * sizeof *followers);
    }
    st_barrier_init(&pool->barrier, options->count);
    atomic_init(&pool->hush, UINT_MAX);
    pool->spin_ns = options->spin_ns;
    pool->count = options->count;
    pool->followers = followers;
    pool->hands = hands;
    int code = pool_start(pool, options, err);
    if (code == STRETTO_OK)
        *out = pool;
    else
        st_pool_destroy(pool);
    return code;
}

void st_pool_destroy(st_pool *pool) {
    if (!pool) return;
    atomic_store(&pool->stop, true);
    run_begin(pool);
    for (unsigned i = 0; i < pool->started; i++) pthread_join(pool->followers[i].thread, NULL);
    st_free(pool->hands);
    st_free(pool->followers);
    st_free(pool);
}

void st_pool_run(st_pool *pool, st_pool_fn fn, void *arg) {
    st_worker worker = {.id = 0, .count = pool->count, .barrier = &pool->barrier, .hands = pool->hands};
    if (pool->count > 1) {
        pool->fn = fn;
        pool->arg = arg;
        atomic_store_explicit(&pool->busy, pool->count - 1, memory_order_relaxed);
        run_begin(pool);
    }
    fn(arg, &worker);
    for (unsigned turn = 0; atomic_load_explicit(&pool->busy, memory_order_acquire) > 0;)
        st_spin_turn(turn++, ST_SPIN_TEAM);
}

void st_pool_quiet(st_pool *pool) {
    atomic_store_explicit(&pool->hush, atomic_load_explicit(&pool->run, memory_order_relaxed), memory_order_relaxed);
    for (unsigned turn = 0; atomic_load(&pool->asleep) < pool->count - 1;) st_spin_turn(turn++, ST_SPIN_IDLE);
}

uint64_t st_pool_cpu_ns(const st_pool *pool) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < pool->started; i++) sum += st_thread_cpu_ns_of(pool->followers[i].thread);
    return sum;
}
