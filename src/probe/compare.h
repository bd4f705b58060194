/* SPDX-License-Identifier: MIT
 * What changed between two probes, beyond the noise of rounds and of runs: numbers of two records, nothing measured.
 * Where both sides hold the rounds of several processes, processes are resampled and then rounds in them (Kalibera &
 * Jones 2013); with one process on a side, what runs differ by (page placement, clock) is not known and every interval
 * leaves it out. */
#ifndef ST_PROBE_COMPARE_H
#define ST_PROBE_COMPARE_H

#include "probe/record.h"

enum st_change {
    ST_CHANGE_NONE, /* the interval holds "no change" */
    ST_CHANGE_LESS, /* less overlap, or less time */
    ST_CHANGE_MORE,
};

/* One pair in one arrangement. */
typedef struct st_compare_row {
    const st_probe_row *side[2];     /* before and after; NULL: not in that record */
    bool measured;                   /* both have rounds, on one unit or on two; the rest is only set then */
    st_interval factor;              /* decisive overlap factor, after minus before */
    enum st_change overlap;          /* what that says */
    st_interval times[ST_ARM_COUNT]; /* median times of both sides' arms, after over before; value 0: not in both */
    enum st_change time[ST_ARM_COUNT];
    bool verdict_changed;
} st_compare_row;

typedef struct st_compare {
    const st_probe_record *record[2]; /* before and after; the caller's */
    unsigned n_processes[2];
    bool between_runs; /* both have several processes */
    uint64_t seed;
    st_compare_row *rows; /* [n_rows] owned: those of before in its order, then what only after has */
    size_t n_rows;
} st_compare;

/* Compares two records, which must outlive the result. names: what to call them in errors (file names). STRETTO_E_INPUT
 * when they are unlike (another model or split, another cache state), naming both; STRETTO_E_MEMORY. Freed by
 * st_compare_free whatever is returned. */
int st_compare_records(st_compare *out, const st_probe_record *before, const st_probe_record *after,
                       const char *const names[2], uint64_t seed, stretto_error *err);
void st_compare_free(st_compare *compare); /* also of zeroed memory */

#endif
