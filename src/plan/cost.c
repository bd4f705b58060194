/* SPDX-License-Identifier: MIT */
#include "plan/cost.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

const char *const st_work_names[] = {"decode", "prefill", "batch", NULL};

int st_costs_create(st_costs *costs, uint32_t n_chunks, uint32_t n_units, stretto_error *err) {
    *costs = (st_costs){0};
    if (n_chunks == 0 || n_chunks > ST_PLAN_CHUNKS_MAX || n_units == 0 || n_units > ST_PLAN_UNITS_MAX)
        return st_fail(err, STRETTO_E_USAGE, "a cost table of %u chunks and %u units: expected 1 to %d and 1 to %d",
                       n_chunks, n_units, ST_PLAN_CHUNKS_MAX, ST_PLAN_UNITS_MAX);
    size_t pairs = (size_t)n_units * n_units;
    costs->n_chunks = n_chunks;
    costs->n_units = n_units;
    costs->chunks = calloc(n_chunks, sizeof *costs->chunks);
    costs->units = calloc(n_units, sizeof *costs->units);
    costs->memories = calloc(n_units, sizeof *costs->memories);
    costs->curves = calloc((size_t)n_chunks * n_units * ST_WORKS, sizeof *costs->curves);
    costs->transfers = calloc(pairs, sizeof *costs->transfers);
    costs->slowdowns = calloc(pairs * ST_WORKS * ST_WORKS, sizeof *costs->slowdowns);
    costs->chunk_slowdowns = calloc(pairs, sizeof *costs->chunk_slowdowns);
    if (!costs->chunks || !costs->units || !costs->memories || !costs->curves || !costs->transfers ||
        !costs->slowdowns || !costs->chunk_slowdowns) {
        st_costs_free(costs);
        return st_fail_memory(err, "a cost table", (uint64_t)n_chunks * n_units * sizeof *costs->curves);
    }
    for (size_t i = 0; i < pairs * ST_WORKS * ST_WORKS; i++) {
        bool batch = i % ST_WORKS == ST_WORK_BATCH || i / ST_WORKS % ST_WORKS == ST_WORK_BATCH;
        costs->slowdowns[i] = batch ? 0 : 1;
    }
    for (uint32_t u = 0; u < n_units; u++) {
        costs->units[u].memory = ST_COST_NONE;
        costs->units[u].choose_ns = -1;
    }
    for (unsigned i = 0; i < ST_DRAFTS; i++) costs->acceptance[i] = -1;
    return STRETTO_OK;
}

void st_costs_free(st_costs *costs) {
    for (size_t i = 0; costs->chunk_slowdowns && i < (size_t)costs->n_units * costs->n_units; i++)
        free(costs->chunk_slowdowns[i]);
    free(costs->chunk_slowdowns);
    free(costs->slowdowns);
    free(costs->transfers);
    free(costs->curves);
    free(costs->memories);
    free(costs->units);
    free(costs->chunks);
    *costs = (st_costs){0};
}

/* memories has room for n_units of the new table, which may be fewer than the old one has memories. */
static void take_memory(st_costs *out, uint32_t to, const st_costs *costs, uint32_t from) {
    uint32_t old = costs->units[from].memory, m = 0;
    if (old == ST_COST_NONE) return;
    while (m < out->n_memories && strcmp(out->memories[m].name, costs->memories[old].name) != 0) m++;
    if (m == out->n_memories) out->memories[out->n_memories++] = costs->memories[old];
    out->units[to].memory = m;
}

/* What the table says of unit x beside y. */
static int copy_pair(st_costs *out, uint32_t to, const st_costs *costs, uint32_t from, stretto_error *err) {
    size_t works = (size_t)ST_WORKS * ST_WORKS, n = (size_t)costs->n_chunks * ST_WORKS;
    out->transfers[to] = costs->transfers[from];
    memcpy(&out->slowdowns[to * works], &costs->slowdowns[from * works], works * sizeof *out->slowdowns);
    if (!costs->chunk_slowdowns[from]) return STRETTO_OK;
    out->chunk_slowdowns[to] = malloc(n * n * sizeof(float));
    if (!out->chunk_slowdowns[to]) return st_fail_memory(err, "slowdowns of chunks", n * n * sizeof(float));
    memcpy(out->chunk_slowdowns[to], costs->chunk_slowdowns[from], n * n * sizeof(float));
    return STRETTO_OK;
}

int st_costs_of(st_costs *out, const st_costs *costs, const uint32_t *units, uint32_t n, stretto_error *err) {
    int code = st_costs_create(out, costs->n_chunks, n, err);
    if (code) return code;
    memcpy(out->title, costs->title, sizeof out->title);
    memcpy(out->measured, costs->measured, sizeof out->measured);
    memcpy(out->chunks, costs->chunks, costs->n_chunks * sizeof *out->chunks);
    memcpy(out->acceptance, costs->acceptance, sizeof out->acceptance);
    out->host = costs->host;
    out->depth = costs->depth;
    for (uint32_t x = 0; x < n && !code; x++) {
        out->units[x] = costs->units[units[x]];
        take_memory(out, x, costs, units[x]);
        for (uint32_t c = 0; c < costs->n_chunks; c++)
            memcpy(st_costs_curve(out, c, x, ST_WORK_DECODE), st_costs_curve(costs, c, units[x], ST_WORK_DECODE),
                   ST_WORKS * sizeof *out->curves);
        for (uint32_t y = 0; y < n && !code; y++)
            code = copy_pair(out, x * n + y, costs, units[x] * costs->n_units + units[y], err);
    }
    if (code) st_costs_free(out);
    return code;
}

uint32_t st_costs_unit(const st_costs *costs, const char *name) {
    for (uint32_t u = 0; u < costs->n_units; u++) {
        if (strcmp(costs->units[u].name, name) == 0) return u;
    }
    return ST_COST_NONE;
}

uint32_t st_costs_chunk(const st_costs *costs, const char *name) {
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        if (strcmp(costs->chunks[c].name, name) == 0) return c;
    }
    return ST_COST_NONE;
}

/* ---- times ---- */

st_cost_curve *st_costs_curve(const st_costs *costs, uint32_t chunk, uint32_t unit, enum st_work work) {
    return &costs->curves[((size_t)chunk * costs->n_units + unit) * ST_WORKS + work];
}

bool st_cost_curve_add(st_cost_curve *curve, uint32_t tokens, double ns) {
    uint32_t at = 0;
    while (at < curve->n && curve->points[at].tokens < tokens) at++;
    if (at == curve->n || curve->points[at].tokens != tokens) {
        if (curve->n == ST_COST_POINTS_MAX) return false;
        memmove(&curve->points[at + 1], &curve->points[at], (curve->n - at) * sizeof *curve->points);
        curve->n++;
    }
    curve->points[at] = (st_cost_point){tokens, ns};
    return true;
}

static double on_line(st_cost_point a, st_cost_point b, uint32_t tokens) {
    return a.ns + (b.ns - a.ns) * ((double)tokens - a.tokens) / ((double)b.tokens - a.tokens);
}

/* first: what a call of one token takes where the curve does not say; its tokens are 0 when that is unknown, too. */
static double curve_at(const st_cost_curve *curve, st_cost_point first, uint32_t tokens) {
    const st_cost_point *p = curve->points;
    uint32_t n = curve->n, at = 0;
    if (n == 0) return 0;
    while (at < n && p[at].tokens < tokens) at++;
    if (at < n && p[at].tokens == tokens) return p[at].ns;
    if (at == 0)
        return on_line(first.tokens && first.tokens < p[0].tokens ? first : (st_cost_point){0, 0}, p[0], tokens);
    if (at < n) return on_line(p[at - 1], p[at], tokens);
    st_cost_point before = n > 1 ? p[n - 2] : (st_cost_point){0, 0};
    double ns = on_line(before, p[n - 1], tokens);
    return ns > p[n - 1].ns ? ns : p[n - 1].ns;
}

double st_cost_ns(const st_costs *costs, uint32_t chunk, uint32_t unit, enum st_work work, uint32_t tokens) {
    const st_cost_curve *decode = st_costs_curve(costs, chunk, unit, ST_WORK_DECODE);
    st_cost_point none = {0, 0}, one = decode->n && decode->points[0].tokens == 1 ? decode->points[0] : none;
    if (work == ST_WORK_DECODE) return curve_at(decode, none, tokens);
    const st_cost_curve *prefill = st_costs_curve(costs, chunk, unit, ST_WORK_PREFILL);
    return prefill->n ? curve_at(prefill, one, tokens) : curve_at(decode, none, tokens);
}

enum st_work st_cost_call_work(const st_cost_call *call) {
    return call->n_prompt > 0 ? ST_WORK_PREFILL : ST_WORK_DECODE;
}

enum st_work st_cost_call_beside(const st_cost_call *call) {
    return call->n_prompt == 0 && call->tokens > 1 ? ST_WORK_BATCH : st_cost_call_work(call);
}

double st_cost_call_ns(const st_costs *costs, uint32_t chunk, uint32_t unit, const st_cost_call *call) {
    double ns = st_cost_ns(costs, chunk, unit, st_cost_call_work(call), call->tokens);
    if (call->n_prompt == 0 || call->wanted == 0 || chunk + 1 != costs->n_chunks) return ns;
    double head = st_cost_ns(costs, chunk, unit, ST_WORK_DECODE, call->wanted) -
                  st_cost_ns(costs, chunk, unit, ST_WORK_PREFILL, call->wanted);
    return head > 0 ? ns + head : ns;
}

double st_cost_draft_read_ns(const st_costs *costs, uint32_t unit, uint32_t tokens) {
    const st_cost_unit *u = &costs->units[unit];
    double prompt = 0, token = 0;
    bool known = true;
    if (u->draft_read_ns > 0) return tokens * u->draft_read_ns;
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        double one = st_cost_ns(costs, c, unit, ST_WORK_DECODE, 1);
        known = known && one > 0;
        token += one;
        prompt += st_cost_ns(costs, c, unit, ST_WORK_PREFILL, tokens);
    }
    return u->draft_ns * (known ? prompt / token : tokens);
}

double st_cost_choose_ns(const st_costs *costs, uint32_t unit) {
    double own = costs->units[unit].choose_ns;
    return own >= 0 ? own : costs->host.choose_ns;
}

/* ---- slowdowns ---- */

double *st_cost_unit_slowdown(const st_costs *costs, uint32_t x, enum st_work x_work, uint32_t y, enum st_work y_work) {
    return &costs->slowdowns[(((size_t)x * costs->n_units + y) * ST_WORKS + x_work) * ST_WORKS + y_work];
}

static size_t pair_at(const st_costs *costs, uint32_t a, enum st_work a_work, uint32_t b, enum st_work b_work) {
    return ((size_t)a * ST_WORKS + a_work) * costs->n_chunks * ST_WORKS + (size_t)b * ST_WORKS + b_work;
}

static enum st_work plain_work(enum st_work work) {
    return work == ST_WORK_BATCH ? ST_WORK_DECODE : work;
}

double st_cost_slowdown(const st_costs *costs, uint32_t x, uint32_t a, enum st_work a_work, uint32_t y, uint32_t b,
                        enum st_work b_work) {
    const float *pairs = costs->chunk_slowdowns[(size_t)x * costs->n_units + y];
    enum st_work a_plain = plain_work(a_work), b_plain = plain_work(b_work);
    if (pairs && a < costs->n_chunks && b < costs->n_chunks) {
        float own = pairs[pair_at(costs, a, a_work, b, b_work)];
        if (!(own > 0)) own = pairs[pair_at(costs, a, a_plain, b, b_plain)];
        if (own > 0) return (double)own;
    }
    double any = *st_cost_unit_slowdown(costs, x, a_work, y, b_work);
    return any > 0 ? any : *st_cost_unit_slowdown(costs, x, a_plain, y, b_plain);
}

int st_cost_set_slowdown(st_costs *costs, uint32_t x, uint32_t a, enum st_work a_work, uint32_t y, uint32_t b,
                         enum st_work b_work, double slowdown, stretto_error *err) {
    float **pairs = &costs->chunk_slowdowns[(size_t)x * costs->n_units + y];
    size_t n = (size_t)costs->n_chunks * ST_WORKS;
    if (!*pairs) *pairs = calloc(n * n, sizeof **pairs);
    if (!*pairs) return st_fail_memory(err, "slowdowns of chunks", n * n * sizeof **pairs);
    (*pairs)[pair_at(costs, a, a_work, b, b_work)] = (float)slowdown;
    return STRETTO_OK;
}

/* The side that ends first runs beside the other all the time; the other goes on alone, at full speed, once it has
 * ended. From solo_l = end_s / slowdown_l + (end_l - end_s). */
void st_cost_slowdowns_of_pair(const double solo[2], const double end[2], double slowdown[2]) {
    unsigned s = end[0] <= end[1] ? 0 : 1, l = 1 - s;
    double done_beside = solo[l] - (end[l] - end[s]);
    slowdown[s] = end[s] / solo[s];
    slowdown[l] = done_beside > 0 ? end[s] / done_beside : slowdown[s];
}

bool st_costs_share_core(const st_costs *costs, uint32_t x, uint32_t y) {
    const st_cost_unit *a = &costs->units[x], *b = &costs->units[y];
    for (uint32_t i = 0; i < a->n_cores; i++) {
        for (uint32_t j = 0; j < b->n_cores; j++) {
            if (a->cores[i] == b->cores[j]) return true;
        }
    }
    return false;
}

/* ---- what a schedule needs of a table ---- */

/* Streams whose KV is kept on a schedule's unit. */
static uint64_t streams_on(const st_schedule *s, uint32_t unit) {
    if (s->kind != ST_SCHEDULE_REPLICAS) return s->streams;
    return s->streams / s->n_units + (unit < s->streams % s->n_units);
}

static bool runs_on(const st_schedule *s, uint32_t chunk, uint32_t unit) {
    if (s->kind == ST_SCHEDULE_REPLICAS) return true;
    return s->chunks[chunk].unit == unit || (s->kind == ST_SCHEDULE_HANDOVER && s->prompt_unit == unit);
}

static bool is_draft_unit(const st_schedule *s, uint32_t unit) {
    return s->draft == ST_DRAFT_MODEL && s->draft_unit == unit;
}

/* KV of so many streams of so many tokens; UINT64_MAX where that is beyond any number. */
static uint64_t kv_need(uint64_t streams, uint64_t tokens, uint64_t token_bytes) {
    uint64_t bytes;
    return __builtin_mul_overflow(streams, tokens, &bytes) || __builtin_mul_overflow(bytes, token_bytes, &bytes)
               ? UINT64_MAX
               : bytes;
}

uint64_t st_bytes_sum(uint64_t a, uint64_t b) {
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

uint64_t st_costs_chunk_bytes(const st_costs *costs, uint32_t chunk, uint64_t positions) {
    const st_cost_chunk *c = &costs->chunks[chunk];
    return st_bytes_sum(c->weight_bytes, kv_need(1, positions, c->kv_bytes));
}

static bool has_room(const st_cost_memory *memory, uint64_t bytes) {
    return memory->bytes == 0 || bytes <= memory->bytes;
}

bool st_costs_room(const st_costs *costs, uint32_t unit, uint64_t bytes) {
    const uint32_t memory = costs->units[unit].memory;
    return memory == ST_COST_NONE || has_room(&costs->memories[memory], bytes);
}

void st_costs_memory(const st_costs *costs, const st_schedule *s, const uint32_t *unit_of, uint64_t tokens,
                     uint64_t *need) {
    memset(need, 0, (costs->n_memories + costs->n_units) * sizeof *need);
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        const st_cost_chunk *chunk = &costs->chunks[c];
        bool kept[2 * ST_PLAN_UNITS_MAX] = {false}; /* the chunk's weights are there */
        for (uint32_t u = 0; u < s->n_units; u++) {
            if (is_draft_unit(s, u) || !runs_on(s, c, u)) continue;
            uint32_t memory = costs->units[unit_of[u]].memory;
            uint32_t at = memory == ST_COST_NONE ? costs->n_memories + unit_of[u] : memory;
            bool shares_kv = kept[at] && s->kind == ST_SCHEDULE_HANDOVER;
            if (!kept[at]) need[at] = st_bytes_sum(need[at], chunk->weight_bytes);
            if (!shares_kv) need[at] = st_bytes_sum(need[at], kv_need(streams_on(s, u), tokens, chunk->kv_bytes));
            kept[at] = true;
        }
    }
}

static int check_cores(const st_costs *costs, const st_schedule *s, const uint32_t *unit_of, stretto_error *err) {
    for (uint32_t i = 0; i < s->n_units; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (st_costs_share_core(costs, unit_of[i], unit_of[j]))
                return st_fail(err, STRETTO_E_INPUT, "%s and %s share a core, so they cannot run side by side",
                               s->units[j], s->units[i]);
        }
    }
    return STRETTO_OK;
}

static int check_known(const st_costs *costs, const st_schedule *s, const uint32_t *unit_of, stretto_error *err) {
    for (uint32_t u = 0; u < s->n_units; u++) {
        const st_cost_unit *unit = &costs->units[unit_of[u]];
        if (is_draft_unit(s, u)) {
            if (unit->draft_ns > 0) continue;
            return st_fail(err, STRETTO_E_INPUT, "%s has no \"draft_ns\": what a draft model's token costs there",
                           unit->name);
        }
        for (uint32_t c = 0; c < s->n_chunks; c++) {
            if (runs_on(s, c, u) && st_costs_curve(costs, c, unit_of[u], ST_WORK_DECODE)->n == 0)
                return st_fail(err, STRETTO_E_INPUT, "no cost is known of chunk %s on %s", costs->chunks[c].name,
                               unit->name);
        }
    }
    return STRETTO_OK;
}

static int check_memory(const st_costs *costs, const st_schedule *s, const uint32_t *unit_of, uint64_t tokens,
                        stretto_error *err) {
    uint64_t need[2 * ST_PLAN_UNITS_MAX];
    st_costs_memory(costs, s, unit_of, tokens, need);
    for (uint32_t m = 0; m < costs->n_memories; m++) {
        const st_cost_memory *memory = &costs->memories[m];
        if (has_room(memory, need[m])) continue;
        return st_fail(err, STRETTO_E_INPUT,
                       "too little memory: %.1f MB of weights and KV would be needed in %s, which has %.1f MB",
                       (double)need[m] / 1e6, memory->name, (double)memory->bytes / 1e6);
    }
    return STRETTO_OK;
}

int st_costs_fit(const st_costs *costs, const st_schedule *s, uint64_t tokens, uint32_t *unit_of, stretto_error *err) {
    const char *names[ST_PLAN_UNITS_MAX];
    for (uint32_t u = 0; u < costs->n_units; u++) names[u] = costs->units[u].name;
    int code = st_schedule_check(s, err);
    if (!code) code = st_schedule_bind(s, costs->n_chunks, names, costs->n_units, unit_of, err);
    if (!code) code = check_cores(costs, s, unit_of, err);
    if (!code) code = check_known(costs, s, unit_of, err);
    return code ? code : check_memory(costs, s, unit_of, tokens, err);
}
