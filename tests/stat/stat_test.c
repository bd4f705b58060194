/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static void median_of_odd_and_even(void **state) {
    (void)state;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(st_median(odd, 3) == 5);
    assert_true(st_median(even, 4) == 2.5);
    assert_true(st_median(one, 1) == 7);
    assert_true(odd[0] == 1 && odd[2] == 9);
}

static void quantiles_are_those_of_type_7(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 10};
    assert_true(st_quantile_sorted(x, 5, 0) == 1);
    assert_true(st_quantile_sorted(x, 5, 1) == 10);
    assert_true(st_quantile_sorted(x, 5, 0.5) == 3);
    assert_near(st_quantile_sorted(x, 5, 0.9), 7.6, 1e-12); /* R: quantile(c(1,2,3,4,10), .9) */
    assert_near(st_spread_sorted(x, 5), 2.0 / 3, 1e-12);
}

/* A quarter of the time half as fast again: a mean without the outer fifths would say 1.03. A stall of 50 counts for
 * two. */
static void a_mean_of_spells_without_stalls(void **state) {
    (void)state;
    double x[20], stalled[] = {1, 50, 1, 1};
    for (size_t i = 0; i < 20; i++) x[i] = i % 4 ? 1 : 1.5;
    assert_near(st_mean_unstalled(x, 20), 1.125, 1e-12);
    assert_near(st_mean_unstalled(stalled, 4), 1.25, 1e-12);
    assert_near(st_mean_unstalled(stalled, 1), 1, 1e-12);
}

/* R: diff(t.test(c(9, 10, 12, 13))$conf.int) / 2, and with conf.level = 0.98; qt(0.975, ...) and qt(0.99, ...) */
static void a_mean_is_known_within_a_margin(void **state) {
    (void)state;
    const double x[] = {9, 10, 12, 13}, same[] = {5, 5, 5};
    assert_near(st_mean_margin(x, 4, ST_LEVEL_FIXED), 2.9052, 1e-3);
    assert_true(st_mean_margin(same, 3, ST_LEVEL_FIXED) == 0);
    assert_true(isinf(st_mean_margin(x, 1, ST_LEVEL_LOOKS)));
    assert_near(st_mean_margin(x, 4, ST_LEVEL_LOOKS), 4.1452, 1e-3);
    const size_t degrees[] = {1, 10, 11, 15, 30, 200, SIZE_MAX};
    const double fixed[] = {12.7062, 2.2281, 2.2010, 2.1314, 2.0423, 1.9719, 1.9600};
    const double looks[] = {31.8205, 2.7638, 2.7181, 2.6025, 2.4573, 2.3451, 2.3263};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        assert_near(st_student(degrees[i], ST_LEVEL_FIXED) / fixed[i], 1, 0.01);
        assert_near(st_student(degrees[i], ST_LEVEL_LOOKS) / looks[i], 1, 0.01);
    }
}

static void mad_ignores_one_wild_value(void **state) {
    (void)state;
    const double x[] = {1, 1, 2, 2, 4, 6, 900}; /* deviations from 2: 1 1 0 0 2 4 898 */
    double scratch[7];
    assert_true(st_mad(x, 7, 2, scratch) == 1);
}

static void outliers_are_marked(void **state) {
    (void)state;
    const double x[] = {100, 101, 99, 102, 98, 100, 140, 60};
    double scratch[8];
    bool marked[8];
    assert_int_equal(st_outliers(x, 8, marked, scratch), 2);
    assert_true(marked[6] && marked[7] && !marked[3]);
}

static void equal_values_have_no_outliers_but_far_ones(void **state) {
    (void)state;
    const double x[] = {1000, 1000, 1000, 1000.5, 1002};
    double scratch[5];
    bool marked[5];
    assert_int_equal(st_outliers(x, 5, marked, scratch), 1);
    assert_true(marked[4]);
    assert_int_equal(st_outliers(x, 0, marked, scratch), 0);
}

static void steady_after_a_warm_up(void **state) {
    (void)state;
    double x[40], now = 100;
    size_t steady_at = 0;
    for (size_t i = 0; i < 40; i++) {
        x[i] = 10 + now;
        now /= 2;
        if (!steady_at && st_steady(x, i + 1, 5, 0.05)) steady_at = i + 1;
    }
    assert_in_range(steady_at, 12, 18);
}

static void noise_is_steady_and_a_trend_is_not(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 3);
    unsigned steady = 0;
    for (int trial = 0; trial < 400; trial++) {
        double x[10];
        for (int i = 0; i < 10; i++) x[i] = 50 * (1 + 0.2 * st_rng_normal(&rng));
        steady += st_steady(x, 10, 5, 0.05);
    }
    assert_true(steady > 340); /* few false alarms although the noise is four times the tolerance */
    double trend[10];
    for (int i = 0; i < 10; i++) trend[i] = 50 + 5 * i;
    assert_false(st_steady(trend, 10, 5, 0.05));
    assert_false(st_steady(trend, 9, 5, 0.05));
    assert_false(st_steady(trend, 10, 0, 0.05));
}

/* Efron 1979: for odd n the resampled median is at most the k-th smallest value (distinct values) with the probability
 * that Binomial(n, k/n) is at least (n+1)/2. */
static double median_cdf(unsigned n, unsigned k) {
    double p = (double)k / n, total = 0;
    for (unsigned i = (n + 1) / 2; i <= n; i++)
        total += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1)) * pow(p, i) * pow(1 - p, n - i);
    return total;
}

static void resamples_follow_the_exact_distribution(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7};
    unsigned counts[7] = {0}, at_most[8] = {0}, zero[7] = {0};
    st_rng rng;
    st_rng_seed(&rng, 11);
    enum { DRAWS = 200000 };
    for (int i = 0; i < DRAWS; i++) {
        double median = st_resampled_median(x, 7, counts, &rng);
        for (unsigned k = 1; k <= 7; k++) at_most[k] += median <= k;
    }
    assert_memory_equal(counts, zero, sizeof counts);
    for (unsigned k = 1; k <= 7; k++) assert_near((double)at_most[k] / DRAWS, median_cdf(7, k), 0.005);
}

static void an_even_resample_averages_its_middle_two(void **state) {
    (void)state;
    const double x[] = {0, 1};
    unsigned counts[2] = {0}, halves = 0;
    st_rng rng;
    st_rng_seed(&rng, 5);
    enum { DRAWS = 100000 };
    for (int i = 0; i < DRAWS; i++) {
        double median = st_resampled_median(x, 2, counts, &rng);
        assert_true(median == 0 || median == 0.5 || median == 1);
        halves += median == 0.5;
    }
    assert_near((double)halves / DRAWS, 0.5, 0.01);
}

static void bootstrap_repeats_with_its_seed(void **state) {
    (void)state;
    double x[30];
    st_rng rng;
    st_rng_seed(&rng, 1);
    for (int i = 0; i < 30; i++) x[i] = st_rng_normal(&rng);
    st_interval a, b, wide;
    st_rng_seed(&rng, 2);
    assert_int_equal(st_bootstrap_median(x, 30, 0.95, 2000, &rng, &a, NULL), 0);
    st_rng_seed(&rng, 2);
    assert_int_equal(st_bootstrap_median(x, 30, 0.95, 2000, &rng, &b, NULL), 0);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(st_bootstrap_median(x, 30, 0.98, 2000, &rng, &wide, NULL), 0);
    assert_true(wide.lo <= a.lo && wide.hi >= a.hi && wide.hi - wide.lo > a.hi - a.lo);
    assert_true(a.lo <= a.value && a.value <= a.hi);
}

static void bootstrap_of_equal_values_is_a_point(void **state) {
    (void)state;
    const double x[] = {0.25, 0.25, 0.25, 0.25};
    st_rng rng;
    st_rng_seed(&rng, 1);
    st_interval got;
    assert_int_equal(st_bootstrap_median(x, 4, 0.95, 100, &rng, &got, NULL), 0);
    assert_true(got.lo == 0.25 && got.value == 0.25 && got.hi == 0.25);
}

static void bootstrap_refuses_nonsense(void **state) {
    (void)state;
    const double x[] = {1};
    st_rng rng;
    st_rng_seed(&rng, 1);
    st_interval got;
    stretto_error err;
    assert_int_equal(st_bootstrap_median(x, 0, 0.95, 100, &rng, &got, &err), STRETTO_E_USAGE);
    assert_int_equal(st_bootstrap_median(x, 1, 1.0, 100, &rng, &got, &err), STRETTO_E_USAGE);
    assert_int_equal(st_bootstrap_median(x, 1, 0.95, 0, &rng, &got, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "0 resamples"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_odd_and_even),
        cmocka_unit_test(quantiles_are_those_of_type_7),
        cmocka_unit_test(a_mean_of_spells_without_stalls),
        cmocka_unit_test(a_mean_is_known_within_a_margin),
        cmocka_unit_test(mad_ignores_one_wild_value),
        cmocka_unit_test(outliers_are_marked),
        cmocka_unit_test(equal_values_have_no_outliers_but_far_ones),
        cmocka_unit_test(steady_after_a_warm_up),
        cmocka_unit_test(noise_is_steady_and_a_trend_is_not),
        cmocka_unit_test(resamples_follow_the_exact_distribution),
        cmocka_unit_test(an_even_resample_averages_its_middle_two),
        cmocka_unit_test(bootstrap_repeats_with_its_seed),
        cmocka_unit_test(bootstrap_of_equal_values_is_a_point),
        cmocka_unit_test(bootstrap_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
