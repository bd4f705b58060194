/* SPDX-License-Identifier: MIT */
#include "stat/grouped.h"

#include "stat/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N 60

static void the_median_is_that_of_all_values(void **state) {
    (void)state;
    const double values[] = {5, 1, 4, 2, 3, 9};
    const unsigned group[] = {7, 0, 7, 0, 3, 3};
    st_grouped g;
    assert_int_equal(st_grouped_create(&g, values, group, 6, NULL), 0);
    assert_int_equal(g.n_groups, 3);
    assert_true(st_grouped_median(&g) == 3.5);
    st_grouped_free(&g);
    assert_int_equal(st_grouped_create(&g, values, group, 0, NULL), STRETTO_E_USAGE);
    st_grouped_free(&g);
}

/* Standard deviation of many resampled medians. */
static double spread(const double *values, const unsigned *group, size_t n) {
    st_grouped g;
    st_rng rng;
    double sum = 0, squares = 0;
    const int times = 4000;
    st_rng_seed(&rng, 1);
    assert_int_equal(st_grouped_create(&g, values, group, n, NULL), 0);
    for (int i = 0; i < times; i++) {
        double median = st_grouped_resample(&g, &rng);
        sum += median;
        squares += median * median;
    }
    st_grouped_free(&g);
    return sqrt(squares / times - sum / times * (sum / times));
}

static void what_groups_differ_by_is_noise(void **state) {
    (void)state;
    double values[N];
    unsigned one[N] = {0}, groups[N];
    st_rng rng;
    st_rng_seed(&rng, 2);
    for (unsigned i = 0; i < N; i++) {
        groups[i] = i / 12;
        values[i] = groups[i] + 0.01 * st_rng_normal(&rng);
    }
    double plain = spread(values, one, N), grouped = spread(values, groups, N);
    assert_true(grouped > 2 * plain); /* five groups, not sixty values, say where the middle is */
}

static void groups_alike_add_no_noise(void **state) {
    (void)state;
    double values[N];
    unsigned one[N] = {0}, groups[N];
    st_rng rng;
    st_rng_seed(&rng, 3);
    for (unsigned i = 0; i < N; i++) {
        groups[i] = i % 20;
        values[i] = st_rng_normal(&rng);
    }
    double plain = spread(values, one, N), grouped = spread(values, groups, N);
    assert_true(grouped > 0.8 * plain && grouped < 1.8 * plain);
}

static void one_group_is_the_plain_bootstrap(void **state) {
    (void)state;
    const double values[] = {1, 2, 3, 4, 10};
    const unsigned one[5] = {0};
    st_grouped g;
    st_rng rng;
    unsigned seen[11] = {0};
    st_rng_seed(&rng, 4);
    assert_int_equal(st_grouped_create(&g, values, one, 5, NULL), 0);
    for (int i = 0; i < 20000; i++) seen[(int)st_grouped_resample(&g, &rng)]++;
    st_grouped_free(&g);
    /* P(median of 5 draws is the k-th of 5): binomial sums, 0.0579, 0.2595, 0.3652 */
    assert_true(fabs(seen[1] / 20000.0 - 0.0579) < 0.006 && fabs(seen[10] / 20000.0 - 0.0579) < 0.006);
    assert_true(fabs(seen[2] / 20000.0 - 0.2595) < 0.012 && fabs(seen[4] / 20000.0 - 0.2595) < 0.012);
    assert_true(fabs(seen[3] / 20000.0 - 0.3652) < 0.012);
}

static void the_interval_holds_what_groups_differ_by(void **state) {
    (void)state;
    double values[N];
    unsigned groups[N];
    st_interval plain, grouped;
    st_rng rng;
    st_rng_seed(&rng, 6);
    for (unsigned i = 0; i < N; i++) {
        groups[i] = i / 12;
        values[i] = groups[i] + 0.01 * st_rng_normal(&rng);
    }
    assert_int_equal(st_bootstrap_median(values, N, 0.95, 1000, &rng, &plain, NULL), 0);
    assert_int_equal(st_bootstrap_groups(values, groups, N, 0.95, 1000, &rng, &grouped, NULL), 0);
    assert_true(plain.value == grouped.value);
    assert_true(grouped.lo < 0.6 && grouped.hi > 3.4);
    assert_true(grouped.hi - grouped.lo > 1.3 * (plain.hi - plain.lo));
    assert_int_equal(st_bootstrap_groups(values, groups, 0, 0.95, 1000, &rng, &grouped, NULL), STRETTO_E_USAGE);
    assert_int_equal(st_bootstrap_groups(values, groups, N, 1, 1000, &rng, &grouped, NULL), STRETTO_E_USAGE);
}

static void few_groups_widen_the_interval(void **state) {
    (void)state;
    assert_true(st_grouped_widening(1) == 1);
    assert_true(fabs(st_grouped_widening(2) - 9.168) < 0.01);  /* sqrt(2) * 12.706 / 1.960 */
    assert_true(fabs(st_grouped_widening(5) - 1.584) < 0.001); /* sqrt(5 / 4) * 2.776 / 1.960 */
    for (size_t n = 2; n < 40; n++) assert_true(st_grouped_widening(n) > st_grouped_widening(n + 1));
    assert_true(fabs(st_grouped_widening(31) - 1.0592) < 0.002); /* t of 30: 2.042 */
    assert_true(st_grouped_widening(100000) < 1.0001);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_is_that_of_all_values),
        cmocka_unit_test(what_groups_differ_by_is_noise),
        cmocka_unit_test(groups_alike_add_no_noise),
        cmocka_unit_test(one_group_is_the_plain_bootstrap),
        cmocka_unit_test(the_interval_holds_what_groups_differ_by),
        cmocka_unit_test(few_groups_widen_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
