/* SPDX-License-Identifier: MIT
 * Shares that follow the workers' speeds, on a made-up clock. */
#include "base/team.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 5 };

static st_shares shares_make(unsigned count) {
    st_shares shares;
    stretto_error err = {0};
    assert_int_equal(st_shares_create(&shares, count, &err), 0);
    return shares;
}

/* One run of work that all wait for the end of, by workers that do speed[id] of it a nanosecond; other_ns before it are
 * the same for all. */
static void run_once(st_shares *shares, enum st_bound bound, const double *speed, double other_ns) {
    double busy[MOST], longest = 0;
    for (unsigned id = 0; id < shares->count; id++) {
        busy[id] = shares->of[id].size[bound] / speed[id];
        if (busy[id] > longest) longest = busy[id];
    }
    for (unsigned id = 0; id < shares->count; id++) shares->of[id].waited_ns = (uint64_t)(longest - busy[id]);
    shares->used = true;
    shares->bound = bound;
    st_shares_settle(shares, (uint64_t)(longest + other_ns));
    for (unsigned id = 0; id < shares->count; id++) assert_int_equal(shares->of[id].waited_ns, 0);
}

static void they_become_the_speeds(void **state) {
    (void)state;
    static const double speeds[][MOST] = {
        {2e-6, 1e-6}, {1e-6, 1e-6}, {3e-6, 1e-6, 1e-6}, {1e-6, 4e-6, 4e-6, 2e-6, 1e-6}};
    static const unsigned counts[] = {2, 2, 3, 5};
    for (unsigned i = 0; i < 4; i++) {
        st_shares shares = shares_make(counts[i]);
        double sum = 0;
        for (unsigned id = 0; id < counts[i]; id++) sum += speeds[i][id];
        for (unsigned run = 0; run < 200; run++) run_once(&shares, ST_BOUND_ARITHMETIC, speeds[i], 2e5);
        for (unsigned id = 0; id < counts[i]; id++) {
            assert_true(fabs(shares.of[id].size[ST_BOUND_ARITHMETIC] - speeds[i][id] / sum) < 0.005);
            assert_true(shares.of[id].size[ST_BOUND_MEMORY] == 1.0 / counts[i]);
        }
        st_shares_destroy(&shares);
    }
}

static void one_bad_run_hardly_counts(void **state) {
    (void)state;
    st_shares shares = shares_make(2);
    const double lost[] = {1e-6, 1e-9}; /* a core that was away for a thousand times as long as the work takes */
    run_once(&shares, ST_BOUND_MEMORY, lost, 0);
    assert_true(shares.of[1].size[ST_BOUND_MEMORY] > 0.48);
    assert_true(shares.of[0].size[ST_BOUND_MEMORY] + shares.of[1].size[ST_BOUND_MEMORY] == 1.0);
    st_shares_destroy(&shares);
}

static void a_run_without_shares_changes_nothing(void **state) {
    (void)state;
    st_shares shares = shares_make(2);
    shares.of[0].waited_ns = 500;
    st_shares_settle(&shares, 1000);
    assert_true(shares.of[0].size[ST_BOUND_MEMORY] == 0.5);
    assert_int_equal(shares.of[0].waited_ns, 0);
    st_shares_destroy(&shares);
}

/* Whatever the sizes, every item is somebody's, and only his. */
static void parts_join(void **state) {
    (void)state;
    static const double sizes[][MOST] = {
        {0.2, 0.2, 0.2, 0.2, 0.2}, {0.9, 0.001, 0.049, 0.05, 0}, {1.0 / 3, 0.1, 0.3, 0.2, 0.0666}};
    static const uint32_t totals[] = {0, 1, 2, 7, 36, 16384};
    for (unsigned i = 0; i < 3; i++) {
        st_shares shares = shares_make(MOST);
        for (unsigned id = 0; id < MOST; id++) shares.of[id].size[ST_BOUND_MEMORY] = sizes[i][id];
        for (unsigned t = 0; t < sizeof totals / sizeof *totals; t++) {
            uint32_t at = 0;
            for (unsigned id = 0; id < MOST; id++) {
                const st_worker worker = {.id = id, .count = MOST, .shares = &shares};
                uint32_t lo, hi;
                st_worker_share(&worker, ST_BOUND_MEMORY, totals[t], &lo, &hi);
                assert_int_equal(lo, at);
                assert_true(hi >= lo);
                assert_true(fabs((hi - lo) - sizes[i][id] * totals[t]) <= 1.0 + 0.001 * totals[t]);
                at = hi;
            }
            assert_int_equal(at, totals[t]);
        }
        assert_true(shares.used);
        st_shares_destroy(&shares);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_become_the_speeds),
        cmocka_unit_test(one_bad_run_hardly_counts),
        cmocka_unit_test(a_run_without_shares_changes_nothing),
        cmocka_unit_test(parts_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
