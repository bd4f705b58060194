/* SPDX-License-Identifier: MIT
 * Timing one step on its own. */
#ifndef ST_DEVICE_TIMING_H
#define ST_DEVICE_TIMING_H

#include "unit/unit.h"

typedef struct st_timing {
    double best_ns, median_ns, mean_ns; /* of one run */
    unsigned runs;
} st_timing;

#define ST_TIMING_PIECES 64 /* most pieces of a pass */

/* Runs step on the unit again and again, after one pass that does not count: at least five passes, and until min_ns
 * have passed or there are enough runs for a median. A pass is `pieces` runs, of which each does another part of the
 * work: best_ns is the mean over the pieces of each one's best, so that an interruption of one run does not count, and
 * no piece is left out. STRETTO_E_UNIT and what the step returns. */
int st_step_time(st_timing *out, st_unit *unit, const st_step *step, unsigned pieces, uint64_t min_ns,
                 stretto_error *err);

#endif
