/* SPDX-License-Identifier: MIT */
#include "plan/schedule.h"

#include "json/build.h"
#include "json/read.h"

#include <string.h>

/* ---- reading ---- */

/* What is needed while a schedule is read, and not after. */
typedef struct reader {
    st_json_in in;
    st_schedule *out;
    bool placed[ST_PLAN_CHUNKS_MAX];    /* by number */
    uint32_t later[ST_PLAN_CHUNKS_MAX]; /* the last chunk that this one waits for; itself where there is none */
} reader;

static void read_units(reader *r, const st_json_value *top) {
    st_json_value list = st_json_list(&r->in, top, "units");
    size_t n = st_json_size(&r->in, &list, ST_PLAN_UNITS_MAX);
    for (size_t i = 0; i < n && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &list, i, JSON_STRING);
        st_json_as_string(&r->in, &item, r->out->units[i], ST_PLAN_NAME);
    }
    r->out->n_units = (uint32_t)n;
    if (!r->in.code && n == 0) st_json_fail(&r->in, &list, "expected at least one unit");
}

/* Of each unit in the list's order. */
static void read_threads(reader *r, const st_json_value *top) {
    st_json_value list = st_json_maybe(&r->in, top, "threads", JSON_ARRAY);
    size_t n = st_json_size(&r->in, &list, ST_PLAN_UNITS_MAX);
    if (!list.json || r->in.code) return;
    if (n != r->out->n_units)
        st_json_fail(&r->in, &list, "expected a number for each of %u units, found %zu", r->out->n_units, n);
    for (size_t i = 0; i < n && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &list, i, JSON_INTEGER);
        r->out->threads[i] = (uint32_t)st_json_as_integer(&r->in, &item, 0, UINT16_MAX);
    }
}

/* The unit that a key names, as an index into the list of units. */
static uint32_t read_unit(reader *r, const st_json_value *object, const char *key) {
    const char *names[ST_PLAN_UNITS_MAX + 1];
    for (uint32_t u = 0; u < r->out->n_units; u++) names[u] = r->out->units[u];
    names[r->out->n_units] = NULL;
    return st_json_word(&r->in, object, key, names);
}

static void read_layers(reader *r, const st_json_value *object, st_schedule_chunk *chunk) {
    st_json_value layers = st_json_maybe(&r->in, object, "layers", JSON_ARRAY);
    if (!layers.json) return;
    if (st_json_size(&r->in, &layers, 2) != 2) {
        st_json_fail(&r->in, &layers, "expected the first and the last layer, as in [0, 9]");
        return;
    }
    st_json_value first = st_json_item(&r->in, &layers, 0, JSON_INTEGER);
    st_json_value last = st_json_item(&r->in, &layers, 1, JSON_INTEGER);
    chunk->has_layers = true;
    chunk->first = (uint32_t)st_json_as_integer(&r->in, &first, 0, UINT16_MAX);
    chunk->last = (uint32_t)st_json_as_integer(&r->in, &last, 0, UINT16_MAX);
}

static void read_after(reader *r, const st_json_value *object, uint32_t chunk) {
    st_json_value after = st_json_maybe(&r->in, object, "after", JSON_ARRAY);
    size_t n = st_json_size(&r->in, &after, ST_PLAN_CHUNKS_MAX);
    r->later[chunk] = chunk;
    for (size_t i = 0; i < n && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &after, i, JSON_INTEGER);
        uint32_t other = (uint32_t)st_json_as_integer(&r->in, &item, 1, r->out->n_chunks) - 1;
        if (!r->in.code && other == chunk) st_json_fail(&r->in, &item, "a cycle: chunk %u waits for itself", chunk + 1);
        if (other > r->later[chunk]) r->later[chunk] = other;
    }
}

/* A key that only another schedule has is no wish that may be passed over. */
static void refuse(reader *r, const st_json_value *object, const char *key, const char *why) {
    if (st_json_has(object, key)) st_json_fail(&r->in, object, "\"%s\" has no meaning here: %s", key, why);
}

static void read_chunk(reader *r, const st_json_value *item) {
    static const char *const keys[] = {"chunk", "layers", "unit", "after", NULL};
    st_json_only(&r->in, item, keys);
    uint32_t number = (uint32_t)st_json_integer(&r->in, item, "chunk", 1, ST_PLAN_CHUNKS_MAX);
    if (r->in.code) return;
    if (number > r->out->n_chunks) {
        uint32_t missing = 0;
        while (missing + 1 < r->out->n_chunks && r->placed[missing]) missing++;
        st_json_fail(&r->in, item, "chunk %u of %u: one below it, such as %u, is missing", number, r->out->n_chunks,
                     missing + 1);
        return;
    }
    if (r->placed[number - 1]) {
        st_json_fail(&r->in, item, "chunk %u is listed twice", number);
        return;
    }
    r->placed[number - 1] = true;
    st_schedule_chunk *chunk = &r->out->chunks[number - 1];
    read_layers(r, item, chunk);
    read_after(r, item, number - 1);
    if (r->out->kind != ST_SCHEDULE_REPLICAS) {
        chunk->unit = read_unit(r, item, "unit");
    } else {
        refuse(r, item, "unit", "replicas run all chunks on each unit");
    }
}

/* Chunk c needs what c - 1 made, so waiting for a later one is a cycle, which runs back through all between. */
static void check_cycles(reader *r, const st_json_value *list) {
    for (uint32_t c = 0; c < r->out->n_chunks && !r->in.code; c++) {
        if (r->later[c] == c) continue;
        st_buf text = {0};
        st_buf_printf(&text, "a cycle: chunk %u waits for %u", c + 1, r->later[c] + 1);
        for (uint32_t next = r->later[c]; next > c; next--) st_buf_printf(&text, ", which needs %u", next);
        st_json_fail(&r->in, list, "%s", text.failed ? "a cycle" : text.data);
        st_buf_free(&text);
    }
}

static void read_chunks(reader *r, const st_json_value *top) {
    st_json_value list = st_json_list(&r->in, top, "chunks");
    r->out->n_chunks = (uint32_t)st_json_size(&r->in, &list, ST_PLAN_CHUNKS_MAX);
    if (!r->in.code && r->out->n_chunks == 0)
        st_json_fail(&r->in, &list, "expected a place for each chunk, found none");
    for (uint32_t i = 0; i < r->out->n_chunks && !r->in.code; i++) {
        st_json_value item = st_json_item(&r->in, &list, i, JSON_OBJECT);
        read_chunk(r, &item);
    }
    check_cycles(r, &list);
}

static void read_draft(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"draft", "longest", "unit", "model", NULL};
    st_json_value s = st_json_maybe(&r->in, top, "speculation", JSON_OBJECT);
    if (!s.json) return;
    st_schedule *out = r->out;
    st_json_only(&r->in, &s, keys);
    out->draft = (enum st_draft)st_json_word(&r->in, &s, "draft", st_draft_names);
    if (out->draft != ST_DRAFT_MODEL) {
        refuse(r, &s, "unit", "only a draft model has one");
        refuse(r, &s, "model", "only a draft model has one");
    }
    if (out->draft == ST_DRAFT_NONE) {
        refuse(r, &s, "longest", "there is no draft");
        return;
    }
    out->longest_draft = (uint32_t)st_json_integer(&r->in, &s, "longest", 1, ST_PLAN_DRAFT_MAX);
    if (out->draft != ST_DRAFT_MODEL) return;
    out->draft_unit = read_unit(r, &s, "unit");
    if (st_json_has(&s, "model")) st_json_string(&r->in, &s, "model", out->draft_model, sizeof out->draft_model);
}

static void read_streams(reader *r, const st_json_value *top) {
    st_schedule *out = r->out;
    out->streams = 1;
    out->micro_batch = 256;
    if (st_json_has(top, "streams"))
        out->streams = (uint32_t)st_json_integer(&r->in, top, "streams", 1, ST_PLAN_STREAMS_MAX);
    out->batch = out->kind == ST_SCHEDULE_BATCHED ? out->streams : 1;
    if (st_json_has(top, "batch")) out->batch = (uint32_t)st_json_integer(&r->in, top, "batch", 1, out->streams);
    if (st_json_has(top, "micro_batch"))
        out->micro_batch = (uint32_t)st_json_integer(&r->in, top, "micro_batch", 1, ST_PLAN_MICRO_BATCH_MAX);
    if (st_json_has(top, "pipelined")) out->pipelined = st_json_bool(&r->in, top, "pipelined");
    if (st_json_has(top, "host_beside")) out->host_beside = st_json_bool(&r->in, top, "host_beside");
}

static void read_schedule(reader *r, const st_json_value *top) {
    static const char *const keys[] = {"schema",      "kind",        "model",       "units",     "chunks",
                                       "streams",     "batch",       "micro_batch", "pipelined", "prompt_unit",
                                       "speculation", "host_beside", "note",        "predicted", "workload",
                                       "costs",       "threads",     NULL};
    static const char *const schemas[] = {ST_SCHEDULE_SCHEMA, NULL};
    st_json_word(&r->in, top, "schema", schemas);
    st_json_only(&r->in, top, keys);
    r->out->kind = (enum st_schedule_kind)st_json_word(&r->in, top, "kind", st_schedule_kind_names);
    if (st_json_has(top, "model")) st_json_string(&r->in, top, "model", r->out->model, sizeof r->out->model);
    read_units(r, top);
    read_threads(r, top);
    read_streams(r, top);
    read_chunks(r, top);
    if (r->out->kind == ST_SCHEDULE_HANDOVER)
        r->out->prompt_unit = read_unit(r, top, "prompt_unit");
    else
        refuse(r, top, "prompt_unit", "only a handover has one");
    read_draft(r, top);
}

int st_schedule_parse(st_schedule *out, const char *text, size_t len, stretto_error *err) {
    *out = (st_schedule){0};
    reader r = {.out = out};
    st_json_value top = st_json_begin(&r.in, text, len, err);
    read_schedule(&r, &top);
    int code = st_json_end(&r.in);
    return code ? code : st_schedule_check(out, err);
}

/* ---- writing ---- */

static json_t *chunk_json(const st_schedule *s, uint32_t c) {
    const st_schedule_chunk *chunk = &s->chunks[c];
    json_t *object = json_object();
    st_json_set(&object, "chunk", st_json_count(c + 1));
    if (chunk->has_layers) st_json_set(&object, "layers", json_pack("[i, i]", (int)chunk->first, (int)chunk->last));
    if (s->kind != ST_SCHEDULE_REPLICAS) st_json_set(&object, "unit", st_json_text(s->units[chunk->unit]));
    return object;
}

static json_t *draft_json(const st_schedule *s) {
    json_t *object = json_object();
    st_json_set(&object, "draft", st_json_text(st_draft_names[s->draft]));
    st_json_set(&object, "longest", st_json_count(s->longest_draft));
    if (s->draft != ST_DRAFT_MODEL) return object;
    st_json_set(&object, "unit", st_json_text(s->units[s->draft_unit]));
    if (s->draft_model[0]) st_json_set(&object, "model", st_json_text(s->draft_model));
    return object;
}

/* NULL where all units have one a core. */
static json_t *threads_json(const st_schedule *s) {
    json_t *list = json_array();
    bool any = false;
    for (uint32_t u = 0; u < s->n_units; u++) {
        st_json_append(&list, st_json_count(s->threads[u]));
        any = any || s->threads[u] > 0;
    }
    if (any) return list;
    json_decref(list);
    return NULL;
}

json_t *st_schedule_json(const st_schedule *s) {
    json_t *object = json_object(), *units = json_array(), *chunks = json_array();
    for (uint32_t u = 0; u < s->n_units; u++) st_json_append(&units, st_json_text(s->units[u]));
    for (uint32_t c = 0; c < s->n_chunks; c++) st_json_append(&chunks, chunk_json(s, c));
    st_json_set(&object, "schema", st_json_text(ST_SCHEDULE_SCHEMA));
    st_json_set(&object, "kind", st_json_text(st_schedule_kind_names[s->kind]));
    if (s->model[0]) st_json_set(&object, "model", st_json_text(s->model));
    st_json_set(&object, "units", units);
    json_t *threads = threads_json(s);
    if (threads) st_json_set(&object, "threads", threads);
    st_json_set(&object, "chunks", chunks);
    st_json_set(&object, "streams", st_json_count(s->streams));
    st_json_set(&object, "batch", st_json_count(s->batch));
    st_json_set(&object, "micro_batch", st_json_count(s->micro_batch));
    st_json_set(&object, "pipelined", json_boolean(s->pipelined));
    if (s->kind == ST_SCHEDULE_HANDOVER) st_json_set(&object, "prompt_unit", st_json_text(s->units[s->prompt_unit]));
    if (s->draft != ST_DRAFT_NONE) st_json_set(&object, "speculation", draft_json(s));
    st_json_set(&object, "host_beside", json_boolean(s->host_beside));
    return object;
}
