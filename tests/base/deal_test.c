/* SPDX-License-Identifier: MIT
 * Dealing out work: every item is done once, whoever does it, and who is through takes from the others. */
#include "base/deal.h"
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_WORKERS = 5, MOST_ITEMS = 97, JOBS = 400 };

/* Items of a worker's part: differs from worker to worker, and from job to job. */
static uint32_t items_of(unsigned job, unsigned id) {
    return (job * 31 + id * 17) % (MOST_ITEMS + 1);
}

typedef struct work {
    unsigned jobs;
    atomic_uint done[MOST_WORKERS][MOST_ITEMS]; /* times, since the last check */
    atomic_uint wrong;
} work;

static void do_job(work *w, unsigned job, const st_worker *worker) {
    uint32_t lo, hi;
    st_deal_begin(worker, items_of(job, worker->id));
    for (unsigned i = 0; i < worker->count; i++) {
        unsigned whose = (worker->id + i) % worker->count;
        if (!st_deal_left(worker, whose)) continue;
        while (st_deal_take(worker, whose, items_of(job, whose), &lo, &hi)) {
            if (lo >= hi || hi > items_of(job, whose) || (i > 0 && hi - lo != 1)) atomic_fetch_add(&w->wrong, 1);
            for (uint32_t item = lo; item < hi; item++) atomic_fetch_add(&w->done[whose][item], 1);
        }
        if (st_deal_left(worker, whose) && whose == worker->id) atomic_fetch_add(&w->wrong, 1);
    }
}

static void run_jobs(void *arg, const st_worker *worker) {
    work *w = arg;
    for (unsigned job = 0; job < w->jobs; job++) {
        do_job(w, job, worker);
        st_worker_sync(worker);
        if (worker->id == 0)
            for (unsigned id = 0; id < worker->count; id++)
                for (uint32_t item = 0; item < MOST_ITEMS; item++) {
                    unsigned times = atomic_exchange(&w->done[id][item], 0);
                    if (times != (item < items_of(job, id))) atomic_fetch_add(&w->wrong, 1);
                }
        st_worker_sync(worker);
    }
}

static st_pool *pool_of(unsigned count) {
    st_pool *pool;
    stretto_error err;
    assert_int_equal(st_pool_create(&pool, &(st_pool_options){.count = count}, &err), 0);
    return pool;
}

static void every_item_is_done_once(void **state) {
    (void)state;
    static work w;
    for (unsigned count = 2; count <= MOST_WORKERS; count++) {
        st_pool *pool = pool_of(count);
        memset(&w, 0, sizeof w);
        w.jobs = JOBS;
        st_pool_run(pool, run_jobs, &w);
        w.jobs = 1; /* an odd number of jobs between two runs */
        st_pool_run(pool, run_jobs, &w);
        w.jobs = 2;
        st_pool_run(pool, run_jobs, &w);
        assert_int_equal(atomic_load(&w.wrong), 0);
        st_pool_destroy(pool);
    }
}

/* The last worker does nothing until all is done. */
typedef struct slow {
    atomic_uint done;
    unsigned all;
} slow;

static void run_slow(void *arg, const st_worker *worker) {
    slow *s = arg;
    uint32_t lo, hi;
    const bool waits = worker->id + 1 == worker->count;
    if (!waits) st_deal_begin(worker, MOST_ITEMS); /* a slow one has perhaps not even begun */
    while (waits && atomic_load(&s->done) < s->all) {
    }
    if (waits) st_deal_begin(worker, MOST_ITEMS);
    for (unsigned i = 0; i < worker->count; i++) {
        unsigned whose = (worker->id + i) % worker->count;
        if (st_deal_left(worker, whose))
            while (st_deal_take(worker, whose, MOST_ITEMS, &lo, &hi)) atomic_fetch_add(&s->done, hi - lo);
    }
    st_worker_sync(worker); /* now all have begun */
    for (unsigned id = 0; id < worker->count; id++)
        if (st_deal_left(worker, id)) atomic_fetch_add(&s->done, 1);
    st_worker_sync(worker);
}

static void others_do_what_a_slow_one_leaves(void **state) {
    (void)state;
    for (unsigned count = 2; count <= 3; count++) {
        st_pool *pool = pool_of(count);
        slow s = {.all = count * MOST_ITEMS};
        st_pool_run(pool, run_slow, &s);
        assert_int_equal(atomic_load(&s.done), s.all);
        st_pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_item_is_done_once),
                                       cmocka_unit_test(others_do_what_a_slow_one_leaves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
