/* SPDX-License-Identifier: MIT
 * Statistics of timings: medians, spread, outliers, steady state, and bootstrap intervals. Numbers in, numbers out; all
 * functions may be called from any thread. Values must be finite. */
#ifndef ST_STAT_STAT_H
#define ST_STAT_STAT_H

#include "base/rng.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>

/* An estimate and the interval that should contain the true value. */
typedef struct st_interval {
    double value, lo, hi;
} st_interval;

void st_sort(double *x, size_t n); /* ascending */

/* Of x[n] in ascending order, n > 0: the middle value or the mean of the middle two; and the q-quantile (0 <= q <= 1),
 * linear between order statistics (type 7 of Hyndman & Fan 1996). */
double st_median_sorted(const double *x, size_t n);
double st_quantile_sorted(const double *x, size_t n, double q);

/* Of x[n] in any order, n > 0; x is reordered. */
double st_median(double *x, size_t n);

/* The mean of x[n], none negative, n > 0, in any order (x is reordered), where what exceeds twice the median counts as
 * that much: slow and fast spells weigh as much as they lasted, as in a sum, while a stall says next to nothing. */
double st_mean_unstalled(double *x, size_t n);

#define ST_LEVEL_FIXED 0.95 /* of an interval of as much as was decided on before it was measured */
#define ST_LEVEL_LOOKS 0.98 /* of one that is looked at now and then, and called the 95 % one when it suits */

/* Student's t, which `level` of the distribution with so many degrees of freedom, at least 1, lie within on both sides;
 * to 1 %. The level is one of those above. SIZE_MAX degrees: the normal distribution's. */
double st_student(size_t degrees, double level);

/* Half the width of the interval of the mean of x[n], drawn from a normal distribution (Student 1908), at one of the
 * levels above. INFINITY when n is below 2. */
double st_mean_margin(const double *x, size_t n, double level);

/* Median absolute deviation of x[n] from center, n > 0. scratch has room for n. Times 1.4826 it estimates the standard
 * deviation of normal data. */
#define ST_MAD_TO_SIGMA 1.4826
double st_mad(const double *x, size_t n, double center, double *scratch);

/* The quartiles' distance over the median: the spread of the middle half. x[n] ascending, n > 0, positive median. */
double st_spread_sorted(const double *x, size_t n);

/* Marks outliers of x[n]: modified z-score above 3.5 (Iglewicz & Hoaglin 1993). Values that nearly all agree would make
 * anything else an outlier, so a deviation below a thousandth of the median never is one. Returns how many. scratch has
 * room for n. */
size_t st_outliers(const double *x, size_t n, bool *is_outlier, double *scratch);

/* Whether a series has become steady: the medians of its last two windows of `window` values differ by no more than
 * `tolerance` of their size, or than three standard errors, since noise alone is no trend. False while n < 2 * window.
 * window is at most ST_STEADY_MAX_WINDOW. */
#define ST_STEADY_MAX_WINDOW 32
bool st_steady(const double *x, size_t n, size_t window, double tolerance);

/* The median of `drawn` values, of which counts[i] are sorted[i]. */
double st_counted_median(const double *sorted, const unsigned *counts, size_t drawn);

/* One bootstrap resample: draws n of x[n] (ascending, 0 < n < 2^32) with replacement and returns their median. counts
 * has room for n and is all zero before and after. */
double st_resampled_median(const double *x, size_t n, unsigned *counts, st_rng *rng);

/* The median of x[n] and its percentile bootstrap interval (Efron 1979; for timings see Hoefler & Belli 2015): `level`
 * of the resampled medians lie inside. STRETTO_E_MEMORY; STRETTO_E_USAGE when n or resamples is 0 or level is not
 * between 0 and 1. */
int st_bootstrap_median(const double *x, size_t n, double level, unsigned resamples, st_rng *rng, st_interval *out,
                        stretto_error *err);

#endif
