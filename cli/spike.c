/* SPDX-License-Identifier: MIT */
#include "spike.h"

#include "base/error.h"
#include "report/spike_report.h"

#include <stdio.h>

int spike_pair(const session *s, uint32_t pair[2], stretto_error *err) {
    if (s->n_chunks < 2) {
        return st_fail(err, STRETTO_E_USAGE, "the spike needs two chunks, this split has one; --chunks 4 makes four");
    }
    pair[0] = 0;
    pair[1] = s->n_chunks < 3 ? 1 : 2;
    return STRETTO_OK;
}

int spike_prewarm(session *s, stretto_error *err) {
    static const int32_t id = 0;
    int rc = st_chain_forward(s->chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
    st_chain_reset(s->chain);
    return rc;
}

int spike_probe(session *s, st_spike_record *record, stretto_error *err) {
    static const int32_t ids[2] = {0, 0}; /* a decode step of token 0 at position 1 */
    uint32_t pair[2];
    char names[2][16];
    st_chunk_step *steps[2] = {NULL, NULL};
    st_spike_setup setup = {.clock = st_clock_real(), .cancel = s->cx->stop};
    *record = (st_spike_record){0};
    int rc = spike_pair(s, pair, err);
    for (unsigned i = 0; i < 2 && !rc; i++) {
        snprintf(names[i], sizeof names[i], "%u", pair[i] + 1);
        setup.name[i] = names[i];
        rc = st_chunk_step_create(&steps[i], s->chain, pair[i], ids, 2, 1, 0, err);
        if (!rc) setup.step[i] = st_chunk_step_get(steps[i]);
        if (!rc) rc = st_queue_open(s->unit_of[pair[i]], &setup.queue[i], err);
    }
    if (!rc) rc = st_spike_run(&setup, record, err);
    for (unsigned i = 0; i < 2; i++) {
        st_queue_close(setup.queue[i]);
        st_chunk_step_free(steps[i]);
    }
    return rc;
}

/* Whether the probe can run here: two chunks, and room for the step at position 1. */
static int spike_possible(const session *s, stretto_error *reason) {
    uint32_t pair[2];
    if (st_chain_ctx(s->chain) < 2) {
        return st_fail(reason, STRETTO_E_INPUT, "no spike: it needs 2 positions, the context has room for 1 (--ctx)");
    }
    return spike_pair(s, pair, reason);
}

int spike_in_run(session *s, stretto_error *err) {
    stretto_error reason;
    if (spike_possible(s, &reason)) {
        st_warn(&s->cx->log, "CHUNK_PIPELINE_SPIKE=1: %s", reason.text);
        return STRETTO_OK;
    }
    st_spike_record record;
    int rc = spike_prewarm(s, err);
    if (!rc) rc = spike_probe(s, &record, err);
    st_chain_reset(s->chain);
    if (rc) return rc;
    st_buf lines = {0};
    st_spike_log(&lines, &record, "[Spike] ");
    rc = lines.failed ? st_fail_memory(err, "the spike's lines", lines.len) : STRETTO_OK;
    if (!rc) fwrite(lines.data, 1, lines.len, stderr);
    st_buf_free(&lines);
    return rc;
}
