/* SPDX-License-Identifier: MIT
 * Timing one step on its own. */
#ifndef ST_DEVICE_TIMING_H
#define ST_DEVICE_TIMING_H

#include "unit/unit.h"

typedef struct st_timing {
    double best_ns, median_ns;
    unsigned runs;
} st_timing;

/* Runs step on the unit again and again, after one run that does not count: at least five times, and until min_ns have
 * passed or there are enough runs for a median. STRETTO_E_UNIT and what the step returns. */
int st_step_time(st_timing *out, st_unit *unit, const st_step *step, uint64_t min_ns, stretto_error *err);

#endif
