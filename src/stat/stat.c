/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int double_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void st_sort(double *x, size_t n) {
    qsort(x, n, sizeof *x, double_compare);
}

double st_median_sorted(const double *x, size_t n) {
    return n % 2 ? x[n / 2] : x[n / 2 - 1] + (x[n / 2] - x[n / 2 - 1]) / 2;
}

double st_quantile_sorted(const double *x, size_t n, double q) {
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n) return x[n - 1];
    return x[below] + (at - (double)below) * (x[below + 1] - x[below]);
}

double st_median(double *x, size_t n) {
    st_sort(x, n);
    return st_median_sorted(x, n);
}

double st_mean_unstalled(double *x, size_t n) {
    double most = 2 * st_median(x, n), sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] < most ? x[i] : most;
    return sum / (double)n;
}

double st_student(size_t degrees, double level) {
    enum { LISTED = 10 };
    static const double quantile[2][LISTED] = {
        {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228},
        {31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764},
    };
    const bool looked = level > ST_LEVEL_FIXED;
    if (degrees <= LISTED) return quantile[looked][degrees - 1];
    return looked ? 2.326 * (1 + 1.8 / (double)degrees) : 1.960 * (1 + 1.23 / (double)degrees);
}

double st_mean_margin(const double *x, size_t n, double level) {
    double sum = 0, squares = 0;
    if (n < 2) return INFINITY;
    for (size_t i = 0; i < n; i++) sum += x[i];
    for (size_t i = 0; i < n; i++) squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
    return st_student(n - 1, level) * sqrt(squares / (double)(n - 1) / (double)n);
}

double st_mad(const double *x, size_t n, double center, double *scratch) {
    for (size_t i = 0; i < n; i++) scratch[i] = fabs(x[i] - center);
    return st_median(scratch, n);
}

double st_spread_sorted(const double *x, size_t n) {
    return (st_quantile_sorted(x, n, 0.75) - st_quantile_sorted(x, n, 0.25)) / st_median_sorted(x, n);
}

size_t st_outliers(const double *x, size_t n, bool *is_outlier, double *scratch) {
    if (n == 0) return 0;
    memcpy(scratch, x, n * sizeof *x);
    double median = st_median(scratch, n), mad = st_mad(x, n, median, scratch);
    double limit = 3.5 * mad / 0.6745, least = 0.001 * fabs(median);
    if (limit < least) limit = least;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        is_outlier[i] = fabs(x[i] - median) > limit;
        found += is_outlier[i];
    }
    return found;
}

bool st_steady(const double *x, size_t n, size_t window, double tolerance) {
    double before[ST_STEADY_MAX_WINDOW], after[ST_STEADY_MAX_WINDOW], scratch[ST_STEADY_MAX_WINDOW];
    if (window == 0 || window > ST_STEADY_MAX_WINDOW || n < 2 * window) return false;
    memcpy(before, x + n - 2 * window, window * sizeof *x);
    memcpy(after, x + n - window, window * sizeof *x);
    double earlier = st_median(before, window), later = st_median(after, window);
    /* A median of normal data has a standard error of 1.2533 sigma / sqrt(n), a difference of two sqrt(2) times it. */
    double sigma = ST_MAD_TO_SIGMA * st_mad(after, window, later, scratch);
    double noise = 3 * 1.2533 * sigma * sqrt(2.0 / (double)window);
    return fabs(later - earlier) <= fmax(tolerance * fabs(later), noise);
}

/* Two indices below n from one draw. 32 bits scaled to n favour some indices by n / 2^32 of their share, far below what
 * a bootstrap resolves; an exact draw costs a division each, most of the time of a probe's estimates. */
static void draw_two(st_rng *rng, size_t n, unsigned *counts, bool both) {
    uint64_t bits = st_rng_next(rng);
    counts[(uint64_t)(uint32_t)bits * n >> 32]++;
    if (both) counts[(bits >> 32) * n >> 32]++;
}

double st_counted_median(const double *sorted, const unsigned *counts, size_t drawn) {
    size_t seen = 0, at = 0;
    while ((seen += counts[at]) < (drawn + 1) / 2) at++;
    double lower = sorted[at], upper = lower; /* the two in the middle, which are one when `drawn` is odd */
    if (drawn % 2 == 0 && seen == drawn / 2) {
        do at++;
        while (counts[at] == 0);
        upper = sorted[at];
    }
    return lower + (upper - lower) / 2;
}

double st_resampled_median(const double *x, size_t n, unsigned *counts, st_rng *rng) {
    for (size_t i = 0; i < n; i += 2) draw_two(rng, n, counts, i + 1 < n);
    double median = st_counted_median(x, counts, n);
    memset(counts, 0, n * sizeof *counts);
    return median;
}

int st_bootstrap_median(const double *x, size_t n, double level, unsigned resamples, st_rng *rng, st_interval *out,
                        stretto_error *err) {
    if (n == 0 || resamples == 0 || !(level > 0 && level < 1))
        return st_fail(err, STRETTO_E_USAGE, "no bootstrap of %zu values with %u resamples at level %g", n, resamples,
                       level);
    double *sorted = st_alloc(n, sizeof *sorted), *medians = st_alloc(resamples, sizeof *medians);
    unsigned *counts = st_alloc(n, sizeof *counts);
    int code = STRETTO_OK;
    if (!sorted || !medians || !counts) {
        code = st_fail_memory(err, "a bootstrap", n * (sizeof *sorted + sizeof *counts) + resamples * sizeof *medians);
        goto end;
    }
    memcpy(sorted, x, n * sizeof *x);
    out->value = st_median(sorted, n);
    for (unsigned i = 0; i < resamples; i++) medians[i] = st_resampled_median(sorted, n, counts, rng);
    st_sort(medians, resamples);
    out->lo = st_quantile_sorted(medians, resamples, (1 - level) / 2);
    out->hi = st_quantile_sorted(medians, resamples, (1 + level) / 2);
end:
    st_free(sorted);
    st_free(medians);
    st_free(counts);
    return code;
}
