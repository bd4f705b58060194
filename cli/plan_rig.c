/* SPDX-License-Identifier: MIT */
#include "plan_rig.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/min.h"

#define CONTEXTS_BYTES (1ull << 30) /* far beyond any cache, so that more rows may be of the same streams */

static const int32_t any_ids[PLAN_TOKENS_MAX]; /* any tokens do: the work is the same */

int plan_rig_open(plan_rig *rig, session *s, st_unit *unit, uint32_t rows, stretto_error *err) {
    st_unit *units[ST_MAX_CHUNKS];
    *rig = (plan_rig){.s = s, .unit = unit};
    for (uint32_t c = 0; c < s->n_chunks; c++) units[c] = unit;
    int rc = st_placement_open(&rig->placement, s->model, s->spans, s->n_chunks, units, PLAN_TOKENS_MAX, err);
    return rc ? rc : st_pass_open(&rig->pass, rig->placement, PLAN_TOKENS_MAX, rows, NULL, err);
}

void plan_rig_close(plan_rig *rig) {
    st_pass_close(rig->pass);
    st_placement_close(rig->placement);
    *rig = (plan_rig){0};
}

/* ---- calls ---- */

/* Runs what the pass was filled with. */
static int run_call(plan_rig *rig, stretto_error *err) {
    uint32_t n = rig->s->n_chunks;
    int rc = st_pass_submit(rig->pass, err);
    if (!rc) rc = st_pass_wait(rig->pass, err);
    if (!rc) rc = st_pass_check(rig->pass, 0, st_pass_rows(rig->pass), err);
    if (rc) return rc;
    uint64_t first, last, at;
    st_pass_times(rig->pass, 0, &first, &at);
    st_pass_times(rig->pass, n - 1, &at, &last);
    rig->gap_ns = rig->ended_ns ? (double)first - (double)rig->ended_ns : 0;
    rig->between_ns = (double)(last - first);
    for (uint32_t c = 0; c < n; c++) rig->between_ns -= plan_rig_ns(rig, c);
    rig->ended_ns = last;
    return STRETTO_OK;
}

int plan_rig_decode(plan_rig *rig, plan_texts *texts, uint32_t rows, bool logits, stretto_error *err) {
    uint32_t n = texts->n_decoders;
    st_pass_clear(rig->pass);
    for (uint32_t i = 0; i < n && i < rows; i++) {
        uint32_t own = rows / n + (i < rows % n);
        st_pass_add(rig->pass, texts->decoders[i], any_ids, own, logits ? own : 0);
    }
    int rc = run_call(rig, err);
    for (uint32_t i = 0; i < n && !rc; i++) rc = st_stream_truncate(texts->decoders[i], texts->depth, err);
    return rc;
}

/* A part of a prompt is read around its middle: how long that takes grows with what was read before. */
int plan_rig_read(plan_rig *rig, plan_texts *texts, uint32_t tokens, stretto_error *err) {
    int rc = STRETTO_OK;
    st_pass_clear(rig->pass);
    for (uint32_t i = 0; i < texts->n_readers && tokens > 0 && !rc; i++) {
        uint32_t own = st_min_u32(texts->span, tokens);
        rc = st_stream_truncate(texts->readers[i], texts->from + (texts->span - own) / 2, err);
        if (!rc) st_pass_add(rig->pass, texts->readers[i], any_ids, own, 0);
        tokens -= own;
    }
    return rc ? rc : run_call(rig, err);
}

double plan_rig_ns(const plan_rig *rig, uint32_t chunk) {
    uint64_t start, end;
    st_pass_times(rig->pass, chunk, &start, &end);
    return (double)(end - start);
}

void plan_rig_quiet(plan_rig *rig) {
    st_unit_quiet(rig->unit);
    rig->ended_ns = 0;
}

/* ---- streams ---- */

/* What the keys and values of a plan_texts may take: there are two, beside the weights. */
static uint64_t kv_room(const plan_rig *rig) {
    uint64_t weights = 0, all = rig->s->lanes.host.memory_bytes;
    for (uint32_t c = 0; c < rig->s->n_chunks; c++) weights += rig->placement->chunks[c].bytes;
    return all == 0 ? UINT64_MAX : all > weights ? (all - weights) / 2 : 0;
}

/* One stream more, at list[*n]. Its context's keys and values are any, as tokens are: having the model read it would
 * take hours of a long one. *full, where there is no room for another than the first: *n stays what it is then. */
static int add_stream(plan_texts *texts, plan_rig *rig, st_stream **list, uint32_t *n, uint32_t n_ctx, uint32_t length,
                      bool *full, stretto_error *err) {
    const session *s = rig->s;
    st_stream **out = &list[*n];
    int rc =
        st_stream_open(out, rig->placement->chunks, s->n_chunks, session_kv_type(s), n_ctx, PLAN_TOKENS_MAX + 1, err);
    if (rc) return rc;
    uint64_t bytes = texts->bytes + st_stream_kv_bytes(*out), room = kv_room(rig);
    if (bytes > room) {
        st_stream_close(*out);
        *out = NULL;
        *full = true;
        if (*n > 0) return STRETTO_OK;
        return st_fail(
            err, STRETTO_E_MEMORY,
            "too little memory to measure with contexts of %u tokens: %.1f GB of keys and values for each of "
            "two lanes, of %.1f GB that the weights leave",
            length, 1e-9 * (double)bytes, 2e-9 * (double)room);
    }
    if (cli_stopped(s->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while measuring");
    st_stream_pretend(*out, length);
    texts->bytes = bytes;
    ++*n;
    return STRETTO_OK;
}

static int add_reader(plan_texts *texts, plan_rig *rig, bool *full, stretto_error *err) {
    return add_stream(texts, rig, texts->readers, &texts->n_readers, texts->from + texts->span,
                      texts->from + texts->span / 2, full, err);
}

static int add_decoder(plan_texts *texts, plan_rig *rig, bool *full, stretto_error *err) {
    return add_stream(texts, rig, texts->decoders, &texts->n_decoders, texts->depth + PLAN_ROWS_MAX, texts->depth, full,
                      err);
}

int plan_texts_open(plan_texts *texts, plan_rig *rig, const st_workload *workload, stretto_error *err) {
    uint32_t streams = st_min_u32(workload->streams, PLAN_TEXTS_MAX);
    uint32_t span = st_min_u32(workload->prompt, PLAN_TOKENS_MAX);
    *texts = (plan_texts){
        .depth = workload->prompt + workload->generate / 2, .from = (workload->prompt - span) / 2, .span = span};
    bool full = false;
    int rc = add_decoder(texts, rig, &full, err); /* one of each there must be */
    if (!rc) rc = add_reader(texts, rig, &full, err);
    while (!rc && !full && texts->n_readers < streams && plan_texts_prompt(texts) < PLAN_TOKENS_MAX)
        rc = add_reader(texts, rig, &full, err);
    while (!rc && !full && texts->n_decoders < streams && texts->bytes < CONTEXTS_BYTES)
        rc = add_decoder(texts, rig, &full, err);
    return rc;
}

void plan_texts_close(plan_texts *texts) {
    for (uint32_t i = 0; i < PLAN_TEXTS_MAX; i++) {
        st_stream_close(texts->decoders[i]);
        st_stream_close(texts->readers[i]);
    }
    *texts = (plan_texts){0};
}

uint32_t plan_texts_prompt(const plan_texts *texts) {
    return st_min_u32(texts->span * texts->n_readers, PLAN_TOKENS_MAX);
}
