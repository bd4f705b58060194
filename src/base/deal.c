/* SPDX-License-Identifier: MIT */
#include "base/deal.h"

/* Of what is left of its own part a worker takes one item of so many: large pieces first, single items in the end. */
#define SLICES 4u

/* Two jobs take turns with the counters, so that a worker can clear those of the next job while others still look at
 * those of this one: between a job and the next but one all workers have met twice. */
void st_deal_begin(const st_worker *worker, uint32_t n) {
    st_hand *own = &worker->hands[worker->id];
    const unsigned now = ++own->jobs % 2;
    atomic_store_explicit(&own->taken[!now], 0, memory_order_relaxed);
    atomic_store_explicit(&own->dealt[!now], 0, memory_order_relaxed);
    atomic_store_explicit(&own->dealt[now], n + 1, memory_order_relaxed);
}

bool st_deal_left(const st_worker *worker, unsigned whose) {
    const unsigned now = worker->hands[worker->id].jobs % 2;
    st_hand *hand = &worker->hands[whose];
    const uint32_t dealt = atomic_load_explicit(&hand->dealt[now], memory_order_relaxed);
    return dealt == 0 || atomic_load_explicit(&hand->taken[now], memory_order_relaxed) + 1 < dealt;
}

/* What items come to is seen by others after a sync, which is what orders the counters, too. */
bool st_deal_take(const st_worker *worker, unsigned whose, uint32_t n, uint32_t *lo, uint32_t *hi) {
    const st_hand *own = &worker->hands[worker->id];
    atomic_uint *taken = &worker->hands[whose].taken[own->jobs % 2];
    uint32_t seen = atomic_load_explicit(taken, memory_order_relaxed), slice = 1;
    if (seen >= n) return false;
    if (whose == worker->id && n - seen >= 2 * SLICES) slice = (n - seen) / SLICES;
    *lo = atomic_fetch_add_explicit(taken, slice, memory_order_relaxed);
    if (*lo >= n) return false;
    *hi = n - *lo < slice ? n : *lo + slice;
    return true;
}
