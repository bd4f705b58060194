/* SPDX-License-Identifier: MIT
 * From a session and what the user asked for to what src/probe measures: sides, units, jobs, and caches as in a real
 * step. */
#ifndef CLI_PROBE_SETUP_H
#define CLI_PROBE_SETUP_H

#include "device/control.h"
#include "probe/probe.h"
#include "session.h"

#define PROBE_PAIRS_MAX 128

typedef struct probe_pair {
    uint32_t a, b; /* chunks, from 0 */
} probe_pair;

/* What a side is: so many tokens of a chunk in one call. */
typedef struct probe_side {
    uint32_t chunk, tokens;
    char name[12];
    st_chunk_step *step;
} probe_side;

/* Steps of known nature for one lane, and for a process that is like it. */
typedef struct probe_controls {
    st_control *compute, *stream;
} probe_controls;

typedef struct probe_plan {
    session *s;
    probe_pair pairs[PROBE_PAIRS_MAX];
    unsigned n_pairs;
    bool own_units;        /* the user said which; otherwise unit 0 is all cores, 1 and 2 are halves */
    bool chosen[16];       /* arrangements, by index in the table */
    bool all_arrangements; /* those that cannot be measured here are named, not refused */
    uint32_t depth;        /* tokens in the context before the step */

    /* made by probe_plan_build; freed by probe_plan_free */
    unsigned lane_of[ST_MAX_CHUNKS]; /* where each chunk is placed */
    st_unit *nowhere;                /* of the chain, whose own stream is never run: threads would be in a fork's way */
    st_unit **units;                 /* [n_units] the session's lanes, n_lanes of them, then processes */
    unsigned n_units, n_lanes;
    unsigned twins[CLI_LANES_MAX]; /* [n_units - n_lanes] the lane that each process is like */
    bool quick;                    /* nothing beside the rows is measured: no peaks, no controls */
    st_unit_peaks *peaks;          /* [n_units] */
    st_costs *costs;               /* NULL where they are not measured */
    st_unit **unpinned;            /* [n_units] lanes whose threads may wander; NULL where none is needed */
    probe_controls *own_controls;  /* [n_lanes] */
    st_step clock;
    st_probe_side controls[ST_CONTROL_COUNT];
    const st_step **control_steps; /* [ST_CONTROL_COUNT][n_units] */
    probe_side *of;                /* [n_sides] */
    st_probe_side *sides;          /* [n_sides] the same for the probe */
    const st_step **on_units;      /* [n_sides][n_units] */
    unsigned n_sides, cap_sides;
    st_probe_job *jobs;
    unsigned n_jobs;
    uint64_t evict_bytes;
    uint8_t *evict_buffer; /* when no other chunk is left to stream; NULL otherwise */
    char title[256], chain[128];
} probe_plan;

/* Reads --pairs ("1,3", "1,3 2,4", "all", or NULL: 1 and 3, and the two heaviest) into plan->pairs; the session's
 * chunks must be placed. STRETTO_E_USAGE names what is wrong. */
int probe_pairs_parse(probe_plan *plan, const char *text, stretto_error *err);

/* Opens the session's chain, makes the chunks' steps, after `depth` tokens of context, and a job for each pair and
 * arrangement. Closes and opens the session's lanes again where a second process is wanted, so no pointer to one may be
 * kept. The session's chunks must be placed. */
int probe_plan_build(probe_plan *plan, stretto_error *err);
void probe_plan_free(probe_plan *plan); /* before session_close */

/* Part of probe_plan_build, while the lanes are open: times of all chunks on the lanes of the jobs, and on one lane of
 * the cores of both of a pair. plan->costs stays NULL where the model's context is too small. */
int probe_costs_measure(probe_plan *plan, stretto_error *err);
void probe_costs_free(st_costs *costs); /* NULL is fine */

/* Parts of probe_plan_build: what is to be known of the units that the jobs use, and the processes. */
int probe_units_open(probe_plan *plan, stretto_error *err);
void probe_units_close(probe_plan *plan);

/* st_probe_setup.evict: streams the rest of the weights, twice the last-level cache at least; arg is the plan. */
void probe_plan_evict(void *arg, const st_probe_job *job);

#endif
