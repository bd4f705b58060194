/* SPDX-License-Identifier: MIT
 * The D1 feasibility spike as it was: ten trials of each of two chunks alone, both back to back, and both from two queues, in
 * this order, with warm caches. Inputs are those of a decode step at position 1; the second chunk gets the hidden state
 * that the chunk before it has just made, and the KV that it borrows. */
#ifndef CLI_SPIKE_H
#define CLI_SPIKE_H

#include "probe/arrangement.h"
#include "session.h"
#include "stat/stat.h"

#define SPIKE_TRIALS 10

typedef struct spike_trials {
    uint32_t a, b;        /* chunks, counted from 1 */
    char unit_a[48], unit_b[48];
    uint64_t ns[ST_ARM_COUNT][SPIKE_TRIALS]; /* of the solo, serial and parallel arms */
    double ms[ST_ARM_COUNT];                 /* medians */
    st_interval factor;        /* (Ta + Tb - Tpar) / Ts of the medians; interval: bootstrap over trials, 95 % */
    st_interval factor_serial; /* with the measured back-to-back time in place of Ta + Tb */
} spike_trials;

/* Chunks 1 and 3, or what the split has in their place. STRETTO_E_USAGE when there is one chunk only. */
int spike_pair(const session *s, uint32_t *a, uint32_t *b, stretto_error *err);

/* Makes the pair's steps, runs the trials and frees the steps. The stream of the session's chain is not touched.
 * STRETTO_E_STOPPED on Ctrl-C. */
int spike_probe(session *s, spike_trials *trials, stretto_error *err);

/* One throw-away decode step, as the original warmed its device up; the chain is reset. */
int spike_prewarm(session *s, stretto_error *err);

/* What CHUNK_PIPELINE_SPIKE=1 does before decoding: prewarm, probe, [Spike] lines on standard error, reset. */
int spike_in_run(session *s, stretto_error *err);

/* The lines of one probe, each ended by a newline, with this prefix. */
void spike_lines(st_buf *out, const spike_trials *t, const char *prefix);

#endif
