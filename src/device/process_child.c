/* SPDX-License-Identifier: MIT
 * The other process: a leader that takes messages and runs their steps on a pool of its own. It is a copy of a larger
 * program, so it leaves by _exit, which runs nothing of that. */
#include "base/futex.h"
#include "base/thread.h"
#include "device/process_box.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static void message_run(process_box *box, st_pool *pool, unsigned at) {
    process_message *message = &box->messages[at % PROCESS_PENDING];
    message->error = (stretto_error){0};
    message->start_ns = st_now_ns();
    message->code = st_step_run(message->step, pool, &message->error);
    message->end_ns = st_now_ns();
    atomic_store(&box->ended, at + 1);
    if (atomic_load(&box->watched)) st_futex_wake_shared(&box->ended);
}

static _Noreturn void child_serve(const process_plan *plan, st_pool *pool) {
    process_box *box = plan->box;
    for (unsigned at = 0;;) {
        unsigned seen = st_bell_seen(&box->bell);
        if (atomic_load_explicit(&box->posted, memory_order_acquire) != at)
            message_run(box, pool, at++);
        else if (atomic_load_explicit(&box->stop, memory_order_acquire))
            _exit(0);
        else if (!st_bell_spin(&box->bell, seen, plan->spin_ns))
            st_bell_sleep(&box->bell, seen, pool);
    }
}

/* What a terminal or a service manager sends to the whole group is the parent's to act on: it may want to end its round
 * first. Without the parent there is nothing to do here. */
static void child_tie(const process_plan *plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan->parent) _exit(0);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

void st_process_child(const process_plan *plan) {
    process_box *box = plan->box;
    child_tie(plan);
    const st_pool_options options = {
        .count = plan->n_threads, .cpus = st_lane_cpus_pool(plan->cpus), .spin_ns = UINT64_MAX};
    st_pool *pool;
    bool good = st_pool_create(&pool, &options, &box->failure) == STRETTO_OK;
    if (good) st_lane_cpus_bind(plan->cpus, 0);
    atomic_store(&box->state, good ? PROCESS_READY : PROCESS_FAILED);
    st_futex_wake_shared(&box->state);
    if (!good) _exit(1);
    child_serve(plan, pool);
}
