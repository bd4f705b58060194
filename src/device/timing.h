/* SPDX-License-Identifier: MIT
 * Timing one step, alone or against another one in turns. */
#ifndef ST_DEVICE_TIMING_H
#define ST_DEVICE_TIMING_H

#include "unit/unit.h"

typedef struct st_timing {
    double best_ns, median_ns, mean_ns; /* of one run */
    unsigned runs;
} st_timing;

/* Runs step on the unit again and again, after one pass that does not count: at least five passes, and until min_ns
 * have passed or there are enough runs for a median. A pass is `pieces` runs, of which each does another part of the
 * work: best_ns is the mean over the pieces of each one's best, so that an interruption of one run does not count, and
 * no piece is left out. STRETTO_E_UNIT and what the step returns. */
int st_step_time(st_timing *out, st_unit *unit, const st_step *step, unsigned pieces, uint64_t min_ns,
                 stretto_error *err);

/* What a plain step took in turns with another one. */
typedef struct st_turns {
    double plain_ns; /* median of the plain step's runs */
    double ratio;    /* what the plain step took just before and after a run, on average, over what that run took: the
                        median over the runs. What changes the speed of both shows in neither. */
} st_turns;

/* The same, with a run of the plain step before and after every run of step, which take their part of min_ns. */
int st_step_time_against(st_timing *out, st_turns *turns, st_unit *unit, const st_step *step, unsigned pieces,
                         const st_step *plain, uint64_t min_ns, stretto_error *err);

#endif
