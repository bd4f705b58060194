/* SPDX-License-Identifier: MIT */
#include "plan_measure.h"

#include "base/clock.h"
#include "base/error.h"
#include "plan_beside.h"
#include "plan_samples.h"

#include <stdio.h>
#include <stdlib.h>

#define POINTS_MAX 12
#define CALLS 3  /* decoding, of each turn */
#define SELDOM 3 /* long calls come once in so many turns, if they are not as long as a prompt or take longer than: */
#define LONG_NS 1e9
#define TURNS_LEAST 3
#define TURNS 6
#define TURNS_NS 20000000000ull /* after which the least are enough */

/* A call whose time is a point of the table's curves. */
typedef struct point {
    enum st_work work;
    uint32_t tokens;
    bool decodes; /* rows of decoding streams, with their logits if they are work of that kind */
} point;

typedef struct lane_meter {
    plan_rig rig;
    plan_samples times[ST_MAX_CHUNKS][POINTS_MAX];
    double last_ns[POINTS_MAX]; /* of the last call */
    plan_samples gap, between;  /* of calls of one row */
} lane_meter;

struct plan_meter {
    session *s;
    st_workload workload;
    point points[POINTS_MAX];
    uint32_t n_points, turns;
    lane_meter *lanes;   /* [s->lanes.n] */
    plan_texts texts[2]; /* the second for who runs beside the first */
    plan_beside *pairs;  /* [n_pairs] of lanes that share no core */
    uint32_t n_pairs;
    st_costs shape; /* what is known without measuring */
    double text_ns;
};

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

static int describe(const plan_meter *m, st_costs *out, stretto_error *err) {
    int rc = st_costs_create(out, m->s->n_chunks, m->s->lanes.n, err);
    if (rc) return rc;
    out->depth = m->workload.prompt + m->workload.generate / 2;
    session_title(m->s, out->title, sizeof out->title);
    describe_chunks(m->s, out);
    describe_units(m->s, out);
    return STRETTO_OK;
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

/* ---- one lane ---- */

static int keep_times(const plan_meter *m, lane_meter *lane, uint32_t p, stretto_error *err) {
    lane->last_ns[p] = 0;
    for (uint32_t c = 0; c < m->s->n_chunks; c++) {
        double ns = plan_rig_ns(&lane->rig, c);
        int rc = plan_samples_add(&lane->times[c][p], ns, err);
        if (rc) return rc;
        lane->last_ns[p] += ns;
    }
    return STRETTO_OK;
}

static int measure_decode(plan_meter *m, lane_meter *lane, uint32_t p, stretto_error *err) {
    const point *own = &m->points[p];
    int rc = STRETTO_OK;
    for (uint32_t i = 0; i <= CALLS && !rc; i++) {
        rc = plan_rig_decode(&lane->rig, &m->texts[0], own->tokens, own->work == ST_WORK_DECODE, err);
        if (rc || i == 0) continue; /* the first finds other calls' caches */
        rc = keep_times(m, lane, p, err);
        if (!rc && own->work == ST_WORK_DECODE && own->tokens == 1) {
            rc = plan_samples_add(&lane->gap, lane->rig.gap_ns, err);
            if (!rc) rc = plan_samples_add(&lane->between, lane->rig.between_ns, err);
        }
    }
    return rc;
}

static uint32_t prompt_calls(const plan_meter *m, const lane_meter *lane, uint32_t p) {
    uint32_t tokens = m->points[p].tokens, most = plan_texts_prompt(&m->texts[0]);
    bool own = tokens == (m->workload.prompt < most ? m->workload.prompt : most);
    if (tokens > 64 && (!own || lane->last_ns[p] > LONG_NS)) return m->turns % SELDOM == 0;
    return tokens > 16 ? 1 : 2;
}

static int measure_prompts(plan_meter *m, lane_meter *lane, stretto_error *err) {
    int rc = STRETTO_OK;
    for (uint32_t p = 0; p < m->n_points && !rc; p++) {
        uint32_t tokens = m->points[p].tokens, n = prompt_calls(m, lane, p);
        for (uint32_t i = 0; i < n && !m->points[p].decodes && !rc; i++) {
            rc = plan_rig_read(&lane->rig, &m->texts[0], tokens, err);
            if (!rc) rc = keep_times(m, lane, p, err);
        }
    }
    return rc;
}

static int measure_lane(plan_meter *m, uint32_t u, stretto_error *err) {
    lane_meter *lane = &m->lanes[u];
    if (cli_stopped(m->s->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while measuring");
    cli_progress(m->s->cx, "measuring %s", m->s->lanes.names[u]);
    int rc = measure_prompts(m, lane, err);
    for (uint32_t p = 0; p < m->n_points && !rc; p++)
        if (m->points[p].decodes) rc = measure_decode(m, lane, p, err);
    plan_rig_quiet(&lane->rig);
    return rc;
}

/* ---- all of it ---- */

static void add_point(plan_meter *m, enum st_work work, uint32_t tokens, bool decodes) {
    for (uint32_t p = 0; p < m->n_points; p++)
        if (m->points[p].work == work && m->points[p].tokens == tokens) return;
    m->points[m->n_points++] = (point){work, tokens, decodes};
}

/* One token without logits is decoding but for the head: what that adds to a call is the difference. */
static void choose_points(plan_meter *m) {
    static const uint32_t rows[] = {1, 2, 4, 8}, micro_batches[] = {16, 64, PLAN_TOKENS_MAX};
    uint32_t most = plan_texts_prompt(&m->texts[0]), streams = m->workload.streams;
    for (unsigned i = 3; i-- > 0;)
        add_point(m, ST_WORK_PREFILL, micro_batches[i] < most ? micro_batches[i] : most, false);
    if (m->workload.prompt < most) add_point(m, ST_WORK_PREFILL, m->workload.prompt, false);
    add_point(m, ST_WORK_PREFILL, 1, true);
    for (unsigned i = 0; i < 4; i++) add_point(m, ST_WORK_DECODE, rows[i], true);
    if (streams > 8) add_point(m, ST_WORK_DECODE, streams < PLAN_ROWS_MAX ? streams : PLAN_ROWS_MAX, true);
}

static int open_pairs(plan_meter *m, stretto_error *err) {
    uint32_t n = m->s->lanes.n;
    m->pairs = calloc((size_t)n * n, sizeof *m->pairs);
    if (!m->pairs) return st_fail_memory(err, "pairs of lanes", (uint64_t)n * n * sizeof *m->pairs);
    for (uint32_t x = 0; x < n; x++) {
        for (uint32_t y = x + 1; y < n; y++) {
            if (st_costs_share_core(&m->shape, x, y)) continue;
            m->pairs[m->n_pairs++] = (plan_beside){.unit = {x, y},
                                                   .rig = {&m->lanes[x].rig, &m->lanes[y].rig},
                                                   .texts = {&m->texts[0], &m->texts[1]},
                                                   .streams = m->workload.streams};
        }
    }
    return m->n_pairs ? plan_texts_open(&m->texts[1], &m->lanes[0].rig, &m->workload, err) : STRETTO_OK;
}

static int open_all(plan_meter *m, stretto_error *err) {
    session *s = m->s;
    uint32_t n = s->lanes.n, streams = m->workload.streams;
    uint32_t rows = streams > 8 ? streams < PLAN_ROWS_MAX ? streams : PLAN_ROWS_MAX : 8;
    if (n > ST_PLAN_UNITS_MAX) return st_fail(err, STRETTO_E_USAGE, "more than %d units", ST_PLAN_UNITS_MAX);
    m->lanes = calloc(n, sizeof *m->lanes);
    if (!m->lanes) return st_fail_memory(err, "the lanes' samples", n * sizeof *m->lanes);
    int rc = describe(m, &m->shape, err);
    for (uint32_t u = 0; u < n && !rc; u++) rc = plan_rig_open(&m->lanes[u].rig, s, s->lanes.units[u], rows, err);
    cli_progress(s->cx, "reading the context");
    if (!rc) rc = plan_texts_open(&m->texts[0], &m->lanes[0].rig, &m->workload, err);
    if (!rc) rc = open_pairs(m, err);
    if (rc) return rc;
    plan_rig_quiet(&m->lanes[0].rig);
    choose_points(m);
    m->text_ns = text_ns(s);
    return STRETTO_OK;
}

int plan_meter_open(plan_meter **out, session *s, const st_workload *workload, stretto_error *err) {
    *out = NULL;
    plan_meter *m = calloc(1, sizeof *m);
    if (!m) return st_fail_memory(err, "a measurement", sizeof *m);
    m->s = s;
    m->workload = *workload;
    int rc = open_all(m, err);
    cli_progress_end(s->cx);
    if (rc)
        plan_meter_close(m);
    else
        *out = m;
    return rc;
}

static void free_lane(lane_meter *lane) {
    for (uint32_t c = 0; c < ST_MAX_CHUNKS; c++)
        for (uint32_t p = 0; p < POINTS_MAX; p++) plan_samples_free(&lane->times[c][p]);
    plan_samples_free(&lane->gap);
    plan_samples_free(&lane->between);
    plan_rig_close(&lane->rig);
}

void plan_meter_close(plan_meter *m) {
    if (!m) return;
    for (uint32_t i = 0; i < m->n_pairs; i++) plan_beside_free(&m->pairs[i]);
    for (unsigned i = 0; i < 2; i++) plan_texts_close(&m->texts[i]);
    for (uint32_t u = 0; m->lanes && u < m->s->lanes.n; u++) free_lane(&m->lanes[u]);
    st_costs_free(&m->shape);
    free(m->pairs);
    free(m->lanes);
    free(m);
}

int plan_meter_turn(plan_meter *m, stretto_error *err) {
    int rc = STRETTO_OK;
    for (uint32_t u = 0; u < m->s->lanes.n && !rc; u++) rc = measure_lane(m, u, err);
    for (uint32_t i = 0; i < m->n_pairs && !rc; i++) rc = plan_beside_turn(&m->pairs[i], err);
    cli_progress_end(m->s->cx);
    m->turns += !rc;
    return rc;
}

int plan_meter_turns(plan_meter *m, stretto_error *err) {
    uint64_t begin = st_now_ns();
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < TURNS && (i < TURNS_LEAST || st_now_ns() - begin < TURNS_NS) && !rc; i++)
        rc = plan_meter_turn(m, err);
    return rc;
}

/* ---- the table ---- */

static int note_lane(const plan_meter *m, uint32_t u, st_costs *out, stretto_error *err) {
    const lane_meter *lane = &m->lanes[u];
    for (uint32_t c = 0; c < m->s->n_chunks; c++) {
        for (uint32_t p = 0; p < m->n_points; p++) {
            double ns = plan_samples_mean(&lane->times[c][p]);
            st_cost_curve *curve = st_costs_curve(out, c, u, m->points[p].work);
            if (!st_cost_curve_add(curve, m->points[p].tokens, ns < 1 ? 1 : ns))
                return st_fail(err, STRETTO_E_INTERNAL, "more than %d points of a curve", ST_COST_POINTS_MAX);
        }
    }
    uint32_t gaps = m->s->n_chunks > 1 ? m->s->n_chunks - 1 : 1;
    double between = plan_samples_mean(&lane->between) / gaps, gap = plan_samples_mean(&lane->gap);
    out->units[u].dispatch_ns = between > 0 ? between : 0;
    out->units[u].choose_ns = gap > 0 ? gap : 0;
    out->host.choose_ns += out->units[u].choose_ns / m->s->lanes.n;
    return STRETTO_OK;
}

int plan_meter_costs(const plan_meter *m, st_costs *out, stretto_error *err) {
    int rc = describe(m, out, err);
    if (rc) return rc;
    out->host.text_ns = m->text_ns;
    for (uint32_t u = 0; u < m->s->lanes.n && !rc; u++) rc = note_lane(m, u, out, err);
    for (uint32_t i = 0; i < m->n_pairs && !rc; i++) plan_beside_note(&m->pairs[i], out);
    if (rc) st_costs_free(out);
    return rc;
}
