/* SPDX-License-Identifier: MIT */
#include "report/probe_read.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "probe/estimate.h"
#include "probe/probe.h"
#include "report/probe_report.h"
#include "json/read.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MOST 100000
#define PROCESSES_MOST 100000
#define NS_MOST UINT64_C(1000000000000000) /* no step takes ten days, and sums of such times do not overflow */
#define WORDS_MOST 32

/* ---- texts ---- */

/* Text that may be missing or empty, and is cut when it is long: nothing depends on it. */
static void read_remark(const st_json_value *at, const char *key, char *out, size_t size) {
    const char *text = at->json ? json_string_value(json_object_get(at->json, key)) : NULL;
    snprintf(out, size, "%.*s", ST_CUT(text ? text : "", size - 1));
    st_utf8_tame(out);
}

/* The index of a word of which name(i), i < n, are the known ones. */
static unsigned read_word(st_json_in *in, const st_json_value *at, const char *key, const char *(*name)(unsigned i),
                          unsigned n) {
    const char *words[WORDS_MOST + 1] = {0};
    for (unsigned i = 0; i < n && i < WORDS_MOST; i++) words[i] = name(i);
    return st_json_word(in, at, key, words);
}

static const char *overlap_name(unsigned i) {
    return st_overlap_name(i);
}
static const char *cause_name(unsigned i) {
    return st_cause_name(i);
}
static const char *stop_name(unsigned i) {
    return st_stop_name(i);
}
static const char *cache_name(unsigned i) {
    return st_cache_name(i);
}
static const char *arrangement_name(unsigned i) {
    size_t n;
    return st_arrangements(&n)[i].name;
}

/* ---- samples ---- */

typedef void (*set_fn)(st_round *round, enum st_arm arm, uint64_t value);
static void set_wall(st_round *round, enum st_arm arm, uint64_t ns) {
    round->arms[arm].wall_ns = ns;
}
static void set_end_a(st_round *round, enum st_arm arm, uint64_t ns) {
    round->arms[arm].end_ns[0] = ns;
}
static void set_end_b(st_round *round, enum st_arm arm, uint64_t ns) {
    round->arms[arm].end_ns[1] = ns;
}
static void set_process(st_round *round, enum st_arm arm, uint64_t process) {
    (void)arm;
    round->process = (unsigned)process;
}

/* A list with an integer for each of the row's rounds. */
static void read_series(st_json_in *in, const st_json_value *list, st_probe_row *row, set_fn set, enum st_arm arm,
                        uint64_t least, uint64_t most) {
    if (in->code || !list->json) return;
    if (json_array_size(list->json) != row->n_rounds) {
        st_json_fail(in, list, "expected a value for each of %zu rounds, found %zu", row->n_rounds,
                     json_array_size(list->json));
        return;
    }
    for (size_t i = 0; i < row->n_rounds && !in->code; i++) {
        const json_t *value = json_array_get(list->json, i);
        json_int_t number = json_integer_value(value);
        if (json_is_integer(value) && number >= 0 && (uint64_t)number >= least && (uint64_t)number <= most) {
            set(&row->rounds[i], arm, (uint64_t)number);
        } else { /* says what is wrong */
            st_json_value item = st_json_item(in, list, i, JSON_INTEGER);
            st_json_as_integer(in, &item, least, most);
        }
    }
}

static void read_times(st_json_in *in, const st_json_value *samples, const char *key, st_probe_row *row, set_fn set,
                       enum st_arm arm) {
    st_json_value list = st_json_list(in, samples, key);
    read_series(in, &list, row, set, arm, 1, NS_MOST);
}

static void read_samples(st_json_in *in, const st_json_value *samples, st_probe_row *row, unsigned n_processes) {
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ns", st_arm_name(arm));
        if (row->arms & 1u << arm) read_times(in, samples, key, row, set_wall, arm);
    }
    if (!row->k) {
        read_times(in, samples, "parallel_a_end_ns", row, set_end_a, ST_ARM_PARALLEL);
        read_times(in, samples, "parallel_b_end_ns", row, set_end_b, ST_ARM_PARALLEL);
    }
    /* Reports of before processes were counted have none: all rounds are of one. */
    st_json_value processes = st_json_maybe(in, samples, "process", JSON_ARRAY);
    read_series(in, &processes, row, set_process, ST_ARM_SOLO_A, 0, n_processes - 1);
}

/* ---- rows ---- */

static void read_names(st_json_in *in, const st_json_value *at, st_probe_row *row) {
    size_t n;
    const st_arrangement *table = st_arrangements(&n);
    row->arrangement = &table[read_word(in, at, "arrangement", arrangement_name, (unsigned)n)];
    row->k = row->arrangement->k;
    st_json_string(in, at, "a", row->name[0], sizeof row->name[0]);
    read_remark(at, "unit_a", row->unit[0], sizeof row->unit[0]); /* "" where it was not measured */
    if (row->k) return;
    st_json_string(in, at, "b", row->name[1], sizeof row->name[1]);
    read_remark(at, "unit_b", row->unit[1], sizeof row->unit[1]);
}

static void read_verdict(st_json_in *in, const st_json_value *at, st_probe_row *row) {
    row->verdict = read_word(in, at, "overlap", overlap_name, ST_OVERLAP_OVERLAPS + 1);
    row->cause = read_word(in, at, "cause", cause_name, ST_CAUSE_COUNT);
    row->stop = read_word(in, at, "stop", stop_name, ST_STOP_SKIPPED + 1);
    read_remark(at, "evidence", row->evidence, sizeof row->evidence);
    read_remark(at, "error", row->error.text, sizeof row->error.text);
    if (*row->error.text) row->error.code = STRETTO_E_UNIT; /* which one is not in the file */
}

/* Memory is asked for only when as many values are there as rounds are said to be. */
static void make_rounds(st_json_in *in, const st_json_value *samples, st_probe_row *row, uint64_t rounds) {
    st_json_value first = st_json_list(in, samples, "solo_a_ns");
    if (in->code) return;
    if (json_array_size(first.json) != rounds) {
        st_json_fail(in, &first, "expected a value for each of %llu rounds, found %zu", (unsigned long long)rounds,
                     json_array_size(first.json));
        return;
    }
    row->rounds = st_alloc(rounds, sizeof *row->rounds);
    if (row->rounds)
        row->n_rounds = row->cap = rounds;
    else
        in->code = st_fail_memory(in->err, "a report's rounds", rounds * sizeof *row->rounds);
}

static void read_rounds(st_json_in *in, const st_json_value *at, st_probe_row *row, const st_probe_record *record,
                        size_t index) {
    uint64_t rounds = st_json_integer(in, at, "rounds", 0, INT64_MAX);
    if (in->code || rounds == 0) return;
    st_json_value samples = st_json_object(in, at, "samples");
    row->one_unit = !row->k && st_json_has(&samples, "queued_ns");
    row->arms = row->k ? st_batch_arms() : st_pair_arms(row->one_unit);
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) row->n_arms += row->arms >> arm & 1;
    make_rounds(in, &samples, row, rounds);
    read_samples(in, &samples, row, record->n_processes);
    if (in->code) return;
    st_estimate_options options = {.level = 0.95, .resamples = ST_PROBE_RESAMPLES, .seed = record->seed + index};
    if (st_json_has(at, "bootstrap_level")) options.level = st_json_number(in, at, "bootstrap_level", 0.5, 0.9999);
    row->steady = true;
    if (!in->code) in->code = st_estimate_row(row, &options, in->err);
}

static void read_row(st_json_in *in, const st_json_value *pairs, size_t index, st_probe_record *record) {
    st_probe_row *row = &record->rows[index];
    st_json_value at = st_json_item(in, pairs, index, JSON_OBJECT);
    if (in->code) return;
    read_names(in, &at, row);
    read_verdict(in, &at, row);
    read_rounds(in, &at, row, record, index);
}

/* ---- the document ---- */

static void read_source(const st_json_value *top, st_probe_source *source) {
    st_json_value host = {.json = json_object_get(top->json, "host")};
    read_remark(top, "version", source->version, sizeof source->version);
    read_remark(top, "time", source->time, sizeof source->time);
    read_remark(&host, "cpu", source->cpu, sizeof source->cpu);
    read_remark(&host, "isa", source->isa, sizeof source->isa);
    read_remark(&host, "kernel", source->kernel, sizeof source->kernel);
}

static void read_schema(st_json_in *in, const st_json_value *top) {
    char schema[48];
    st_json_string(in, top, "schema", schema, sizeof schema);
    if (!in->code && strcmp(schema, ST_PROBE_SCHEMA) != 0)
        st_json_fail(in, top, "expected the schema " ST_PROBE_SCHEMA ", found %s", schema);
}

static void read_document(st_json_in *in, const st_json_value *top, st_probe_record *record, st_probe_source *source) {
    read_schema(in, top);
    if (in->code) return;
    read_source(top, source);
    st_json_string(in, top, "title", record->title, sizeof record->title);
    record->cache = read_word(in, top, "cache", cache_name, ST_CACHE_WARM + 1);
    record->seed = st_json_integer(in, top, "seed", 0, INT64_MAX);
    record->n_processes =
        st_json_has(top, "processes") ? (unsigned)st_json_integer(in, top, "processes", 1, PROCESSES_MOST) : 1;
    st_json_value pairs = st_json_list(in, top, "pairs");
    size_t n = st_json_size(in, &pairs, ROWS_MOST);
    if (in->code) return;
    record->rows = st_alloc(n ? n : 1, sizeof *record->rows);
    if (!record->rows) {
        in->code = st_fail_memory(in->err, "a report's rows", n * sizeof *record->rows);
        return;
    }
    record->n_rows = n;
    for (size_t i = 0; i < n && !in->code; i++) read_row(in, &pairs, i, record);
}

int st_probe_read(st_probe_record *record, st_probe_source *source, const char *json, size_t n, stretto_error *err) {
    *record = (st_probe_record){0};
    *source = (st_probe_source){0};
    if (n > ST_PROBE_READ_MAX)
        return st_fail(err, STRETTO_E_INPUT, "expected at most %zu bytes, found %zu", ST_PROBE_READ_MAX, n);
    st_json_in in;
    st_json_value top = st_json_begin(&in, n ? json : "", n, err);
    if (!in.code) read_document(&in, &top, record, source);
    int code = st_json_end(&in);
    if (code) st_probe_record_free(record);
    return code;
}
