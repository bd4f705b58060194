/* SPDX-License-Identifier: MIT
 * A cost table from what `stretto probe --json` wrote (docs/PROBE-JSON.md). */
#include "plan/cost.h"

#include "base/error.h"
#include "json/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 100000u

/* One row of the probe. b is absent in a batched one. */
typedef struct probe_row {
    char name[2][ST_PLAN_NAME], unit[2][ST_PLAN_NAME];
    double solo[2], slowdown[2], batched_ns, dispatch_ns;
    uint64_t bytes[2];
    uint32_t k;
    unsigned n_sides;
} probe_row;

/* What a chunk costs alone, in steps of the whole model. */
typedef struct probe_cost {
    char chunk[ST_PLAN_NAME], unit[ST_PLAN_NAME];
    enum st_work work;
    uint32_t tokens;
    double ns;
    uint64_t weight_bytes, kv_bytes;
} probe_cost;

/* Names in the order in which they come. */
typedef struct names {
    char (*list)[ST_PLAN_NAME];
    uint32_t n, most;
} names;

static bool names_add(names *set, const char *name) {
    for (uint32_t i = 0; i < set->n; i++) {
        if (strcmp(set->list[i], name) == 0) return true;
    }
    if (set->n == set->most) return false;
    snprintf(set->list[set->n++], ST_PLAN_NAME, "%s", name);
    return true;
}

/* False for a row that was not measured. */
static bool read_row(st_json_in *in, const st_json_value *item, probe_row *row) {
    static const char *const keys[2][5] = {{"a", "unit_a", "solo_a_ns", "slowdown_a", "bytes_a"},
                                           {"b", "unit_b", "solo_b_ns", "slowdown_b", "bytes_b"}};
    *row = (probe_row){.n_sides = st_json_has(item, "b") ? 2 : 1};
    if (!st_json_has(item, "solo_a_ns")) return false;
    for (unsigned i = 0; i < row->n_sides; i++) {
        st_json_string(in, item, keys[i][0], row->name[i], ST_PLAN_NAME);
        st_json_string(in, item, keys[i][1], row->unit[i], ST_PLAN_NAME);
        row->solo[i] = st_json_number(in, item, keys[i][2], 1, ST_COST_NS_MAX);
        if (row->n_sides == 2) row->slowdown[i] = st_json_number(in, item, keys[i][3], 1e-3, 1e6);
        if (st_json_has(item, keys[i][4])) row->bytes[i] = st_json_integer(in, item, keys[i][4], 0, ST_COST_BYTES_MAX);
    }
    if (strncmp(row->unit[1], "process:", 8) == 0) return false; /* the cores of another unit, in another process */
    if (row->n_sides == 1) {
        row->k = (uint32_t)st_json_integer(in, item, "k", 2, ST_COST_TOKENS_MAX);
        row->batched_ns = st_json_number(in, item, "batched_ns", 1, ST_COST_NS_MAX);
    }
    return in->code == STRETTO_OK;
}

static void read_cost(st_json_in *in, const st_json_value *item, probe_cost *cost) {
    static const char *const works[] = {"decode", "prefill", NULL};
    *cost = (probe_cost){0};
    st_json_string(in, item, "chunk", cost->chunk, ST_PLAN_NAME);
    st_json_string(in, item, "unit", cost->unit, ST_PLAN_NAME);
    cost->work = st_json_word(in, item, "work", works) ? ST_WORK_PREFILL : ST_WORK_DECODE;
    cost->tokens = (uint32_t)st_json_integer(in, item, "tokens", 1, ST_COST_TOKENS_MAX);
    cost->ns = st_json_number(in, item, "ns", 1, ST_COST_NS_MAX);
    if (st_json_has(item, "weight_bytes"))
        cost->weight_bytes = st_json_integer(in, item, "weight_bytes", 0, ST_COST_BYTES_MAX);
    if (st_json_has(item, "kv_bytes_per_token"))
        cost->kv_bytes = st_json_integer(in, item, "kv_bytes_per_token", 0, ST_COST_BYTES_MAX);
}

static int order_names(const void *a, const void *b) {
    long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* The number that is spelt so, as chunks are: "7", neither "07" nor "+7". 0: none. */
static uint32_t number_of(const char *name, uint32_t most) {
    char spelt[ST_PLAN_NAME];
    long number = strtol(name, NULL, 10);
    if (number < 1 || number > (long)most) return 0;
    snprintf(spelt, sizeof spelt, "%ld", number);
    return strcmp(name, spelt) == 0 ? (uint32_t)number : 0;
}

/* Chunks in the model's order, with those between that were not measured where all names are numbers. */
static void fill_gaps(names *chunks) {
    qsort(chunks->list, chunks->n, sizeof *chunks->list, order_names);
    uint32_t last = 0;
    for (uint32_t i = 0; i < chunks->n; i++) {
        last = number_of(chunks->list[i], chunks->most);
        if (last == 0) return;
    }
    chunks->n = last;
    for (uint32_t i = 0; i < chunks->n; i++) snprintf(chunks->list[i], ST_PLAN_NAME, "%u", i + 1);
}

/* "cpu:0-2+4": cores 0, 1, 2 and 4, so that units that share one are known. Other names have none. */
static void cores_of_name(st_cost_unit *unit) {
    if (strncmp(unit->name, "cpu:", 4) != 0) return;
    for (const char *at = unit->name + 4; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at) return;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long core = first; core <= last && core <= UINT16_MAX && unit->n_cores < ST_COST_CORES_MAX;
             core++)
            unit->cores[unit->n_cores++] = (uint16_t)core;
        at = *end == '+' ? end + 1 : end;
        if (at == end && *end) return;
    }
}

/* A cost measured again: the mean would mix arrangements, so the smaller, which less disturbed. */
static void note_cost(st_costs *costs, uint32_t c, uint32_t u, uint32_t tokens, double ns) {
    st_cost_curve *curve = st_costs_curve(costs, c, u, ST_WORK_DECODE);
    for (uint32_t i = 0; i < curve->n; i++) {
        if (curve->points[i].tokens == tokens && curve->points[i].ns <= ns) return;
    }
    st_cost_curve_add(curve, tokens, ns);
}

/* What a table may say. */
static double within_table(double slowdown) {
    if (slowdown < ST_COST_SLOWDOWN_LEAST) return ST_COST_SLOWDOWN_LEAST;
    return slowdown < ST_COST_SLOWDOWN_MOST ? slowdown : ST_COST_SLOWDOWN_MOST;
}

/* Slowdowns of the pair, which stand for all pairs of the two units where others were not measured. */
static int note_slowdowns(st_costs *costs, const probe_row *row, const uint32_t c[2], const uint32_t u[2],
                          uint32_t *seen, stretto_error *err) {
    double end[2] = {row->solo[0] * row->slowdown[0], row->solo[1] * row->slowdown[1]}, slowdown[2];
    st_cost_slowdowns_of_pair(row->solo, end, slowdown);
    for (unsigned i = 0; i < 2; i++) {
        unsigned other = 1 - i;
        slowdown[i] = within_table(slowdown[i]);
        uint32_t *n = &seen[u[i] * costs->n_units + u[other]];
        double *any = st_cost_unit_slowdown(costs, u[i], ST_WORK_DECODE, u[other], ST_WORK_DECODE);
        *any = (*any * *n + slowdown[i]) / (*n + 1);
        ++*n;
        int code = st_cost_set_slowdown(costs, u[i], c[i], ST_WORK_DECODE, u[other], c[other], ST_WORK_DECODE,
                                        slowdown[i], err);
        if (code) return code;
    }
    return STRETTO_OK;
}

/* times: where nothing else says what chunks cost alone. */
static int note_row(st_costs *costs, const probe_row *row, bool times, uint32_t *seen, stretto_error *err) {
    uint32_t c[2] = {0}, u[2] = {0};
    for (unsigned i = 0; i < row->n_sides; i++) {
        c[i] = st_costs_chunk(costs, row->name[i]);
        u[i] = st_costs_unit(costs, row->unit[i]);
        if (times && row->bytes[i]) costs->chunks[c[i]].weight_bytes = row->bytes[i];
        if (times) note_cost(costs, c[i], u[i], 1, row->solo[i]);
    }
    if (times && row->n_sides == 1) note_cost(costs, c[0], u[0], row->k, row->batched_ns);
    bool beside = row->n_sides == 2 && u[0] != u[1] && !st_costs_share_core(costs, u[0], u[1]);
    return beside ? note_slowdowns(costs, row, c, u, seen, err) : STRETTO_OK;
}

/* Prefill beside prefill, and beside decode, is taken to be slowed as decode is: a probe measures decode. */
static void spread_works(st_costs *costs) {
    for (uint32_t x = 0; x < costs->n_units; x++) {
        for (uint32_t y = 0; y < costs->n_units; y++) {
            double decode = *st_cost_unit_slowdown(costs, x, ST_WORK_DECODE, y, ST_WORK_DECODE);
            for (unsigned v = 0; v < ST_WORKS; v++) {
                for (unsigned w = 0; w < ST_WORKS; w++) *st_cost_unit_slowdown(costs, x, v, y, w) = decode;
            }
        }
    }
}

typedef struct probe_reader {
    st_json_in in;
    st_costs *costs;
    probe_row *rows; /* [n_rows] owned */
    size_t n_rows;
    probe_cost *alone; /* [n_alone] owned */
    size_t n_alone;
    char chunk_names[ST_PLAN_CHUNKS_MAX][ST_PLAN_NAME], unit_names[ST_PLAN_UNITS_MAX][ST_PLAN_NAME];
    names chunks, units;
    uint32_t threads[ST_PLAN_UNITS_MAX]; /* of each of units; 0: unknown */
} probe_reader;

static void read_rows(probe_reader *r, const st_json_value *top) {
    st_json_value list = st_json_list(&r->in, top, "pairs");
    size_t n = st_json_size(&r->in, &list, ROWS_MAX);
    r->rows = calloc(n + 1, sizeof *r->rows);
    if (!r->rows && !r->in.code) r->in.code = st_fail(r->in.err, STRETTO_E_MEMORY, "out of memory for %zu pairs", n);
    for (size_t i = 0; i < n && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &list, i, JSON_OBJECT);
        probe_row *row = &r->rows[r->n_rows];
        if (!read_row(&r->in, &item, row)) continue;
        r->n_rows++;
        for (unsigned s = 0; s < row->n_sides; s++) {
            if (!names_add(&r->chunks, row->name[s]) || !names_add(&r->units, row->unit[s]))
                st_json_fail(&r->in, &item, "more than %d chunks or %d units", ST_PLAN_CHUNKS_MAX, ST_PLAN_UNITS_MAX);
        }
    }
    if (!r->in.code && r->n_rows == 0) st_json_fail(&r->in, &list, "no pair was measured");
}

/* Older probes have none. */
static void read_alone(probe_reader *r, const st_json_value *top) {
    if (!st_json_has(top, "costs")) return;
    st_json_value list = st_json_list(&r->in, top, "costs");
    size_t n = st_json_size(&r->in, &list, ROWS_MAX);
    r->alone = calloc(n + 1, sizeof *r->alone);
    if (!r->alone && !r->in.code) r->in.code = st_fail(r->in.err, STRETTO_E_MEMORY, "out of memory for %zu costs", n);
    for (; r->n_alone < n && !r->in.code; r->n_alone++) {
        st_json_value item = st_json_item(&r->in, &list, r->n_alone, JSON_OBJECT);
        probe_cost *cost = &r->alone[r->n_alone];
        read_cost(&r->in, &item, cost);
        if (!r->in.code && (!names_add(&r->chunks, cost->chunk) || !names_add(&r->units, cost->unit)))
            st_json_fail(&r->in, &item, "more than %d chunks or %d units", ST_PLAN_CHUNKS_MAX, ST_PLAN_UNITS_MAX);
    }
}

static int note_alone(st_costs *costs, const probe_cost *cost, stretto_error *err) {
    uint32_t c = st_costs_chunk(costs, cost->chunk), u = st_costs_unit(costs, cost->unit);
    costs->chunks[c].weight_bytes = cost->weight_bytes;
    costs->chunks[c].kv_bytes = cost->kv_bytes;
    if (st_cost_curve_add(st_costs_curve(costs, c, u, cost->work), cost->tokens, cost->ns)) return STRETTO_OK;
    return st_fail(err, STRETTO_E_INPUT, "costs: more than %d sizes of calls of chunk %s on %s", ST_COST_POINTS_MAX,
                   cost->chunk, cost->unit);
}

/* How many threads each unit had. Names that no row or cost has are passed over. */
static void read_threads(probe_reader *r, const st_json_value *top) {
    st_json_value list = st_json_maybe(&r->in, top, "units", JSON_ARRAY);
    size_t n = st_json_size(&r->in, &list, ROWS_MAX);
    for (size_t i = 0; i < n && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &list, i, JSON_OBJECT);
        char name[ST_PLAN_NAME];
        st_json_string(&r->in, &item, "name", name, sizeof name);
        uint32_t threads = (uint32_t)st_json_integer(&r->in, &item, "threads", 0, UINT16_MAX);
        for (uint32_t u = 0; u < r->units.n; u++)
            if (strcmp(r->units.list[u], name) == 0) r->threads[u] = threads;
    }
}

static int make_table(probe_reader *r, stretto_error *err) {
    st_costs *costs = r->costs;
    int code = st_costs_create(costs, r->chunks.n, r->units.n, err);
    if (code) return code;
    uint32_t *seen = calloc((size_t)r->units.n * r->units.n, sizeof *seen);
    if (!seen) code = st_fail_memory(err, "a cost table", r->units.n);
    costs->n_memories = 1;
    snprintf(costs->memories[0].name, ST_PLAN_NAME, "host");
    for (uint32_t c = 0; c < r->chunks.n; c++) snprintf(costs->chunks[c].name, ST_PLAN_NAME, "%s", r->chunks.list[c]);
    for (uint32_t u = 0; u < r->units.n; u++) {
        snprintf(costs->units[u].name, ST_PLAN_NAME, "%s", r->units.list[u]);
        cores_of_name(&costs->units[u]);
        costs->units[u].n_threads = r->threads[u];
        if (costs->units[u].n_cores) costs->units[u].memory = 0;
    }
    for (size_t i = 0; i < r->n_alone && !code; i++) code = note_alone(costs, &r->alone[i], err);
    for (size_t i = 0; i < r->n_rows && !code; i++) code = note_row(costs, &r->rows[i], r->n_alone == 0, seen, err);
    if (!code) spread_works(costs);
    free(seen);
    if (code) st_costs_free(costs);
    return code;
}

int st_costs_parse_probe(st_costs *costs, const char *text, size_t len, stretto_error *err) {
    static const char *const schemas[] = {"stretto-probe/1", NULL};
    *costs = (st_costs){0};
    probe_reader *r = calloc(1, sizeof *r);
    if (!r) return st_fail_memory(err, "a probe's rows", sizeof *r);
    r->costs = costs;
    r->chunks = (names){r->chunk_names, 0, ST_PLAN_CHUNKS_MAX};
    r->units = (names){r->unit_names, 0, ST_PLAN_UNITS_MAX};
    st_json_value top = st_json_begin(&r->in, text, len, err);
    st_json_word(&r->in, &top, "schema", schemas);
    read_rows(r, &top);
    if (!r->in.code) read_alone(r, &top);
    if (!r->in.code) fill_gaps(&r->chunks);
    read_threads(r, &top);
    char title[sizeof costs->title] = "";
    if (st_json_has(&top, "title")) st_json_string(&r->in, &top, "title", title, sizeof title);
    uint64_t memory = 0;
    st_json_value host = st_json_maybe(&r->in, &top, "host", JSON_OBJECT);
    if (st_json_has(&host, "memory_bytes")) memory = st_json_integer(&r->in, &host, "memory_bytes", 0, 1ull << 60);
    int code = st_json_end(&r->in);
    if (!code) code = make_table(r, err);
    if (!code) {
        snprintf(costs->title, sizeof costs->title, "%s", title);
        costs->memories[0].bytes = memory;
    }
    free(r->rows);
    free(r->alone);
    free(r);
    return code;
}
