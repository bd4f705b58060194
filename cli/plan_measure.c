/* SPDX-License-Identifier: MIT */
#include "plan_measure.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/usage.h"
#include "plan_beside.h"
#include "plan_points.h"
#include "plan_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELDOM                                                                                                         \
    3 /* long calls come once in so many turns, unless they are as long as a prompt and no longer than PLAN_LONG_NS */
#define TURNS_LEAST 3
#define TURNS 6
#define TURNS_NS 20000000000ull /* after which the least are enough */
/* Most that a turn of the lanes is to take; after as much only pairs have more turns. */
#define LANES_NS 40000000000ull
#define BESIDE_CALL_NS 5e8 /* most that a call of a pair of lanes is to take, where fewer tokens do it */
#define SIZE_ROWS 4        /* of the calls that tell how long all will take */
#define SIZE_TOKENS 16

typedef struct lane_meter {
    plan_rig rig;
    plan_samples times[ST_MAX_CHUNKS][PLAN_POINTS_MAX];
    double last_ns[PLAN_POINTS_MAX]; /* of the last call */
    plan_samples gap, between;       /* of calls of one row */
} lane_meter;

struct plan_meter {
    session *s;
    st_workload workload;
    plan_points points;
    uint32_t turns, lane_turns; /* so far; of those, turns that the lanes had, too */
    double turn_ns;             /* of the lanes, as is expected */
    lane_meter *lanes;          /* [s->lanes.n] */
    plan_texts texts[2];        /* the second for who runs beside the first */
    plan_beside *pairs;         /* [n_pairs] of lanes that share no core */
    uint32_t n_pairs;
    st_costs shape; /* what is known without measuring */
    double text_ns;
    st_usage begin;
};

/* ---- what is known without measuring ---- */

void plan_describe_chunks(const session *s, st_costs *costs) {
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
    plan_describe_chunks(m->s, out);
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

static int stopped(const plan_meter *m, stretto_error *err) {
    return cli_stopped(m->s->cx) ? st_fail(err, STRETTO_E_STOPPED, "interrupted while measuring") : STRETTO_OK;
}

static int measure_decode(plan_meter *m, lane_meter *lane, uint32_t p, stretto_error *err) {
    const plan_point *own = &m->points.list[p];
    uint32_t n = plan_point_calls(&m->points, p), warm = plan_point_warm_calls(&m->points, p);
    int rc = STRETTO_OK;
    for (uint32_t i = 0; i < n + warm && !rc; i++) {
        rc = stopped(m, err);
        if (!rc) rc = plan_rig_decode(&lane->rig, &m->texts[0], own->tokens, own->work == ST_WORK_DECODE, err);
        if (rc || i < warm) continue;
        rc = keep_times(m, lane, p, err);
        if (!rc && own->work == ST_WORK_DECODE && own->tokens == 1) {
            rc = plan_samples_add(&lane->gap, lane->rig.gap_ns, err);
            if (!rc) rc = plan_samples_add(&lane->between, lane->rig.between_ns, err);
        }
    }
    return rc;
}

static uint32_t prompt_calls(const plan_meter *m, const lane_meter *lane, uint32_t p) {
    uint32_t tokens = m->points.list[p].tokens, most = plan_texts_prompt(&m->texts[0]);
    bool own = tokens == (m->workload.prompt < most ? m->workload.prompt : most);
    if (tokens > 64 && (!own || lane->last_ns[p] > PLAN_LONG_NS) && m->lane_turns % SELDOM != 0) return 0;
    return plan_point_calls(&m->points, p);
}

static int measure_prompts(plan_meter *m, lane_meter *lane, stretto_error *err) {
    int rc = STRETTO_OK;
    for (uint32_t p = 0; p < m->points.n && !rc; p++) {
        uint32_t tokens = m->points.list[p].tokens, n = prompt_calls(m, lane, p);
        for (uint32_t i = 0; i < n && !m->points.list[p].decodes && !rc; i++) {
            rc = stopped(m, err);
            if (!rc) rc = plan_rig_read(&lane->rig, &m->texts[0], tokens, err);
            if (!rc) rc = keep_times(m, lane, p, err);
        }
    }
    return rc;
}

static int measure_lane(plan_meter *m, uint32_t u, stretto_error *err) {
    lane_meter *lane = &m->lanes[u];
    cli_progress(m->s->cx, "measuring %s alone: turn %u, about %.0f s for all alone", m->s->lanes.names[u],
                 m->lane_turns + 1, ceil(m->turn_ns / 1e9));
    int rc = measure_prompts(m, lane, err);
    for (uint32_t p = 0; p < m->points.n && !rc; p++)
        if (m->points.list[p].decodes) rc = measure_decode(m, lane, p, err);
    plan_rig_quiet(&lane->rig);
    return rc;
}

/* ---- all of it ---- */

static double call_ns(const lane_meter *lane) {
    double ns = 0;
    for (uint32_t c = 0; c < lane->rig.s->n_chunks; c++) ns += plan_rig_ns(&lane->rig, c);
    return ns;
}

/* A few short calls tell how long all will take. */
static int size_lane(plan_meter *m, lane_meter *lane, stretto_error *err) {
    uint32_t most = plan_texts_prompt(&m->texts[0]);
    plan_sizes sizes = {.rows = SIZE_ROWS, .tokens = most < SIZE_TOKENS ? most : SIZE_TOKENS};
    int rc = plan_rig_decode(&lane->rig, &m->texts[0], 1, true, err); /* finds sleeping workers and cold caches */
    if (!rc) rc = stopped(m, err);
    if (!rc) rc = plan_rig_decode(&lane->rig, &m->texts[0], 1, true, err);
    sizes.one_ns = rc ? 0 : call_ns(lane);
    if (!rc) rc = plan_rig_decode(&lane->rig, &m->texts[0], sizes.rows, true, err);
    sizes.rows_ns = rc ? 0 : call_ns(lane);
    if (!rc) rc = plan_rig_read(&lane->rig, &m->texts[0], sizes.tokens, err);
    sizes.tokens_ns = rc ? 0 : call_ns(lane);
    plan_rig_quiet(&lane->rig);
    if (!rc) plan_points_expect(&m->points, &sizes);
    return rc;
}

static int choose_points(plan_meter *m, stretto_error *err) {
    int rc = STRETTO_OK;
    plan_points_choose(&m->points, &m->workload, plan_texts_prompt(&m->texts[0]), PLAN_ROWS_MAX);
    for (uint32_t u = 0; u < m->s->lanes.n && !rc; u++) rc = size_lane(m, &m->lanes[u], err);
    m->turn_ns = plan_points_fit(&m->points, LANES_NS);
    return rc;
}

/* A schedule is told by its units' names, and a run finds cores in them: not in one that was cut (st_unit_info.name).
 */
static int check_names(const st_costs *shape, stretto_error *err) {
    for (uint32_t u = 0; u < shape->n_units; u++) {
        const char *name = shape->units[u].name;
        size_t n = strlen(name);
        if (n > 3 && strcmp(name + n - 3, "...") == 0)
            return st_fail(err, STRETTO_E_USAGE,
                           "unit %s is a list of cores that is too long for a schedule to name: make it of ranges, as "
                           "in cpu:0-15",
                           name);
    }
    return STRETTO_OK;
}

static int open_pairs(plan_meter *m, stretto_error *err) {
    uint32_t n = m->s->lanes.n;
    m->pairs = calloc((size_t)n * n, sizeof *m->pairs);
    if (!m->pairs) return st_fail_memory(err, "pairs of lanes", (uint64_t)n * n * sizeof *m->pairs);
    for (uint32_t x = 0; x < n; x++) {
        for (uint32_t y = x + 1; y < n; y++) {
            if (st_costs_share_core(&m->shape, x, y)) continue;
            m->pairs[m->n_pairs++] =
                (plan_beside){.unit = {x, y},
                              .rig = {&m->lanes[x].rig, &m->lanes[y].rig},
                              .texts = {&m->texts[0], &m->texts[1]},
                              .streams = m->workload.streams,
                              .rows_most = plan_points_most(&m->points, ST_WORK_DECODE, BESIDE_CALL_NS),
                              .tokens_most = plan_points_most(&m->points, ST_WORK_PREFILL, BESIDE_CALL_NS)};
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
    if (!rc) rc = check_names(&m->shape, err);
    for (uint32_t u = 0; u < n && !rc; u++) rc = plan_rig_open(&m->lanes[u].rig, s, s->lanes.units[u], rows, err);
    cli_progress(s->cx, "making contexts of %u tokens, and timing a few calls", m->shape.depth);
    if (!rc) rc = plan_texts_open(&m->texts[0], &m->lanes[0].rig, &m->workload, err);
    if (!rc) rc = choose_points(m, err);
    if (!rc) rc = open_pairs(m, err);
    if (rc) return rc;
    m->text_ns = text_ns(s);
    return STRETTO_OK;
}

int plan_meter_open(plan_meter **out, session *s, const st_workload *workload, stretto_error *err) {
    *out = NULL;
    plan_meter *m = calloc(1, sizeof *m);
    if (!m) return st_fail_memory(err, "a measurement", sizeof *m);
    m->s = s;
    m->workload = *workload;
    st_usage_read(&m->begin, "");
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
        for (uint32_t p = 0; p < PLAN_POINTS_MAX; p++) plan_samples_free(&lane->times[c][p]);
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

static int measure_turn(plan_meter *m, bool lanes, stretto_error *err) {
    uint64_t begin = st_now_ns();
    int rc = STRETTO_OK;
    for (uint32_t u = 0; u < m->s->lanes.n && lanes && !rc; u++) rc = measure_lane(m, u, err);
    if (lanes) m->turn_ns = (double)(st_now_ns() - begin);
    for (uint32_t i = 0; i < m->n_pairs && !rc; i++) rc = plan_beside_turn(&m->pairs[i], err);
    cli_progress_end(m->s->cx);
    m->turns += !rc;
    m->lane_turns += lanes && !rc;
    return rc;
}

int plan_meter_turn(plan_meter *m, stretto_error *err) {
    return measure_turn(m, true, err);
}

/* What lanes do to each other takes the least number of turns to be seen at all. */
int plan_meter_turns(plan_meter *m, stretto_error *err) {
    uint64_t begin = st_now_ns(), spent = 0;
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < TURNS && (i < TURNS_LEAST || spent < TURNS_NS) && !rc; i++) {
        rc = measure_turn(m, spent < LANES_NS, err);
        spent = st_now_ns() - begin;
    }
    return rc;
}

/* ---- the table ---- */

static int note_lane(const plan_meter *m, uint32_t u, st_costs *out, stretto_error *err) {
    const lane_meter *lane = &m->lanes[u];
    for (uint32_t c = 0; c < m->s->n_chunks; c++) {
        for (uint32_t p = 0; p < m->points.n; p++) {
            double ns = plan_samples_mean(&lane->times[c][p]);
            if (m->points.list[p].left_out) continue;
            st_cost_curve *curve = st_costs_curve(out, c, u, m->points.list[p].work);
            if (!st_cost_curve_add(curve, m->points.list[p].tokens, ns < 1 ? 1 : ns))
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

/* Where there was less time than measuring as always takes. */
static void note_measuring(const plan_meter *m, st_costs *out) {
    char left[sizeof out->measured - 64];
    plan_points_text(&m->points, left, sizeof left);
    if (m->lane_turns < TURNS_LEAST)
        snprintf(out->measured, sizeof out->measured, "each call in %u turn%s of %.0f s, not in %u%s%s", m->lane_turns,
                 m->lane_turns == 1 ? "" : "s", m->turn_ns / 1e9, TURNS_LEAST, left[0] ? "; " : "", left);
    else
        snprintf(out->measured, sizeof out->measured, "%s", left);
}

int plan_meter_costs(const plan_meter *m, st_costs *out, stretto_error *err) {
    int rc = describe(m, out, err);
    if (rc) return rc;
    note_measuring(m, out);
    out->host.text_ns = m->text_ns;
    for (uint32_t u = 0; u < m->s->lanes.n && !rc; u++) rc = note_lane(m, u, out, err);
    for (uint32_t i = 0; i < m->n_pairs && !rc; i++) plan_beside_note(&m->pairs[i], out);
    if (rc) st_costs_free(out);
    return rc;
}

double plan_meter_others(const plan_meter *m) {
    st_usage now;
    st_usage_read(&now, "");
    double others = st_usage_others(&m->begin, &now);
    if (others > ST_USAGE_BUSY)
        st_warn(&m->s->cx->log, "other programs kept %.2f CPUs busy while this was measured: end them and plan again",
                others);
    return others;
}
