/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include "support/cpu_time.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MAX = 8 };

static st_pool *pool_make(unsigned count, uint64_t spin_ns) {
    st_pool *pool;
    stretto_error err = {0};
    const st_pool_options options = {.count = count, .spin_ns = spin_ns};
    assert_int_equal(st_pool_create(&pool, &options, &err), 0);
    return pool;
}

typedef struct tally {
    unsigned ran[MAX]; /* not atomic on purpose: a race here is the pool's fault */
} tally;

static void tally_one(void *arg, const st_worker *worker) {
    ((tally *)arg)->ran[worker->id]++;
}

static void every_worker_runs_once_a_run(void **state) {
    (void)state;
    for (unsigned count = 1; count <= 4; count++) {
        st_pool *pool = pool_make(count, 20000);
        tally t = {{0}};
        for (unsigned run = 1; run <= 200; run++) {
            st_pool_run(pool, tally_one, &t);
            for (unsigned id = 0; id < MAX; id++) assert_int_equal(t.ran[id], id < count ? run : 0);
            if (run % 50 == 0) {
                const struct timespec nap = {.tv_nsec = 200000}; /* longer than the spin: they sleep */
                nanosleep(&nap, NULL);
            }
        }
        st_pool_destroy(pool);
    }
    st_pool_destroy(NULL);
}

/* Each phase reads what all wrote in the phase before, with plain memory. */
typedef struct ring {
    unsigned value[2][MAX], wrong[MAX];
} ring;

static void ring_turn(void *arg, const st_worker *worker) {
    ring *r = arg;
    for (unsigned phase = 0; phase < 400; phase++) {
        r->value[phase & 1][worker->id] = phase * 10 + worker->id;
        st_worker_sync(worker);
        for (unsigned id = 0; id < worker->count; id++)
            r->wrong[worker->id] += r->value[phase & 1][id] != phase * 10 + id;
    }
}

static void barrier_holds_all_back(void **state) {
    (void)state;
    for (unsigned count = 1; count <= 5; count++) {
        st_pool *pool = pool_make(count, 20000);
        for (int run = 0; run < 2; run++) {
            ring r = {0};
            st_pool_run(pool, ring_turn, &r);
            for (unsigned id = 0; id < count; id++) assert_int_equal(r.wrong[id], 0);
        }
        st_pool_destroy(pool);
    }
    st_worker alone = st_worker_alone();
    st_worker_sync(&alone);
}

static void sync_often(void *arg, const st_worker *worker) {
    (void)arg;
    for (int i = 0; i < 300; i++) st_worker_sync(worker);
}

/* A team of eight on one processor only ends soon if who waits gives way. Without, every crossing takes a time slice of
 * each, some seconds altogether. */
static void oversubscribed_team_gets_on(void **state) {
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    st_pool *pool = pool_make(MAX, 1000);
    uint64_t start = process_cpu_ns();
    st_pool_run(pool, sync_often, NULL);
    uint64_t took = process_cpu_ns() - start;
    st_pool_destroy(pool);
    sched_setaffinity(0, sizeof before, &before);
    assert_true(took < 1000000000u);
}

static void quiet_pool_uses_no_time(void **state) {
    (void)state;
    st_pool *pool = pool_make(3, UINT64_MAX);
    tally t = {{0}};
    for (unsigned run = 1; run <= 20; run++) {
        st_pool_run(pool, tally_one, &t);
        st_pool_quiet(pool);
        st_pool_quiet(pool);
        assert_int_equal(t.ran[2], run);
    }
    const struct timespec nap = {.tv_nsec = 30000000};
    nanosleep(&nap, NULL); /* they were on their way to sleep */
    uint64_t start = process_cpu_ns();
    nanosleep(&nap, NULL);
    assert_true(process_cpu_ns() - start < 10000000);
    st_pool_destroy(pool);
}

static void count_warnings(void *arg, enum st_log_level level, const char *text) {
    assert_int_equal(level, ST_LOG_WARN);
    assert_non_null(strstr(text, "processor 100000"));
    ++*(unsigned *)arg;
}

static void refused_binding_is_a_warning(void **state) {
    (void)state;
    unsigned warnings = 0;
    const st_log log = {.fn = count_warnings, .arg = &warnings};
    const unsigned cpus[3] = {0, 100000, 100000};
    const st_pool_options options = {.count = 3, .cpus = cpus, .spin_ns = 1000, .log = &log};
    st_pool *pool;
    stretto_error err;
    assert_int_equal(st_pool_create(&pool, &options, &err), 0);
    assert_int_equal(warnings, 2);
    tally t = {{0}};
    st_pool_run(pool, tally_one, &t);
    assert_int_equal(t.ran[1] + t.ran[2], 2);
    st_pool_destroy(pool);
}

static void no_workers_is_an_error(void **state) {
    (void)state;
    st_pool *pool;
    stretto_error err;
    assert_int_equal(st_pool_create(&pool, &(st_pool_options){0}, &err), STRETTO_E_USAGE);
    assert_null(pool);
}

static void ranges_cover_all_evenly(void **state) {
    (void)state;
    const uint32_t totals[] = {0, 1, 5, 7, 8, 1000, UINT32_MAX};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        for (unsigned count = 1; count <= 9; count++) {
            uint32_t next = 0;
            for (unsigned id = 0; id < count; id++) {
                uint32_t lo, hi;
                st_worker_range(&(st_worker){.id = id, .count = count}, totals[i], &lo, &hi);
                assert_int_equal(lo, next);
                assert_in_range(hi - lo, totals[i] / count, totals[i] / count + (totals[i] % count ? 1 : 0));
                next = hi;
            }
            assert_int_equal(next, totals[i]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_worker_runs_once_a_run), cmocka_unit_test(barrier_holds_all_back),
        cmocka_unit_test(oversubscribed_team_gets_on),  cmocka_unit_test(quiet_pool_uses_no_time),
        cmocka_unit_test(refused_binding_is_a_warning), cmocka_unit_test(no_workers_is_an_error),
        cmocka_unit_test(ranges_cover_all_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
