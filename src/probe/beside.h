/* SPDX-License-Identifier: MIT
 * What is measured beside the rows that were asked for, so that causes need not be guessed. */
#ifndef ST_PROBE_BESIDE_H
#define ST_PROBE_BESIDE_H

#include "probe/probe.h"

/* The same pair as the row of that job, ten rounds, each also with caches warm (needs an evict, which is left out
 * then), or with threads that may wander (needs twins). Fills row->warm and warm_gain, or row->unpinned; a failure
 * leaves them out. */
void st_row_measure_warm(st_probe_row *row, const st_probe_setup *setup, unsigned job);
void st_row_measure_unpinned(st_probe_row *row, const st_probe_setup *setup, unsigned job);

/* Median time from the common start of a pair of steps that do nothing, from two threads, until the caller knows that
 * both are done. 0 when it cannot be measured. */
double st_join_measure(void);

#endif
