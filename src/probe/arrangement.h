/* SPDX-License-Identifier: MIT
 * Arrangements as data: which arms a round has and how the two sides are handed to their units. */
#ifndef ST_PROBE_ARRANGEMENT_H
#define ST_PROBE_ARRANGEMENT_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What is timed, each once a round. Names are as in the JSON: solo_a, solo_b, serial, parallel, queued, batched. */
enum st_arm {
    ST_ARM_SOLO_A,   /* a alone */
    ST_ARM_SOLO_B,   /* b alone */
    ST_ARM_SERIAL,   /* a, waited for, then b; of a batch, k single calls of a, each waited for */
    ST_ARM_PARALLEL, /* both started together, joined */
    ST_ARM_QUEUED,   /* both handed to one queue of one unit, one wait: what a strictly serial device makes of it */
    ST_ARM_BATCHED,  /* k tokens of a in one call */
    ST_ARM_COUNT
};
const char *st_arm_name(enum st_arm arm);

enum st_submitters {
    ST_SUBMIT_TWO_THREADS, /* a thread for each side; both leave a spin barrier together */
    ST_SUBMIT_ONE_THREAD,  /* one thread submits a, then b, then waits for both */
};

typedef struct st_arrangement {
    const char *name;  /* on the command line and in JSON */
    const char *title; /* in tables */
    const char *about; /* what it is, for reports */
    unsigned n_units;  /* 1: both sides on one unit; 2: on two; 0: either */
    enum st_submitters submit;
    bool processes; /* b's unit is a process of its own */
    unsigned k;     /* > 1: no pair, but one call of k tokens of a against k single calls */
} st_arrangement;

/* The table, in the order of reports. */
const st_arrangement *st_arrangements(size_t *count);

/* The one with this name, or NULL with STRETTO_E_USAGE and all names in err. */
const st_arrangement *st_arrangement_find(const char *name, stretto_error *err);

/* Arms of a pair as a mask of 1u << enum st_arm: `queued` exists where both sides are on one unit. */
unsigned st_pair_arms(bool one_unit);
unsigned st_batch_arms(void);

#endif
