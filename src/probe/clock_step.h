/* SPDX-License-Identifier: MIT
 * A step that shows the clock of the cores it runs on: a chain of dependent additions takes a cycle each, whatever else
 * shares the core's arithmetic or the memory, so additions over time are cycles over time. Needs no right to read the
 * processor's counters. */
#ifndef ST_PROBE_CLOCK_STEP_H
#define ST_PROBE_CLOCK_STEP_H

#include "unit/unit.h"

/* Every worker of a lane adds that often. The step's arg is `additions`, which must outlive it; its operations are
 * those of one worker. */
st_step st_clock_step(const uint64_t *additions);

#endif
