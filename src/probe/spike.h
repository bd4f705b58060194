/* SPDX-License-Identifier: MIT
 * The D1 feasibility spike as it was: ten trials of each step alone, ten of both back to back, ten of both from two
 * queues joined, in this fixed order, caches warm. What is timed is what a caller sees, from the submission until the
 * wait is over; pools stay awake between trials, as they were there. */
#ifndef ST_PROBE_SPIKE_H
#define ST_PROBE_SPIKE_H

#include "probe/record.h"
#include "unit/unit.h"

#include <stdatomic.h>

#define ST_SPIKE_TRIALS 10

/* In the order of the spike. */
enum st_spike_arm { ST_SPIKE_A, ST_SPIKE_B, ST_SPIKE_SERIAL, ST_SPIKE_PARALLEL, ST_SPIKE_ARMS };
const char *st_spike_arm_name(enum st_spike_arm arm); /* "solo_a", "solo_b", "serial", "parallel" */

typedef struct st_spike_setup {
    const char *name[2]; /* "1" and "3" */
    const st_step *step[2];
    st_queue *queue[2];        /* two different ones, of one unit or of two */
    st_clock clock;            /* of the units */
    bool virtual_time;         /* see st_probe_setup */
    const atomic_bool *cancel; /* once true it ends after the current trial; may be NULL */
} st_spike_setup;

/* Owns its numbers. */
typedef struct st_spike_record {
    char name[2][ST_PROBE_NAME];
    char unit[2][ST_PROBE_NAME];
    uint64_t ns[ST_SPIKE_ARMS][ST_SPIKE_TRIALS];
    unsigned trials[ST_SPIKE_ARMS]; /* done; ST_SPIKE_TRIALS each when all went well */
    /* Valid when all trials are done. Medians: the original does not say what it took, and one interrupted trial in ten
     * moves a mean. Intervals: 95 % bootstrap, each arm's trials resampled apart, as they were not taken in turns. */
    bool complete;
    double median_ns[ST_SPIKE_ARMS], mean_ns[ST_SPIKE_ARMS];
    st_interval factor;        /* (T1 + T3 - Tpar) / (T1 + T3 - max(T1, T3)), the original's formula */
    st_interval factor_serial; /* the measured back-to-back time in place of T1 + T3 */
} st_spike_record;

/* Fills *record; what was measured before a failure is kept. STRETTO_E_STOPPED when cancelled, STRETTO_E_UNIT or what a
 * step returned, STRETTO_E_MEMORY. */
int st_spike_run(const st_spike_setup *setup, st_spike_record *record, stretto_error *err);

#endif
