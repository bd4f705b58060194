/* SPDX-License-Identifier: MIT
 * One row of a probe: warm-up, rounds, and when to stop. A row can be measured in several turns, with others between
 * them. */
#ifndef ST_PROBE_ROUNDS_H
#define ST_PROBE_ROUNDS_H

#include "probe/pair.h"

typedef struct st_row_plan {
    unsigned job;      /* index into the setup's jobs */
    uint64_t share_ns; /* of the time, of which the warm-up takes a quarter at most; 0: its least */
    uint64_t end_ns;   /* on the setup's clock; once there are ten rounds none begins after it; 0: none */
    bool cold[2];      /* the side has not run on its unit yet */
    uint64_t seed;
} st_row_plan;

typedef struct st_row_run {
    const st_probe_setup *setup;
    st_row_plan plan;
    st_probe_row *row;
    st_pair pair;
    st_rng rng; /* of the order of arms */
    size_t next_look;
    uint64_t begin_ns; /* of the first round */
    bool begun;        /* it has had a turn */
    bool looked;       /* the row's factors are those of its last look */
    bool ended;        /* there is nothing more to be measured; row->stop says why */
    int code;          /* what ended it, when not STRETTO_OK, */
    stretto_error error;
} st_row_run;

/* Begins with nothing measured. The row was described; run is the caller's and needs no end of its own. */
void st_row_begin(st_row_run *run, const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row);

/* Measures up to so many more rounds; before the first ones, the cold calls and the warm-up. */
void st_row_turn(st_row_run *run, size_t rounds);

/* Whether the verdict of the last look, and where it could be memory the cause, needs no more rounds. */
bool st_row_is_decided(const st_row_run *run);

/* Fills the row's numbers as far as there are rounds, and the verdict, but neither what its controls say nor the cause.
 * Returns what ended it: STRETTO_OK, STRETTO_E_STOPPED, or the failure, which is in row->error too. */
int st_row_end(st_row_run *run, stretto_error *err);

/* What is known of a row before it is measured: names, units, arms. */
void st_row_describe(st_probe_row *row, const st_probe_setup *setup, const st_probe_job *job);

/* What two units, or with one_unit the first, have of the host's cores. host may be NULL: unknown. */
st_row_cores st_row_cores_of(const st_unit_info info[2], bool one_unit, const st_host *host);

/* st_row_begin, one turn of as many rounds as the limits allow, and st_row_end. */
int st_row_measure(const st_probe_setup *setup, const st_row_plan *plan, st_probe_row *row, stretto_error *err);

#endif
