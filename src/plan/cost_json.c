/* SPDX-License-Identifier: MIT */
#include "plan/cost.h"

#include "json/build.h"
#include "json/read.h"

#include <string.h>

#define SLOWDOWN_ENTRIES (1u << 20)     /* of a table, */
#define SLOWDOWN_CELLS (1u << 27)       /* that they stand for in all: a second's work, */
#define SLOWDOWN_BYTES_MAX (1ull << 30) /* and what those of chunks take in memory */

typedef struct reader {
    st_json_in *in;
    st_costs *out;
} reader;

static double maybe_ns(reader *r, const st_json_value *object, const char *key) {
    return st_json_has(object, key) ? st_json_number(r->in, object, key, 0, ST_COST_NS_MAX) : 0;
}

static uint64_t maybe_bytes(reader *r, const st_json_value *object, const char *key) {
    return st_json_has(object, key) ? st_json_integer(r->in, object, key, 0, ST_COST_BYTES_MAX) : 0;
}

/* ---- names ---- */

static uint32_t unit_named(reader *r, const st_json_value *object, const char *key) {
    const char *names[ST_PLAN_UNITS_MAX + 1];
    for (uint32_t u = 0; u < r->out->n_units; u++) names[u] = r->out->units[u].name;
    names[r->out->n_units] = NULL;
    return st_json_word(r->in, object, key, names);
}

static uint32_t chunk_named(reader *r, const st_json_value *object, const char *key) {
    const char *names[ST_PLAN_CHUNKS_MAX + 1];
    for (uint32_t c = 0; c < r->out->n_chunks; c++) names[c] = r->out->chunks[c].name;
    names[r->out->n_chunks] = NULL;
    return st_json_word(r->in, object, key, names);
}

/* ---- what there is ---- */

/* In the model's order, without a gap; a chunk before this one that does not say its layers has one at least. */
static void check_layers(reader *r, const st_json_value *layers, uint32_t c) {
    const st_cost_chunk *chunk = &r->out->chunks[c];
    uint32_t unknown = 0;
    while (unknown < c && !r->out->chunks[c - 1 - unknown].has_layers) unknown++;
    uint32_t least = unknown + (unknown < c ? r->out->chunks[c - 1 - unknown].last + 1 : 0);
    if (r->in->code) return;
    if (chunk->last < chunk->first)
        st_json_fail(r->in, layers, "chunk \"%s\" has layers %u to %u: the first comes after the last", chunk->name,
                     chunk->first, chunk->last);
    else if (chunk->first < least || (chunk->first > least && unknown == 0))
        st_json_fail(r->in, layers, "chunk \"%s\" has layers %u to %u, expected them to begin at %u%s", chunk->name,
                     chunk->first, chunk->last, least, unknown ? " or later" : "");
}

static void read_layers(reader *r, const st_json_value *item, uint32_t c) {
    st_cost_chunk *chunk = &r->out->chunks[c];
    st_json_value layers = st_json_maybe(r->in, item, "layers", JSON_ARRAY);
    if (!layers.json) return;
    if (st_json_size(r->in, &layers, 2) != 2) {
        st_json_fail(r->in, &layers, "chunk \"%s\": expected the first and the last layer, as in [0, 9]", chunk->name);
        return;
    }
    st_json_value first = st_json_item(r->in, &layers, 0, JSON_INTEGER);
    st_json_value last = st_json_item(r->in, &layers, 1, JSON_INTEGER);
    chunk->first = (uint32_t)st_json_as_integer(r->in, &first, 0, UINT16_MAX);
    chunk->last = (uint32_t)st_json_as_integer(r->in, &last, 0, UINT16_MAX);
    check_layers(r, &layers, c);
    chunk->has_layers = true;
}

static void read_chunks(reader *r, const st_json_value *list) {
    static const char *const keys[] = {"name", "layers", "weight_bytes", "kv_bytes_per_token", NULL};
    for (uint32_t c = 0; c < r->out->n_chunks && !r->in->code; c++) {
        st_cost_chunk *chunk = &r->out->chunks[c];
        st_json_value item = st_json_item(r->in, list, c, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        st_json_string(r->in, &item, "name", chunk->name, sizeof chunk->name);
        if (!r->in->code && st_costs_chunk(r->out, chunk->name) != c)
            st_json_fail(r->in, &item, "chunk \"%s\" is listed twice", chunk->name);
        chunk->weight_bytes = maybe_bytes(r, &item, "weight_bytes");
        chunk->kv_bytes = maybe_bytes(r, &item, "kv_bytes_per_token");
        read_layers(r, &item, c);
    }
}

static void read_memories(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"name", "bytes", NULL};
    st_json_value list = st_json_maybe(r->in, top, "memories", JSON_ARRAY);
    r->out->n_memories = (uint32_t)st_json_size(r->in, &list, r->out->n_units);
    for (uint32_t m = 0; m < r->out->n_memories && !r->in->code; m++) {
        st_json_value item = st_json_item(r->in, &list, m, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        st_json_string(r->in, &item, "name", r->out->memories[m].name, ST_PLAN_NAME);
        r->out->memories[m].bytes = maybe_bytes(r, &item, "bytes");
        for (uint32_t i = 0; i < m; i++) {
            if (!r->in->code && strcmp(r->out->memories[i].name, r->out->memories[m].name) == 0)
                st_json_fail(r->in, &item, "memory \"%s\" is listed twice", r->out->memories[m].name);
        }
    }
}

static void read_cores(reader *r, const st_json_value *item, st_cost_unit *unit) {
    st_json_value list = st_json_maybe(r->in, item, "cores", JSON_ARRAY);
    unit->n_cores = (uint32_t)st_json_size(r->in, &list, ST_COST_CORES_MAX);
    for (uint32_t i = 0; i < unit->n_cores && !r->in->code; i++) {
        st_json_value core = st_json_item(r->in, &list, i, JSON_INTEGER);
        unit->cores[i] = (uint16_t)st_json_as_integer(r->in, &core, 0, UINT16_MAX);
    }
}

static void read_unit_memory(reader *r, const st_json_value *item, st_cost_unit *unit) {
    if (!st_json_has(item, "memory")) return;
    const char *names[ST_PLAN_UNITS_MAX + 1];
    for (uint32_t m = 0; m < r->out->n_memories; m++) names[m] = r->out->memories[m].name;
    names[r->out->n_memories] = NULL;
    unit->memory = st_json_word(r->in, item, "memory", names);
}

static void read_units(reader *r, const st_json_value *list) {
    static const char *const keys[] = {"name",      "cores",    "threads",       "memory", "dispatch_ns",
                                       "choose_ns", "draft_ns", "draft_read_ns", NULL};
    for (uint32_t u = 0; u < r->out->n_units && !r->in->code; u++) {
        st_cost_unit *unit = &r->out->units[u];
        st_json_value item = st_json_item(r->in, list, u, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        st_json_string(r->in, &item, "name", unit->name, sizeof unit->name);
        if (!r->in->code && st_costs_unit(r->out, unit->name) != u)
            st_json_fail(r->in, &item, "unit \"%s\" is listed twice", unit->name);
        read_cores(r, &item, unit);
        read_unit_memory(r, &item, unit);
        if (st_json_has(&item, "threads"))
            unit->n_threads = (uint32_t)st_json_integer(r->in, &item, "threads", 1, UINT16_MAX);
        unit->dispatch_ns = maybe_ns(r, &item, "dispatch_ns");
        if (st_json_has(&item, "choose_ns")) unit->choose_ns = maybe_ns(r, &item, "choose_ns");
        unit->draft_ns = maybe_ns(r, &item, "draft_ns");
        unit->draft_read_ns = maybe_ns(r, &item, "draft_read_ns");
    }
}

/* ---- what it costs ---- */

/* A list of [tokens, ns], or, for one token, ns alone. */
static void read_curve(reader *r, const st_json_value *item, const char *key, st_cost_curve *curve) {
    if (!st_json_has(item, key)) return;
    if (json_is_number(json_object_get(item->json, key))) {
        st_cost_curve_add(curve, 1, st_json_number(r->in, item, key, 1, ST_COST_NS_MAX));
        return;
    }
    st_json_value list = st_json_maybe(r->in, item, key, JSON_ARRAY);
    size_t n = st_json_size(r->in, &list, ST_COST_POINTS_MAX);
    for (size_t i = 0; i < n && !r->in->code; i++) {
        st_json_value pair = st_json_item(r->in, &list, i, JSON_ARRAY);
        if (st_json_size(r->in, &pair, 2) != 2) {
            st_json_fail(r->in, &pair, "expected tokens and nanoseconds, as in [64, 31000000]");
            return;
        }
        st_json_value tokens = st_json_item(r->in, &pair, 0, JSON_INTEGER);
        st_json_value ns = st_json_item(r->in, &pair, 1, JSON_REAL);
        uint32_t count = (uint32_t)st_json_as_integer(r->in, &tokens, 1, ST_COST_TOKENS_MAX);
        double value = ns.json ? json_number_value(ns.json) : 0;
        if (!r->in->code && !(value >= 1 && value <= ST_COST_NS_MAX))
            st_json_fail(r->in, &ns, "expected nanoseconds from 1 to %g, found %g", ST_COST_NS_MAX, value);
        uint32_t before = curve->n;
        st_cost_curve_add(curve, count, value);
        if (!r->in->code && curve->n == before) st_json_fail(r->in, &pair, "%u tokens are listed twice", count);
    }
}

static void read_costs(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"chunk", "unit", "decode_ns", "prefill_ns", NULL};
    st_json_value list = st_json_list(r->in, top, "costs");
    size_t n = st_json_size(r->in, &list, (size_t)ST_PLAN_CHUNKS_MAX * ST_PLAN_UNITS_MAX);
    for (size_t i = 0; i < n && !r->in->code; i++) {
        st_json_value item = st_json_item(r->in, &list, i, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        uint32_t c = chunk_named(r, &item, "chunk"), u = unit_named(r, &item, "unit");
        if (r->in->code) return;
        if (st_costs_curve(r->out, c, u, ST_WORK_DECODE)->n > 0) {
            st_json_fail(r->in, &item, "chunk \"%s\" on \"%s\" is listed twice", r->out->chunks[c].name,
                         r->out->units[u].name);
            return;
        }
        read_curve(r, &item, "decode_ns", st_costs_curve(r->out, c, u, ST_WORK_DECODE));
        read_curve(r, &item, "prefill_ns", st_costs_curve(r->out, c, u, ST_WORK_PREFILL));
        if (!r->in->code && st_costs_curve(r->out, c, u, ST_WORK_DECODE)->n == 0)
            st_json_fail(r->in, &item, "\"decode_ns\" is missing: expected nanoseconds, or a list of [tokens, ns]");
    }
}

/* The units that a key allows: one, or all where it is absent. */
typedef struct range {
    uint32_t first, end;
} range;

static range unit_range(reader *r, const st_json_value *item, const char *key) {
    if (!st_json_has(item, key)) return (range){0, r->out->n_units};
    uint32_t u = unit_named(r, item, key);
    return (range){u, u + 1};
}

static range work_range(reader *r, const st_json_value *item, const char *key) {
    if (!st_json_has(item, key)) return (range){0, ST_WORKS};
    uint32_t w = st_json_word(r->in, item, key, st_work_names);
    return (range){w, w + 1};
}

static range chunk_range(reader *r, const st_json_value *item, const char *key) {
    if (!st_json_has(item, key)) return (range){0, r->out->n_chunks};
    uint32_t c = chunk_named(r, item, key);
    return (range){c, c + 1};
}

static void read_transfers(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"from", "to", "fixed_ns", "ns_per_token", "kv_ns_per_token", NULL};
    st_json_value list = st_json_maybe(r->in, top, "transfers", JSON_ARRAY);
    size_t n = st_json_size(r->in, &list, (size_t)ST_PLAN_UNITS_MAX * ST_PLAN_UNITS_MAX);
    for (size_t i = 0; i < n && !r->in->code; i++) {
        st_json_value item = st_json_item(r->in, &list, i, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        range from = unit_range(r, &item, "from"), to = unit_range(r, &item, "to");
        st_cost_transfer transfer = {maybe_ns(r, &item, "fixed_ns"), maybe_ns(r, &item, "ns_per_token"),
                                     maybe_ns(r, &item, "kv_ns_per_token")};
        for (uint32_t x = from.first; x < from.end && !r->in->code; x++) {
            for (uint32_t y = to.first; y < to.end; y++) {
                if (x != y) r->out->transfers[(size_t)x * r->out->n_units + y] = transfer;
            }
        }
    }
}

typedef struct slowdown_item {
    range x, y, a, b, a_work, b_work;
    bool of_chunks;
    double slowdown;
} slowdown_item;

static void set_chunk_slowdowns(reader *r, const slowdown_item *s, uint32_t x, uint32_t y) {
    for (uint32_t v = s->a_work.first; v < s->a_work.end; v++) {
        for (uint32_t w = s->b_work.first; w < s->b_work.end; w++) {
            for (uint32_t a = s->a.first; a < s->a.end; a++) {
                for (uint32_t b = s->b.first; b < s->b.end && !r->in->code; b++)
                    r->in->code = st_cost_set_slowdown(r->out, x, a, v, y, b, w, s->slowdown, r->in->err);
            }
        }
    }
}

static void set_unit_slowdowns(reader *r, const slowdown_item *s, uint32_t x, uint32_t y) {
    for (uint32_t v = s->a_work.first; v < s->a_work.end; v++) {
        for (uint32_t w = s->b_work.first; w < s->b_work.end; w++)
            *st_cost_unit_slowdown(r->out, x, v, y, w) = s->slowdown;
    }
}

static uint64_t size_of(range of) {
    return of.end - of.first;
}

/* Short entries can stand for more than anybody has: they are counted before they are spread out. */
static void count_cells(reader *r, const st_json_value *item, const slowdown_item *s, uint64_t *cells) {
    uint64_t of_pair = size_of(s->a_work) * size_of(s->b_work) * (s->of_chunks ? size_of(s->a) * size_of(s->b) : 1);
    *cells += size_of(s->x) * size_of(s->y) * of_pair;
    if (*cells > SLOWDOWN_CELLS)
        st_json_fail(r->in, item, "with this entry there are more than %u slowdowns: too many", SLOWDOWN_CELLS);
}

/* The same of what those of chunks, which are kept for two units at a time, take in memory. */
static void count_bytes(reader *r, const st_json_value *item, uint32_t x, uint32_t y, uint64_t *bytes) {
    uint64_t n = (uint64_t)r->out->n_chunks * ST_WORKS;
    if (!r->out->chunk_slowdowns[(size_t)x * r->out->n_units + y]) *bytes += n * n * sizeof(float);
    if (*bytes > SLOWDOWN_BYTES_MAX)
        st_json_fail(r->in, item, "slowdowns of %u chunks beside each other on so many of %u units: too many",
                     r->out->n_chunks, r->out->n_units);
}

static void read_slowdowns(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"unit", "beside",      "chunk",    "beside_chunk",
                                       "work", "beside_work", "slowdown", NULL};
    st_json_value list = st_json_maybe(r->in, top, "slowdowns", JSON_ARRAY);
    size_t n = st_json_size(r->in, &list, SLOWDOWN_ENTRIES);
    uint64_t cells = 0, bytes = 0;
    for (size_t i = 0; i < n && !r->in->code; i++) {
        st_json_value item = st_json_item(r->in, &list, i, JSON_OBJECT);
        st_json_only(r->in, &item, keys);
        slowdown_item s = {
            .x = unit_range(r, &item, "unit"),
            .y = unit_range(r, &item, "beside"),
            .a = chunk_range(r, &item, "chunk"),
            .b = chunk_range(r, &item, "beside_chunk"),
            .a_work = work_range(r, &item, "work"),
            .b_work = work_range(r, &item, "beside_work"),
            .of_chunks = st_json_has(&item, "chunk") || st_json_has(&item, "beside_chunk"),
            .slowdown = st_json_number(r->in, &item, "slowdown", ST_COST_SLOWDOWN_LEAST, ST_COST_SLOWDOWN_MOST),
        };
        count_cells(r, &item, &s, &cells);
        for (uint32_t x = s.x.first; x < s.x.end && !r->in->code; x++) {
            for (uint32_t y = s.y.first; y < s.y.end; y++) {
                if (x == y) continue;
                if (s.of_chunks) count_bytes(r, &item, x, y, &bytes);
                if (s.of_chunks) set_chunk_slowdowns(r, &s, x, y);
                if (!s.of_chunks) set_unit_slowdowns(r, &s, x, y);
            }
        }
    }
}

static void read_host(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"choose_ns", "text_ns", "lookup_ns", NULL};
    static const char *const drafts[] = {"lookup", "model", NULL};
    st_json_value host = st_json_maybe(r->in, top, "host", JSON_OBJECT);
    st_json_only(r->in, &host, keys);
    r->out->host =
        (st_cost_host){maybe_ns(r, &host, "choose_ns"), maybe_ns(r, &host, "text_ns"), maybe_ns(r, &host, "lookup_ns")};
    st_json_value acceptance = st_json_maybe(r->in, top, "acceptance", JSON_OBJECT);
    st_json_only(r->in, &acceptance, drafts);
    for (unsigned i = ST_DRAFT_LOOKUP; i < ST_DRAFTS; i++) {
        if (st_json_has(&acceptance, st_draft_names[i]))
            r->out->acceptance[i] = st_json_number(r->in, &acceptance, st_draft_names[i], 0, 1);
    }
}

static void read_table(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"schema",  "title",        "note",      "depth",     "chunks", "memories",
                                       "units",   "costs",        "transfers", "slowdowns", "host",   "acceptance",
                                       "version", "command_line", "time",      "measured",  NULL};
    static const char *const schemas[] = {ST_COSTS_SCHEMA, NULL};
    st_json_word(r->in, top, "schema", schemas);
    st_json_only(r->in, top, keys);
    st_json_value chunks = st_json_list(r->in, top, "chunks"), units = st_json_list(r->in, top, "units");
    size_t n_chunks = st_json_size(r->in, &chunks, ST_PLAN_CHUNKS_MAX);
    size_t n_units = st_json_size(r->in, &units, ST_PLAN_UNITS_MAX);
    if (!r->in->code && n_chunks == 0) st_json_fail(r->in, &chunks, "expected at least one chunk");
    if (!r->in->code && n_units == 0) st_json_fail(r->in, &units, "expected at least one unit");
    if (!r->in->code) r->in->code = st_costs_create(r->out, (uint32_t)n_chunks, (uint32_t)n_units, r->in->err);
    if (r->in->code) return;
    if (st_json_has(top, "title")) st_json_string(r->in, top, "title", r->out->title, sizeof r->out->title);
    if (st_json_has(top, "measured")) st_json_string(r->in, top, "measured", r->out->measured, sizeof r->out->measured);
    if (st_json_has(top, "depth")) r->out->depth = (uint32_t)st_json_integer(r->in, top, "depth", 0, 1u << 24);
    read_chunks(r, &chunks);
    read_memories(r, top);
    read_units(r, &units);
    read_costs(r, top);
    read_transfers(r, top);
    read_slowdowns(r, top);
    read_host(r, top);
}

void st_costs_read(st_json_in *in, const st_json_value *object, st_costs *out) {
    *out = (st_costs){0};
    reader r = {.in = in, .out = out};
    read_table(&r, object);
    if (in->code) st_costs_free(out);
}

int st_costs_parse(st_costs *costs, const char *text, size_t len, stretto_error *err) {
    st_json_in in;
    st_json_value top = st_json_begin(&in, text, len, err);
    st_costs_read(&in, &top, costs);
    return st_json_end(&in);
}
