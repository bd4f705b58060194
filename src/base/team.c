/* SPDX-License-Identifier: MIT */
#include "base/team.h"

#include "base/spin.h"

void st_barrier_init(st_barrier *barrier, unsigned count) {
    atomic_init(&barrier->arrived, 0);
    atomic_init(&barrier->phase, 0);
    barrier->count = count;
}

/* The last to arrive starts the next phase. A phase cannot end while one of the team is still on its way in, so the
 * number read before arriving is the one to wait on. */
void st_worker_sync(const st_worker *worker) {
    if (worker->count <= 1) return;
    st_barrier *barrier = worker->barrier;
    unsigned phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->count) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->phase, phase + 1, memory_order_release);
        return;
    }
    for (unsigned turn = 0; atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase;) st_spin_turn(turn++);
}
