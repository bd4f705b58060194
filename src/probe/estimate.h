/* SPDX-License-Identifier: MIT
 * From rounds to numbers. Pure functions of a row's rounds. */
#ifndef ST_PROBE_ESTIMATE_H
#define ST_PROBE_ESTIMATE_H

#include "probe/record.h"

#define ST_SKEW_LIMIT 0.05 /* of the shorter side: sides that were submitted further apart did not start together */

typedef struct st_estimate_options {
    double level; /* of the intervals */
    unsigned resamples;
    uint64_t seed; /* the same seed and rounds give the same intervals */
    bool ratio;    /* the values are above 0, and so are the interval's ends */
} st_estimate_options;

/* What a look at the rounds so far needs: the reference side and the overlap factors with their intervals. The row has
 * at least one round. STRETTO_E_MEMORY. */
int st_estimate_factors(st_probe_row *row, const st_estimate_options *options, stretto_error *err);

/* All of the row's numbers but verdict and cause; flags outliers and skewed rounds. */
int st_estimate_row(st_probe_row *row, const st_estimate_options *options, stretto_error *err);

/* The median of values[n], n > 0, of which process[i] is where each was measured (those of one stand together), and its
 * interval: over rounds, or, of several processes, over these and their rounds, as wide as so few of them ask for.
 * STRETTO_E_MEMORY. */
int st_estimate_interval(const double *values, const unsigned *process, size_t n, const st_estimate_options *options,
                         st_interval *out, stretto_error *err);

/* The overlap factor of one of the row's rounds, the second one against one queue (where one_unit); the row's reference
 * is set. */
double st_round_overlap(const st_probe_row *row, const st_round *round);
double st_round_overlap_unit(const st_probe_row *row, const st_round *round);

#endif
