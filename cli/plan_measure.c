/* SPDX-License-Identifier: MIT */
#include "plan_measure.h"

#include "base/clock.h"
#include "base/error.h"
#include "plan_beside.h"
#include "stat/stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_LEAST 5
#define RUNS_MOST 15
#define PREFILL_TOKENS 256 /* of a prompt that is read once for each sample */
#define SLICE_NS 250000000ull

/* One lane while it is measured. */
typedef struct lane_work {
    session *s;
    const plan_measure_options *o;
    st_costs *costs;
    uint32_t unit;
    st_chain *chain;
    const int32_t *ids;
    double *samples[ST_MAX_CHUNKS]; /* [RUNS_MOST * 16] of each chunk */
    double *outside;                /* what a step takes besides its chunks, */
    double *between;                /* and of that, between its first chunk's start and its last one's end */
    uint32_t n;
} lane_work;

static double median_of(double *x, uint32_t n) {
    return n ? st_median(x, n) : 0;
}

static void take_sample(lane_work *w, uint64_t wall_ns) {
    uint64_t first = 0, last = 0;
    double sum = 0;
    for (uint32_t c = 0; c < w->s->n_chunks; c++) {
        uint64_t start, end;
        st_chain_times(w->chain, c, &start, &end);
        w->samples[c][w->n] = (double)(end - start);
        sum += (double)(end - start);
        if (c == 0) first = start;
        last = end;
    }
    w->between[w->n] = (double)(last - first) - sum;
    w->outside[w->n] = (double)wall_ns - (double)(last - first);
    w->n++;
}

static int forward(lane_work *w, uint32_t n, enum st_want want, bool sample, stretto_error *err) {
    uint64_t start = st_now_ns();
    int rc = st_chain_forward(w->chain, w->ids, n, want, NULL, NULL, err);
    if (!rc && sample) take_sample(w, st_now_ns() - start);
    return rc;
}

static int note_point(lane_work *w, enum st_work work, uint32_t tokens, stretto_error *err) {
    for (uint32_t c = 0; c < w->s->n_chunks; c++) {
        double ns = median_of(w->samples[c], w->n);
        if (!st_cost_curve_add(st_costs_curve(w->costs, c, w->unit, work), tokens, ns < 1 ? 1 : ns))
            return st_fail(err, STRETTO_E_INTERNAL, "more than %d points of a curve", ST_COST_POINTS_MAX);
    }
    return STRETTO_OK;
}

/* Rows that are decoded in one call, after `depth` tokens. */
static int decode_rows(lane_work *w, uint32_t rows, stretto_error *err) {
    uint64_t begin = st_now_ns();
    w->n = 0;
    for (uint32_t i = 0; i <= RUNS_MOST; i++) {
        int rc = forward(w, rows, ST_WANT_ALL, i > 0, err); /* the first finds cold caches and sleeping workers */
        if (!rc) rc = st_chain_truncate(w->chain, w->o->depth, err);
        if (rc) return rc;
        if (i >= RUNS_LEAST && st_now_ns() - begin > SLICE_NS) break;
    }
    if (rows == 1) {
        st_cost_unit *unit = &w->costs->units[w->unit];
        uint32_t gaps = w->s->n_chunks > 1 ? w->s->n_chunks - 1 : 1;
        double between = median_of(w->between, w->n) / gaps, outside = median_of(w->outside, w->n);
        unit->dispatch_ns = between > 0 ? between : 0;
        w->costs->host.choose_ns += outside > 0 ? outside / w->costs->n_units : 0;
    }
    return note_point(w, ST_WORK_DECODE, rows, err);
}

/* cold: nothing has run on this lane yet. */
static int read_prompt(lane_work *w, uint32_t micro_batch, bool cold, stretto_error *err) {
    uint32_t tokens = micro_batch < PREFILL_TOKENS / 4 ? PREFILL_TOKENS / 4 : PREFILL_TOKENS;
    w->n = 0;
    uint32_t passes = cold || micro_batch == PREFILL_TOKENS ? 2 : 1; /* some samples of each at least */
    for (uint32_t i = 0; i < passes; i++) {
        st_chain_reset(w->chain);
        for (uint32_t at = 0; at < tokens; at += micro_batch) {
            int rc = forward(w, micro_batch, ST_WANT_NONE, !cold || i > 0, err);
            if (rc) return rc;
        }
    }
    return note_point(w, ST_WORK_PREFILL, micro_batch, err);
}

static int fill_context(lane_work *w, stretto_error *err) {
    st_chain_reset(w->chain);
    for (uint32_t left = w->o->depth, n; left > 0; left -= n) {
        n = left < PREFILL_TOKENS ? left : PREFILL_TOKENS;
        int rc = forward(w, n, ST_WANT_NONE, false, err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

static int measure_points(lane_work *w, stretto_error *err) {
    static const uint32_t rows[] = {1, 2, 4, 8}, micro_batches[] = {16, 64, 256};
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < 3 && !rc; i++) {
        cli_progress(w->s->cx, "measuring %s: prompts in micro-batches of %u", w->costs->units[w->unit].name,
                     micro_batches[i]);
        rc = read_prompt(w, micro_batches[i], i == 0, err);
    }
    if (!rc) rc = fill_context(w, err);
    for (unsigned i = 0; i < 4 && !rc; i++) {
        cli_progress(w->s->cx, "measuring %s: decoding %u", w->costs->units[w->unit].name, rows[i]);
        rc = decode_rows(w, rows[i], err);
    }
    if (!rc && w->o->streams > 8) rc = decode_rows(w, w->o->streams < 64 ? w->o->streams : 64, err);
    return rc;
}

int plan_open_chain(session *s, uint32_t depth, st_unit *const *units, st_chain **out, stretto_error *err) {
    uint32_t n_ctx = depth + PREFILL_TOKENS;
    st_chain_options options = {
        .model = s->model,
        .spans = s->spans,
        .n_chunks = s->n_chunks,
        .units = units,
        .kv_type = session_kv_type(s),
        .n_ctx = n_ctx,
        .max_batch = PREFILL_TOKENS,
        .max_logits = 64,
        .stop = s->cx->stop,
    };
    return st_chain_open(out, &options, err);
}

static int measure_lane(session *s, const plan_measure_options *o, st_costs *costs, uint32_t unit, stretto_error *err) {
    static const int32_t ids[PREFILL_TOKENS]; /* any tokens do: the work is the same */
    lane_work w = {.s = s, .o = o, .costs = costs, .unit = unit, .ids = ids};
    st_unit *units[ST_MAX_CHUNKS];
    for (uint32_t c = 0; c < s->n_chunks; c++) units[c] = s->lanes.units[unit];
    size_t room = RUNS_MOST * 16 * (s->n_chunks + 2);
    double *memory = calloc(room, sizeof *memory);
    if (!memory) return st_fail_memory(err, "the samples", room * sizeof *memory);
    for (uint32_t c = 0; c < s->n_chunks; c++) w.samples[c] = memory + (size_t)c * RUNS_MOST * 16;
    w.outside = memory + (size_t)s->n_chunks * RUNS_MOST * 16;
    w.between = w.outside + RUNS_MOST * 16;
    int rc = plan_open_chain(s, o->depth, units, &w.chain, err);
    if (!rc) rc = measure_points(&w, err);
    st_chain_close(w.chain);
    free(memory);
    st_unit_quiet(s->lanes.units[unit]);
    return rc;
}

/* ---- what is known without measuring ---- */

static void describe_chunks(const session *s, st_costs *costs) {
    st_chunk chunks[ST_MAX_CHUNKS];
    enum st_kv_type kv = session_kv_type(s);
    st_chunks_describe(chunks, s->spans, s->n_chunks, s->model);
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        costs->chunks[c] = (st_cost_chunk){.has_layers = true,
                                           .first = s->spans[c].first,
                                           .last = s->spans[c].last,
                                           .weight_bytes = chunks[c].bytes,
                                           .kv_bytes = st_kv_read_bytes(s->model, s->spans[c], kv, 0)};
        snprintf(costs->chunks[c].name, ST_PLAN_NAME, "%u", c + 1);
    }
}

static void describe_units(const session *s, st_costs *costs) {
    costs->n_memories = 1;
    costs->memories[0].bytes = s->lanes.host.memory_bytes;
    snprintf(costs->memories[0].name, ST_PLAN_NAME, "host");
    for (uint32_t u = 0; u < s->lanes.n; u++) {
        st_unit_info info;
        st_unit_info_get(s->lanes.units[u], &info);
        st_cost_unit *unit = &costs->units[u];
        snprintf(unit->name, ST_PLAN_NAME, "%s", info.name);
        unit->n_threads = info.n_threads;
        unit->memory = 0;
        for (unsigned i = 0; i < info.n_cores && i < ST_COST_CORES_MAX; i++)
            unit->cores[unit->n_cores++] = (uint16_t)info.cores[i];
    }
}

/* Making text of a token; 0 where the model has no vocabulary. */
static double text_ns(session *s) {
    stretto_error ignored;
    if (!s->tok && (!s->gguf || session_open_tokenizer(s, &ignored))) return 0;
    uint32_t n_vocab = st_tokenizer_size(s->tok), n = n_vocab < 512 ? n_vocab : 512;
    st_buf text = {0};
    uint64_t start = st_now_ns();
    for (uint32_t i = 0; i < n; i++)
        st_tokenizer_decode(s->tok, (int32_t)((uint64_t)i * 7919u % n_vocab), false, false, &text, NULL);
    uint64_t end = st_now_ns();
    st_buf_free(&text);
    return n ? (double)(end - start) / n : 0;
}

int plan_measure(st_costs *out, session *s, const plan_measure_options *o, stretto_error *err) {
    *out = (st_costs){0};
    if (s->lanes.n > ST_PLAN_UNITS_MAX) return st_fail(err, STRETTO_E_USAGE, "more than %d units", ST_PLAN_UNITS_MAX);
    int rc = st_costs_create(out, s->n_chunks, s->lanes.n, err);
    if (rc) return rc;
    out->depth = o->depth;
    session_title(s, out->title, sizeof out->title);
    describe_chunks(s, out);
    describe_units(s, out);
    out->host.text_ns = text_ns(s);
    for (uint32_t u = 0; u < s->lanes.n && !rc; u++) rc = measure_lane(s, o, out, u, err);
    if (!rc) rc = plan_measure_beside(out, s, o, err);
    cli_progress_end(s->cx);
    if (rc) st_costs_free(out);
    return rc;
}
