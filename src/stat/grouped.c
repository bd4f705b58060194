/* SPDX-License-Identifier: MIT */
#include "stat/grouped.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    double value;
    unsigned group, rank;
} item;

static int by_value(const void *x, const void *y) {
    double a = ((const item *)x)->value, b = ((const item *)y)->value;
    return (a > b) - (a < b);
}

static int by_group(const void *x, const void *y) {
    const item *a = x, *b = y;
    return a->group != b->group ? (a->group > b->group) - (a->group < b->group)
                                : (a->rank > b->rank) - (a->rank < b->rank);
}

static void fill(st_grouped *g, item *items) {
    qsort(items, g->n, sizeof *items, by_value);
    for (size_t i = 0; i < g->n; i++) {
        g->sorted[i] = items[i].value;
        items[i].rank = (unsigned)i;
    }
    qsort(items, g->n, sizeof *items, by_group);
    for (size_t i = 0; i < g->n; i++) {
        if (i == 0 || items[i].group != items[i - 1].group) g->first[g->n_groups++] = i;
        g->ranks[i] = items[i].rank;
    }
    g->first[g->n_groups] = g->n;
}

int st_grouped_create(st_grouped *g, const double *values, const unsigned *group, size_t n, stretto_error *err) {
    *g = (st_grouped){.n = n};
    if (n == 0 || n > UINT32_MAX) return st_fail(err, STRETTO_E_USAGE, "no medians of %zu values", n);
    g->sorted = st_alloc(n, sizeof *g->sorted);
    g->ranks = st_alloc(n, sizeof *g->ranks);
    g->first = st_alloc(n + 1, sizeof *g->first);
    g->counts = st_alloc(n, sizeof *g->counts);
    item *items = st_alloc(n, sizeof *items);
    bool have = g->sorted && g->ranks && g->first && g->counts && items;
    for (size_t i = 0; have && i < n; i++) items[i] = (item){.value = values[i], .group = group[i]};
    if (have) fill(g, items);
    st_free(items);
    return have ? STRETTO_OK : st_fail_memory(err, "grouped values", n * sizeof *items);
}

void st_grouped_free(st_grouped *g) {
    st_free(g->sorted);
    st_free(g->ranks);
    st_free(g->first);
    st_free(g->counts);
    *g = (st_grouped){0};
}

double st_grouped_median(const st_grouped *g) {
    return st_median_sorted(g->sorted, g->n);
}

double st_grouped_resample(st_grouped *g, st_rng *rng) {
    size_t drawn = 0;
    for (size_t k = 0; k < g->n_groups; k++) {
        size_t group = st_rng_below(rng, g->n_groups), first = g->first[group], n = g->first[group + 1] - first;
        for (size_t i = 0; i < n; i++) g->counts[g->ranks[first + st_rng_below(rng, n)]]++;
        drawn += n;
    }
    double median = st_counted_median(g->sorted, g->counts, drawn);
    memset(g->counts, 0, g->n * sizeof *g->counts);
    return median;
}

int st_bootstrap_groups(const double *values, const unsigned *group, size_t n, double level, unsigned resamples,
                        st_rng *rng, st_interval *out, stretto_error *err) {
    if (n == 0 || resamples == 0 || !(level > 0 && level < 1))
        return st_fail(err, STRETTO_E_USAGE, "no bootstrap of %zu values with %u resamples at level %g", n, resamples,
                       level);
    st_grouped g;
    double *medians = st_alloc(resamples, sizeof *medians);
    int code = medians ? st_grouped_create(&g, values, group, n, err)
                       : st_fail_memory(err, "a bootstrap", resamples * sizeof *medians);
    if (!medians) return code;
    if (code == STRETTO_OK) {
        for (unsigned i = 0; i < resamples; i++) medians[i] = st_grouped_resample(&g, rng);
        st_sort(medians, resamples);
        *out = (st_interval){.value = st_grouped_median(&g),
                             .lo = st_quantile_sorted(medians, resamples, (1 - level) / 2),
                             .hi = st_quantile_sorted(medians, resamples, (1 + level) / 2)};
    }
    st_grouped_free(&g);
    st_free(medians);
    return code;
}

double st_grouped_widening(size_t n_groups) {
    if (n_groups < 2) return 1;
    const double wider = st_student(n_groups - 1, ST_LEVEL_FIXED) / st_student(SIZE_MAX, ST_LEVEL_FIXED);
    return sqrt((double)n_groups / (double)(n_groups - 1)) * wider;
}

static double widen(double end, double value, double by, bool ratio) {
    return ratio ? value * pow(end / value, by) : value + (end - value) * by;
}

void st_grouped_widen(st_interval *in, size_t n_groups, bool ratio) {
    const double by = st_grouped_widening(n_groups);
    in->lo = widen(in->lo, in->value, by, ratio);
    in->hi = widen(in->hi, in->value, by, ratio);
}
