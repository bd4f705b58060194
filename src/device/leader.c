/* SPDX-License-Identifier: MIT */
#include "device/leader.h"

#include "base/futex.h"
#include "base/spin.h"

#include <time.h>

/* Leaves `asleep` to the leader. A waker that took it back could be late for one sleep and hit the next, just before
 * the leader sleeps: then nobody would wake it any more. */
void st_bell_wake(st_bell *bell) {
    if (!atomic_load(&bell->asleep)) return;
    if (bell->shared)
        st_futex_wake_shared(&bell->signal);
    else
        st_futex_wake(&bell->signal);
}

/* `signal` changes before `asleep` is read, and a leader that goes to sleep sets `asleep` before the kernel compares
 * `signal`: one of the two sees the other. */
void st_bell_ring(st_bell *bell) {
    atomic_fetch_add(&bell->signal, 1);
    st_bell_wake(bell);
}

/* Asleep, and nobody has called it since. */
static bool rests(st_bell *bell) {
    return atomic_load(&bell->asleep) && atomic_load(&bell->signal) == atomic_load(&bell->slept_on);
}

/* Polls, since hushing is rare and short: it would cost every submission more to be told. */
void st_bell_quiet(st_bell *bell, bool (*gone)(void *arg), void *arg) {
    atomic_fetch_add(&bell->hush, 1);
    for (unsigned turn = 0; !rests(bell) && !(gone && gone(arg)); turn++) {
        const struct timespec nap = {.tv_nsec = 50000};
        if (turn < 2 * ST_SPIN_IDLE)
            st_spin_turn(turn, ST_SPIN_IDLE);
        else
            nanosleep(&nap, NULL);
    }
    atomic_fetch_sub(&bell->hush, 1);
}

bool st_bell_spin(st_bell *bell, unsigned seen, uint64_t spin_ns) {
    uint64_t since = st_now_ns();
    for (unsigned turn = 1; st_bell_seen(bell) == seen; turn++) {
        if (atomic_load_explicit(&bell->hush, memory_order_relaxed) > 0) return false;
        if (turn % 32 == 0 && st_now_ns() - since >= spin_ns) return false;
        st_spin_turn(turn, ST_SPIN_IDLE);
    }
    return true;
}

void st_bell_sleep(st_bell *bell, unsigned seen, st_pool *pool) {
    st_pool_quiet(pool);
    atomic_store(&bell->slept_on, seen);
    atomic_store(&bell->asleep, 1);
    while (atomic_load(&bell->signal) == seen) {
        if (bell->shared)
            st_futex_wait_shared(&bell->signal, seen, NULL);
        else
            st_futex_wait(&bell->signal, seen);
    }
    atomic_store(&bell->asleep, 0);
}

typedef struct job {
    const st_step *step;
    stretto_error *err;
    int code;
} job;

static void job_run(void *arg, const st_worker *worker) {
    job *j = arg;
    int code = j->step->run(j->step->arg, worker, worker->id == 0 ? j->err : NULL);
    if (worker->id == 0) j->code = code;
}

int st_step_run(const st_step *step, st_pool *pool, stretto_error *err) {
    job j = {.step = step, .err = err};
    st_pool_run(pool, job_run, &j);
    return j.code;
}
