/* SPDX-License-Identifier: MIT
 * One row of a probe: warm-up, rounds, and when to stop. */
#ifndef ST_PROBE_ROUNDS_H
#define ST_PROBE_ROUNDS_H

#include "probe/pair.h"

typedef struct st_row_plan {
    unsigned job;         /* index into the setup's jobs */
    uint64_t deadline_ns; /* on the setup's clock, 0: none */
    uint64_t end_ns;      /* the whole probe's, for progress; 0: none */
    bool cold[2];         /* the side has not run on its unit yet */
    uint64_t seed;
} st_row_plan;

/* What is known of a row before it is measured: names, units, arms. */
void st_row_describe(st_probe_row *row, const st_probe_setup *setup, const st_probe_job *job);

st_row_cores st_row_cores_of(const st_unit_info info[2], bool one_unit, const st_host *host);

/* Fills the row's rounds, how it stopped, its numbers as far as there are rounds, and the verdict, but not the cause.
 * Returns what ended it: STRETTO_OK, STRETTO_E_STOPPED, or the failure, which is in row->error too. */
int st_row_measure(const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row, stretto_error *err);

#endif
