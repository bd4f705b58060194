/* SPDX-License-Identifier: MIT
 * Medians of values that come in groups, as the rounds of several processes do: what groups differ by is noise that no
 * number of values in one group shows. */
#ifndef ST_STAT_GROUPED_H
#define ST_STAT_GROUPED_H

#include "stat/stat.h"

#include <stddef.h>

typedef struct st_grouped {
    size_t n, n_groups;
    double *sorted;   /* [n] the values */
    unsigned *ranks;  /* [n] of each value in sorted; a group's stand together */
    size_t *first;    /* [n_groups + 1] where each group's begin in ranks */
    unsigned *counts; /* [n] of the resample; all zero between calls */
} st_grouped;

/* Of values[n] in any order, group[i] being any number; n > 0, values finite. STRETTO_E_USAGE when n is 0,
 * STRETTO_E_MEMORY. Freed by st_grouped_free whatever is returned. */
int st_grouped_create(st_grouped *g, const double *values, const unsigned *group, size_t n, stretto_error *err);
void st_grouped_free(st_grouped *g); /* also of zeroed memory */

double st_grouped_median(const st_grouped *g); /* of all values */

/* The median of one resample: as many groups as there are, drawn with replacement, and from each as many values as it
 * has, drawn with replacement. With one group that is the plain bootstrap. One thread at a time. */
double st_grouped_resample(st_grouped *g, st_rng *rng);

/* As st_bootstrap_median, for values in groups: `level` of the resampled medians lie inside, so that what differs from
 * group to group is in the interval (the two-level bootstrap of Kalibera & Jones 2013). Of few groups that is too
 * narrow: st_grouped_widen. */
int st_bootstrap_groups(const double *values, const unsigned *group, size_t n, double level, unsigned resamples,
                        st_rng *rng, st_interval *out, stretto_error *err);

/* How much wider than what n_groups groups' resamples spread the interval must be to hold the truth in 95 % of cases:
 * a resample of few groups spreads by sqrt((n - 1) / n) of what it should, and their own spread is known as badly as
 * n - 1 degrees of freedom tell (Student 1908). 1 with one group, about which nothing is known. */
double st_grouped_widening(size_t n_groups);

/* Lets the interval's distances from its value grow by that; a ratio's on a logarithmic scale, so that it stays above
 * 0. */
void st_grouped_widen(st_interval *in, size_t n_groups, bool ratio);

#endif
