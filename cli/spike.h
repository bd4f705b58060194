/* SPDX-License-Identifier: MIT
 * The spike's probe on a session: chunk 1 beside chunk 3, inputs of a decode step at position 1. The hidden state of
 * the second chunk is what the chunk before it has just made, with the KV that it borrows. */
#ifndef CLI_SPIKE_H
#define CLI_SPIKE_H

#include "probe/spike.h"
#include "session.h"

/* Chunks 1 and 3, or what the split has in their place; counted from 0. STRETTO_E_USAGE when there is one chunk only.
 */
int spike_pair(const session *s, uint32_t pair[2], stretto_error *err);

/* One throw-away decode step, as the original warmed its device up; the chain is reset. */
int spike_prewarm(session *s, stretto_error *err);

/* Makes the pair's steps and queues, runs the trials and frees all. The stream of the session's chain is not touched.
 * As st_spike_run. */
int spike_probe(session *s, st_spike_record *record, stretto_error *err);

/* What CHUNK_PIPELINE_SPIKE=1 does before decoding: prewarm, probe, [Spike] lines on standard error, reset. */
int spike_in_run(session *s, stretto_error *err);

#endif
