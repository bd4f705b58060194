/* SPDX-License-Identifier: MIT */
#include "plan/schedule.h"

#include "base/error.h"
#include "base/nearest.h"

#include <string.h>

const char *const st_schedule_kind_names[] = {"serial",   "threads", "placed",   "staged",
                                              "handover", "batched", "replicas", NULL};
const char *const st_draft_names[] = {"none", "lookup", "model", NULL};

uint32_t st_schedule_unit(const st_schedule *s, uint32_t chunk, bool prefill, uint32_t replica) {
    if (s->kind == ST_SCHEDULE_REPLICAS) return replica;
    return s->kind == ST_SCHEDULE_HANDOVER && prefill ? s->prompt_unit : s->chunks[chunk].unit;
}

uint32_t st_schedule_stages(const st_schedule *s) {
    if (s->kind == ST_SCHEDULE_REPLICAS) return 1;
    uint32_t n = 1;
    for (uint32_t c = 1; c < s->n_chunks; c++) n += s->chunks[c].unit != s->chunks[c - 1].unit;
    return n;
}

/* ---- checks ---- */

static int check_counts(const st_schedule *s, stretto_error *err) {
    if (s->n_chunks == 0 || s->n_chunks > ST_PLAN_CHUNKS_MAX)
        return st_fail(err, STRETTO_E_INPUT, "a schedule has 1 to %d chunks, not %u", ST_PLAN_CHUNKS_MAX, s->n_chunks);
    if (s->n_units == 0 || s->n_units > ST_PLAN_UNITS_MAX)
        return st_fail(err, STRETTO_E_INPUT, "a schedule has 1 to %d units, not %u", ST_PLAN_UNITS_MAX, s->n_units);
    if (s->streams == 0 || s->streams > ST_PLAN_STREAMS_MAX)
        return st_fail(err, STRETTO_E_INPUT, "a schedule has 1 to %d streams in flight, not %u", ST_PLAN_STREAMS_MAX,
                       s->streams);
    if (s->batch == 0 || s->batch > s->streams)
        return st_fail(err, STRETTO_E_INPUT, "a call has 1 to %u streams (those in flight), not %u", s->streams,
                       s->batch);
    if (s->micro_batch == 0 || s->micro_batch > ST_PLAN_MICRO_BATCH_MAX)
        return st_fail(err, STRETTO_E_INPUT, "a micro-batch has 1 to %d tokens, not %u", ST_PLAN_MICRO_BATCH_MAX,
                       s->micro_batch);
    for (uint32_t i = 0; i < s->n_units; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(s->units[i], s->units[j]) == 0)
                return st_fail(err, STRETTO_E_INPUT, "unit %s is listed twice", s->units[i]);
        }
    }
    return STRETTO_OK;
}

/* Layers are given for all chunks, one after the other, or for none. */
static int check_layers(const st_schedule *s, stretto_error *err) {
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        const st_schedule_chunk *chunk = &s->chunks[c];
        if (chunk->has_layers != s->chunks[0].has_layers)
            return st_fail(err, STRETTO_E_INPUT, "chunk %u: layers are given for some chunks only", c + 1);
        if (!chunk->has_layers) continue;
        uint32_t expected = c ? s->chunks[c - 1].last + 1 : 0;
        if (chunk->first != expected || chunk->last < chunk->first)
            return st_fail(err, STRETTO_E_INPUT, "chunk %u: layers %u to %u, expected them to begin at %u", c + 1,
                           chunk->first, chunk->last, expected);
    }
    return STRETTO_OK;
}

static int check_places(const st_schedule *s, stretto_error *err) {
    bool used[ST_PLAN_UNITS_MAX] = {false};
    for (uint32_t c = 0; c < s->n_chunks && s->kind != ST_SCHEDULE_REPLICAS; c++) {
        if (s->chunks[c].unit >= s->n_units)
            return st_fail(err, STRETTO_E_INPUT, "chunk %u is on unit number %u, but there are %u", c + 1,
                           s->chunks[c].unit, s->n_units);
        used[s->chunks[c].unit] = true;
    }
    if (s->kind == ST_SCHEDULE_HANDOVER) {
        if (s->prompt_unit >= s->n_units) return st_fail(err, STRETTO_E_INPUT, "the prompts' unit is not in the list");
        if (used[s->prompt_unit])
            return st_fail(err, STRETTO_E_INPUT,
                           "a handover reads prompts on another unit than it decodes on, not both on %s",
                           s->units[s->prompt_unit]);
        used[s->prompt_unit] = true;
    }
    if (s->draft == ST_DRAFT_MODEL) {
        if (s->draft_unit >= s->n_units) return st_fail(err, STRETTO_E_INPUT, "the draft's unit is not in the list");
        if (used[s->draft_unit] || s->kind == ST_SCHEDULE_REPLICAS)
            return st_fail(err, STRETTO_E_INPUT, "%s drafts and runs chunks: a draft model needs a unit of its own",
                           s->units[s->draft_unit]);
        used[s->draft_unit] = true;
    }
    for (uint32_t u = 0; u < s->n_units && s->kind != ST_SCHEDULE_REPLICAS; u++) {
        if (!used[u]) return st_fail(err, STRETTO_E_INPUT, "unit %s is listed, but nothing runs there", s->units[u]);
    }
    return STRETTO_OK;
}

static uint32_t n_decode_units(const st_schedule *s) {
    if (s->kind == ST_SCHEDULE_REPLICAS) return s->n_units;
    bool used[ST_PLAN_UNITS_MAX] = {false};
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        n += !used[s->chunks[c].unit];
        used[s->chunks[c].unit] = true;
    }
    return n;
}

static int check_kind(const st_schedule *s, stretto_error *err) {
    const char *name = st_schedule_kind_names[s->kind];
    uint32_t n = n_decode_units(s);
    bool several = s->kind == ST_SCHEDULE_PLACED || s->kind == ST_SCHEDULE_STAGED || s->kind == ST_SCHEDULE_REPLICAS;
    if (several && n < 2)
        return st_fail(err, STRETTO_E_INPUT, "\"%s\" wants chunks on several units; all are on %s", name, s->units[0]);
    if (!several && n > 1)
        return st_fail(err, STRETTO_E_INPUT, "\"%s\" decodes on one unit, but the chunks are on %u", name, n);
    bool one = s->kind == ST_SCHEDULE_SERIAL || s->kind == ST_SCHEDULE_THREADS || s->kind == ST_SCHEDULE_PLACED;
    if (one && s->streams > 1)
        return st_fail(err, STRETTO_E_INPUT,
                       "\"%s\" has one stream in flight, not %u; \"staged\" and \"batched\" have several", name,
                       s->streams);
    uint32_t threads = s->kind == ST_SCHEDULE_SERIAL ? s->threads[s->chunks[0].unit] : 0;
    if (threads > 1)
        return st_fail(err, STRETTO_E_INPUT, "\"serial\" runs on one thread, not on %u; \"threads\" has several",
                       threads);
    if (s->kind == ST_SCHEDULE_BATCHED && s->batch != s->streams)
        return st_fail(err, STRETTO_E_INPUT, "\"batched\" decodes all %u streams in one call, not %u", s->streams,
                       s->batch);
    if (s->kind == ST_SCHEDULE_STAGED && s->streams < 2)
        return st_fail(err, STRETTO_E_INPUT,
                       "\"staged\" wants several streams: the steps of one are a chain (token, 1, ..., %u, token), so "
                       "that nothing could run beside it",
                       s->n_chunks);
    return STRETTO_OK;
}

static int check_draft(const st_schedule *s, stretto_error *err) {
    if (s->draft == ST_DRAFT_NONE) return STRETTO_OK;
    if (s->longest_draft == 0 || s->longest_draft > ST_PLAN_DRAFT_MAX)
        return st_fail(err, STRETTO_E_INPUT, "a draft has 1 to %d tokens, not %u", ST_PLAN_DRAFT_MAX, s->longest_draft);
    if (s->batch > 1)
        return st_fail(err, STRETTO_E_INPUT,
                       "a draft is verified in a call of its own, so a call has one stream, not %u", s->batch);
    if (s->host_beside)
        return st_fail(
            err, STRETTO_E_INPUT,
            "\"host_beside\" with \"speculation\": a draft follows what was verified, so the next step waits "
            "for the host");
    return STRETTO_OK;
}

int st_schedule_check(const st_schedule *s, stretto_error *err) {
    if (s->kind >= ST_SCHEDULE_KINDS || s->draft >= ST_DRAFTS)
        return st_fail(err, STRETTO_E_INPUT, "a schedule of no known kind");
    int code = check_counts(s, err);
    if (!code) code = check_layers(s, err);
    if (!code) code = check_places(s, err);
    if (!code) code = check_kind(s, err);
    return code ? code : check_draft(s, err);
}

void st_schedule_set_streams(st_schedule *s, uint32_t streams) {
    uint32_t calls = (s->streams + s->batch - 1) / s->batch;
    bool all = s->kind == ST_SCHEDULE_BATCHED || (s->kind == ST_SCHEDULE_REPLICAS && calls == s->n_units);
    bool one = s->draft != ST_DRAFT_NONE || (s->batch == 1 && !all);
    s->streams = streams;
    s->batch = one ? 1 : (streams + calls - 1) / calls;
}

static int unknown_unit(const char *name, const char *const *names, uint32_t n_names, stretto_error *err) {
    const char *list[ST_PLAN_UNITS_MAX + 1];
    uint32_t n = n_names < ST_PLAN_UNITS_MAX ? n_names : ST_PLAN_UNITS_MAX;
    memcpy(list, names, n * sizeof *names);
    list[n] = NULL;
    const char *near = st_nearest(name, list);
    if (near) return st_fail(err, STRETTO_E_INPUT, "no unit %s here; did you mean %s?", name, near);
    return st_fail(err, STRETTO_E_INPUT, "no unit %s here; there are %u, the first is %s", name, n_names,
                   n_names ? names[0] : "none");
}

int st_schedule_bind(const st_schedule *s, uint32_t n_chunks, const char *const *names, uint32_t n_names,
                     uint32_t *unit_of, stretto_error *err) {
    if (s->n_chunks < n_chunks)
        return st_fail(err, STRETTO_E_INPUT, "chunk %u is missing: the model has %u chunks, the schedule places %u",
                       s->n_chunks + 1, n_chunks, s->n_chunks);
    if (s->n_chunks > n_chunks)
        return st_fail(err, STRETTO_E_INPUT, "no chunk %u: the model has %u, the schedule places %u", n_chunks + 1,
                       n_chunks, s->n_chunks);
    for (uint32_t u = 0; u < s->n_units; u++) {
        uint32_t i = 0;
        while (i < n_names && strcmp(s->units[u], names[i]) != 0) i++;
        if (i == n_names) return unknown_unit(s->units[u], names, n_names, err);
        if (unit_of) unit_of[u] = i;
    }
    return STRETTO_OK;
}

/* ---- words ---- */

#define PLACES_SHOWN 6 /* of more, the first few */

/* What stands before the i-th of n things, and whether it is the last that is shown. */
static bool title_link(st_buf *out, uint32_t i, uint32_t n, const char *what) {
    uint32_t shown = n > PLACES_SHOWN ? PLACES_SHOWN / 2 : n;
    if (i == shown) {
        st_buf_printf(out, " and %u more %s", n - shown, what);
        return true;
    }
    st_buf_text(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
    return false;
}

/* "cpu:0 (chunks 1-2) and cpu:1 (3-4)" */
static void title_places(st_buf *out, const st_schedule *s) {
    uint32_t n = st_schedule_stages(s), i = 0;
    for (uint32_t c = 0, end; c < s->n_chunks; c = end, i++) {
        if (title_link(out, i, n, "stages")) return;
        for (end = c + 1; end < s->n_chunks && s->chunks[end].unit == s->chunks[c].unit; end++) continue;
        const char *word = i > 0 ? "" : end > c + 1 ? "chunks " : "chunk ";
        st_buf_printf(out, "%s (%s%u", s->units[s->chunks[c].unit], word, c + 1);
        if (end > c + 1) st_buf_printf(out, "-%u", end);
        st_buf_text(out, ")");
    }
}

static void title_units(st_buf *out, const st_schedule *s) {
    for (uint32_t u = 0; u < s->n_units && !title_link(out, u, s->n_units, "units"); u++) st_buf_text(out, s->units[u]);
}

static void title_main(st_buf *out, const st_schedule *s) {
    const char *unit = s->units[s->chunks[0].unit];
    switch (s->kind) {
    case ST_SCHEDULE_SERIAL:
        st_buf_printf(out, "one thread on %s", unit);
        break;
    case ST_SCHEDULE_THREADS:
        st_buf_printf(out, "threads of %s", unit);
        break;
    case ST_SCHEDULE_PLACED:
        st_buf_text(out, "placed on ");
        title_places(out, s);
        break;
    case ST_SCHEDULE_STAGED:
        st_buf_text(out, "staged on ");
        title_places(out, s);
        break;
    case ST_SCHEDULE_HANDOVER:
        st_buf_printf(out, "prompts on %s, decode on %s", s->units[s->prompt_unit], unit);
        break;
    case ST_SCHEDULE_BATCHED:
        st_buf_printf(out, "in one call on %s", unit);
        break;
    case ST_SCHEDULE_REPLICAS:
        st_buf_text(out, "the whole model on ");
        title_units(out, s);
        break;
    case ST_SCHEDULE_KINDS:
        break;
    }
}

void st_schedule_title(st_buf *out, const st_schedule *s) {
    title_main(out, s);
    if (s->streams > 1) st_buf_printf(out, ", %u streams", s->streams);
    bool some =
        s->batch < s->streams || s->kind == ST_SCHEDULE_STAGED; /* the others would not be called so otherwise */
    if (s->streams > 1 && s->batch > 1 && some) st_buf_printf(out, ", %u in a call", s->batch);
    if (s->pipelined) st_buf_printf(out, ", prompts in micro-batches of %u", s->micro_batch);
    if (s->draft == ST_DRAFT_LOOKUP) st_buf_printf(out, ", drafts of %u by lookup", s->longest_draft);
    if (s->draft == ST_DRAFT_MODEL)
        st_buf_printf(out, ", drafts of %u by a model on %s", s->longest_draft, s->units[s->draft_unit]);
    if (s->host_beside) st_buf_text(out, ", host work beside");
}
