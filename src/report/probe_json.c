/* SPDX-License-Identifier: MIT
 * docs/PROBE-JSON.md describes what is written here; a change of meaning is a new version of the schema. */
#include "report/probe_report.h"
#include "report/probe_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *nanoseconds(double ns) {
    return st_json_count((uint64_t)llround(fmax(ns, 0)));
}

typedef uint64_t (*sample_fn)(const st_round *round, enum st_arm arm);
static uint64_t sample_wall(const st_round *round, enum st_arm arm) {
    return round->arms[arm].wall_ns;
}
static uint64_t sample_end_a(const st_round *round, enum st_arm arm) {
    return round->arms[arm].end_ns[0];
}
static uint64_t sample_end_b(const st_round *round, enum st_arm arm) {
    return round->arms[arm].end_ns[1];
}
static uint64_t sample_skew(const st_round *round, enum st_arm arm) {
    return round->arms[arm].skew_ns;
}
static uint64_t sample_begin(const st_round *round, enum st_arm arm) {
    (void)arm;
    return round->begin_ns;
}

static uint64_t sample_process(const st_round *round, enum st_arm arm) {
    (void)arm;
    return round->process;
}

static json_t *series(const st_probe_row *row, sample_fn fn, enum st_arm arm) {
    json_t *list = json_array();
    for (size_t i = 0; i < row->n_rounds; i++) st_json_append(&list, st_json_count(fn(&row->rounds[i], arm)));
    return list;
}

static json_t *orders(const st_probe_row *row) {
    json_t *list = json_array();
    for (size_t i = 0; i < row->n_rounds; i++) {
        st_buf text = {0};
        for (unsigned k = 0; k < row->n_arms; k++)
            st_buf_printf(&text, "%s%s", k ? " " : "", st_arm_name(row->rounds[i].order[k]));
        st_json_append(&list, text.failed ? NULL : json_stringn(text.data, text.len));
        st_buf_free(&text);
    }
    return list;
}

/* ---- controls ---- */

static json_t *control(const st_control_result *c, bool both) {
    json_t *object = json_object(), *rate = json_object();
    st_json_set(&rate, "a", st_json_real(c->solo_rate[0]));
    if (both) st_json_set(&rate, "b", st_json_real(c->solo_rate[1]));
    if (both) st_json_set(&rate, "parallel", st_json_real(c->parallel_rate));
    st_json_set(&object, "rounds", st_json_count(c->n_rounds));
    st_json_set(&object, "solo_a_ns", nanoseconds(c->solo_ns[0]));
    if (both) {
        st_json_set(&object, "solo_b_ns", nanoseconds(c->solo_ns[1]));
        st_json_set(&object, "parallel_ns", nanoseconds(c->parallel_ns));
        st_json_set(&object, "slowdown_a", st_json_real(c->slowdown[0]));
        st_json_set(&object, "slowdown_b", st_json_real(c->slowdown[1]));
        st_json_set(&object, "overlap_factor", st_json_interval(&c->overlap));
    }
    st_json_set(&object, "rate", rate);
    return object;
}

static void set_controls(json_t **object, const st_control_result controls[ST_CONTROL_COUNT], bool both) {
    for (unsigned k = 0; k < ST_CONTROL_COUNT; k++)
        if (controls[k].n_rounds) st_json_set(object, st_control_name(k), control(&controls[k], both));
}

static void set_row_controls(json_t **object, const st_probe_row *row) {
    json_t *own = json_object();
    set_controls(&own, row->controls, !row->k);
    if (!own || json_object_size(own) > 0)
        st_json_set(object, "controls", own);
    else
        json_decref(own);
    if (row->memory.known) st_json_set(object, "overlap_factor_memory", st_json_interval(&row->memory.factor));
    if (row->late.known) st_json_set(object, "overlap_factor_late", st_json_interval(&row->late.factor));
}

static uint64_t beside_ns(const st_beside_sample *s, bool ends, unsigned side) {
    return ends ? s->end_ns[side] : s->solo_ns[side];
}

/* A value for each round, null where it was not measured. */
static json_t *beside_series(const st_probe_row *row, unsigned kind, bool ends, unsigned side) {
    json_t *list = json_array();
    for (size_t i = 0; i < row->n_rounds; i++) {
        uint64_t ns = beside_ns(&row->rounds[i].beside[kind], ends, side);
        st_json_append(&list, ns ? st_json_count(ns) : json_null());
    }
    return list;
}

static void set_control_samples(json_t **object, const st_probe_row *row) {
    for (unsigned kind = 0; kind < ST_CONTROL_COUNT; kind++) {
        if (!row->controls[kind].n_rounds) continue;
        for (unsigned side = 0; side < (row->k ? 1 : 2); side++) {
            char key[48];
            snprintf(key, sizeof key, "%s_solo_%c_ns", st_control_name(kind), side ? 'b' : 'a');
            st_json_set(object, key, beside_series(row, kind, false, side));
            if (row->k) continue;
            snprintf(key, sizeof key, "%s_parallel_%c_end_ns", st_control_name(kind), side ? 'b' : 'a');
            st_json_set(object, key, beside_series(row, kind, true, side));
        }
    }
}

static json_t *samples(const st_probe_row *row) {
    json_t *object = json_object();
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ns", st_arm_name(arm));
        if (row->arms & 1u << arm) st_json_set(&object, key, series(row, sample_wall, arm));
    }
    if (!row->k) {
        st_json_set(&object, "parallel_a_end_ns", series(row, sample_end_a, ST_ARM_PARALLEL));
        st_json_set(&object, "parallel_b_end_ns", series(row, sample_end_b, ST_ARM_PARALLEL));
        st_json_set(&object, "skew_ns", series(row, sample_skew, ST_ARM_PARALLEL));
    }
    st_json_set(&object, "begin_ns", series(row, sample_begin, ST_ARM_SOLO_A));
    st_json_set(&object, "process", series(row, sample_process, ST_ARM_SOLO_A));
    st_json_set(&object, "order", orders(row));
    set_control_samples(&object, row);
    return object;
}

/* Rounds with a flag; all count. */
static json_t *flagged(const st_probe_row *row) {
    json_t *list = json_array();
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_round *round = &row->rounds[i];
        if (!round->flags) continue;
        json_t *outliers = json_array(), *item = json_object();
        for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
            if (round->outliers & 1u << arm) st_json_append(&outliers, json_string(st_arm_name(arm)));
        st_json_set(&item, "round", st_json_count(i));
        st_json_set(&item, "outliers", outliers);
        st_json_set(&item, "skewed", json_boolean(round->flags & ST_ROUND_SKEW));
        st_json_append(&list, item);
    }
    return list;
}

static json_t *row_flags(const st_probe_row *row) {
    json_t *list = json_array();
    if (row->flags & ST_ROW_NOT_STEADY) st_json_append(&list, json_string("no steady state"));
    if (row->flags & ST_ROW_SPREAD) st_json_append(&list, json_string("wide spread"));
    if (row->flags & ST_ROW_FEW) st_json_append(&list, json_string("few rounds"));
    return list;
}

static json_t *classes(const st_probe_row *row) {
    json_t *object = json_object();
    for (unsigned i = 0; i < ST_CLASS_COUNT; i++)
        st_json_set(&object, st_class_name(i), st_json_real((double)row->classes[i] / (double)row->n_rounds));
    return object;
}

static json_t *rates(const st_probe_row *row) {
    json_t *object = json_object();
    st_json_set(&object, "a", st_json_real(st_row_solo_rate(row, 0)));
    if (!row->k) st_json_set(&object, "b", st_json_real(st_row_solo_rate(row, 1)));
    st_json_set(&object, row->k ? "batched" : "parallel", st_json_real(st_row_parallel_rate(row)));
    return object;
}

static json_t *by_arm(const st_probe_row *row, const double values[ST_ARM_COUNT]) {
    json_t *object = json_object();
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if (row->arms & 1u << arm) st_json_set(&object, st_arm_name(arm), st_json_real(values[arm]));
    return object;
}

static void set_pair_numbers(json_t **object, const st_probe_row *row) {
    if (row->one_unit) st_json_set(object, "overlap_factor_unit", st_json_interval(&row->overlap_unit));
    st_json_set(object, "slowdown_a", st_json_real(row->slowdown[0]));
    st_json_set(object, "slowdown_b", st_json_real(row->slowdown[1]));
    st_json_set(object, "skew_ns", nanoseconds(row->skew_ns));
    if (row->has_warm) {
        st_json_set(object, "overlap_factor_warm", st_json_interval(&row->warm));
        st_json_set(object, "overlap_factor_warm_gain", st_json_interval(&row->warm_gain));
    }
    if (row->has_unpinned) st_json_set(object, "overlap_factor_unpinned", st_json_interval(&row->unpinned));
    st_json_set(object, "classes", classes(row));
    st_json_set(object, "class_tolerance", st_json_real(row->class_tolerance));
}

static void set_numbers(json_t **object, const st_probe_row *row) {
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ns", st_arm_name(arm));
        if (row->arms & 1u << arm) st_json_set(object, key, nanoseconds(row->median_ns[arm]));
    }
    st_json_set(object, "overlap_factor", st_json_interval(&row->overlap));
    st_json_set(object, "overlap_factor_serial", st_json_interval(&row->overlap_serial));
    st_json_set(object, "speedup", st_json_interval(&row->speedup));
    st_json_set(object, "bootstrap_level", st_json_real(row->level));
    st_json_set(object, "dispatch_ns", nanoseconds(row->dispatch_ns));
    st_json_set(object, "spread", by_arm(row, row->spread));
    if (row->cpu_share[ST_ARM_SOLO_A] > 0) st_json_set(object, "cpu_per_wall", by_arm(row, row->cpu_share));
    if (row->bytes[0] && row->bytes[1]) st_json_set(object, "gb_per_s", rates(row));
    if (!row->k) set_pair_numbers(object, row);
    set_row_controls(object, row);
    st_json_set(object, "flagged", flagged(row));
    st_json_set(object, "samples", samples(row));
}

/* Only what is known; NULL when memory is out, which st_json_set passes on. */
static json_t *worth(const st_probe_row *row) {
    json_t *object = json_object();
    for (unsigned use = 0; use < ST_USE_COUNT; use++) {
        const st_worth *w = &row->worth[use];
        if (w->verdict == ST_WORTH_UNKNOWN) continue;
        json_t *one = json_object();
        st_json_set(&one, "break_even", w->has_break_even ? st_json_real(w->break_even) : json_null());
        st_json_set(&one, "verdict", json_string(st_worth_name(w->verdict)));
        st_json_set(&one, "reason", st_json_text(w->reason));
        st_json_set(&object, st_use_name(use), one);
    }
    return object;
}

static void set_verdict(json_t **object, const st_probe_row *row) {
    st_json_set(object, "overlap", json_string(st_overlap_name(row->verdict)));
    if (row->verdict == ST_OVERLAP_UNDECIDED)
        st_json_set(object, "rounds_needed",
                    row->rounds_needed == ST_ROUNDS_NEVER ? json_null() : st_json_count(row->rounds_needed));
    st_json_set(object, "cause", json_string(st_cause_name(row->cause)));
    st_json_set(object, "evidence", st_json_text(row->evidence));
    json_t *uses = worth(row);
    if (!uses || json_object_size(uses) > 0)
        st_json_set(object, "worth", uses);
    else
        json_decref(uses);
}

static void set_cold(json_t **object, const char *key, uint64_t ns) {
    if (ns) st_json_set(object, key, st_json_count(ns));
}

static void set_sides(json_t **object, const st_probe_row *row) {
    static const char *const keys[2][2] = {{"bytes_b", "operations_b"}, {"bytes_batched", "operations_batched"}};
    st_json_set(object, "a", st_json_text(row->name[0]));
    if (!row->k) st_json_set(object, "b", st_json_text(row->name[1]));
    st_json_set(object, "arrangement", json_string(row->arrangement->name));
    if (row->k) st_json_set(object, "k", st_json_count(row->k));
    st_json_set(object, "unit_a", st_json_text(row->unit[0]));
    if (!row->k) st_json_set(object, "unit_b", st_json_text(row->unit[1]));
    st_json_set(object, "bytes_a", st_json_count(row->bytes[0]));
    st_json_set(object, keys[row->k > 0][0], st_json_count(row->bytes[1]));
    st_json_set(object, "operations_a", st_json_count(row->operations[0]));
    st_json_set(object, keys[row->k > 0][1], st_json_count(row->operations[1]));
}

static json_t *row_json(const st_probe_row *row) {
    json_t *object = json_object();
    set_sides(&object, row);
    st_json_set(&object, "rounds", st_json_count(row->n_rounds));
    st_json_set(&object, "discarded", st_json_count(row->n_discarded));
    st_json_set(&object, "warm_up", st_json_count(row->n_warm_up));
    set_cold(&object, "cold_a_ns", row->cold_ns[0]);
    set_cold(&object, "cold_b_ns", row->cold_ns[1]);
    st_json_set(&object, "stop", json_string(st_stop_name(row->stop)));
    if (row->error.code != STRETTO_OK) st_json_set(&object, "error", st_json_text(row->error.text));
    st_json_set(&object, "flags", row_flags(row));
    if (row->n_rounds > 0) set_numbers(&object, row);
    set_verdict(&object, row);
    return object;
}

/* -1 is unknown. */
static json_t *usage(double cpus) {
    return cpus < 0 ? json_null() : st_json_real(cpus);
}

static json_t *conditions(const st_conditions *c) {
    json_t *object = json_object();
    st_json_set(&object, "load", c->load < 0 ? json_null() : st_json_real(c->load));
    st_json_set(&object, "cpus", st_json_count(c->n_cpus));
    st_json_set(&object, "quota_cpus", c->quota_cpus > 0 ? st_json_real(c->quota_cpus) : json_null());
    st_json_set(&object, "governor", *c->governor ? st_json_text(c->governor) : json_null());
    st_json_set(&object, "throttled", c->throttled < 0 ? json_null() : st_json_count((uint64_t)c->throttled));
    return object;
}

static json_t *warnings(const st_buf *lines) {
    json_t *list = json_array();
    for (const char *at = lines->data; at && *at;) {
        size_t n = strcspn(at, "\n");
        st_json_append(&list, json_stringn_nocheck(at, n));
        at += n + (at[n] == '\n');
    }
    return list;
}

/* ---- units ---- */

static json_t *peaks(const st_probe_record *record) {
    json_t *list = json_array();
    for (size_t i = 0; i < record->n_peaks; i++) {
        const st_unit_peaks *p = &record->peaks[i];
        json_t *object = json_object();
        st_json_set(&object, "name", st_json_text(p->unit));
        st_json_set(&object, "threads", st_json_count(p->n_threads));
        st_json_set(&object, "gb_per_s", p->gb_per_s > 0 ? st_json_real(p->gb_per_s) : json_null());
        st_json_set(&object, "gmac_per_s", p->gmac_per_s > 0 ? st_json_real(p->gmac_per_s) : json_null());
        st_json_append(&list, object);
    }
    return list;
}

static json_t *costs(const st_probe_record *record) {
    json_t *list = json_array();
    for (size_t i = 0; i < record->n_costs; i++) {
        const st_solo_cost *c = &record->costs[i];
        json_t *object = json_object();
        st_json_set(&object, "chunk", st_json_text(c->chunk));
        st_json_set(&object, "unit", st_json_text(c->unit));
        st_json_set(&object, "work", json_string(c->prefill ? "prefill" : "decode"));
        st_json_set(&object, "tokens", st_json_count(c->tokens));
        st_json_set(&object, "ns", nanoseconds(c->ns));
        st_json_set(&object, "weight_bytes", st_json_count(c->weight_bytes));
        st_json_set(&object, "kv_bytes_per_token", st_json_count(c->kv_bytes));
        st_json_append(&list, object);
    }
    return list;
}

static json_t *controls(const st_probe_record *record) {
    json_t *list = json_array();
    for (size_t i = 0; i < record->n_unit_pairs; i++) {
        const st_unit_pair *pair = &record->unit_pairs[i];
        json_t *object = json_object();
        st_json_set(&object, "unit_a", st_json_text(pair->unit[0]));
        st_json_set(&object, "unit_b", st_json_text(pair->unit[1]));
        set_controls(&object, pair->controls, true);
        st_json_append(&list, object);
    }
    return list;
}

static bool interrupted(const st_probe_record *record) {
    for (size_t i = 0; i < record->n_rows; i++)
        if (record->rows[i].stop == ST_STOP_CANCELLED) return true;
    return false;
}

json_t *st_probe_json(const st_probe_record *record, const st_origin *origin) {
    json_t *object = json_object(), *rows = json_array();
    st_json_set(&object, "schema", json_string(ST_PROBE_SCHEMA));
    if (origin) st_json_origin(&object, origin);
    st_json_set(&object, "seed", st_json_count(record->seed));
    st_json_set(&object, "title", st_json_text(record->title));
    st_json_set(&object, "cache", json_string(st_cache_name(record->cache)));
    st_json_set(&object, "rounds_asked", record->rounds ? st_json_count(record->rounds) : json_null());
    st_json_set(&object, "budget_ns", record->budget_ns ? st_json_count(record->budget_ns) : json_null());
    st_json_set(&object, "precision", st_json_real(record->precision));
    st_json_set(&object, "duration_ns", st_json_count(record->duration_ns));
    st_json_set(&object, "interrupted", json_boolean(interrupted(record)));
    if (record->has_conditions) {
        st_json_set(&object, "others_cpus", usage(st_record_others(record)));
        st_json_set(&object, "stolen_cpus", usage(st_record_stolen(record)));
        st_json_set(&object, "before", conditions(&record->before));
        st_json_set(&object, "after", conditions(&record->after));
    }
    st_json_set(&object, "processes", st_json_count(record->n_processes));
    st_json_set(&object, "join_ns", record->join_ns > 0 ? nanoseconds(record->join_ns) : json_null());
    st_json_set(&object, "units", peaks(record));
    st_json_set(&object, "controls", controls(record));
    st_json_set(&object, "costs", costs(record));
    st_json_set(&object, "warnings", warnings(&record->warnings));
    for (size_t i = 0; i < record->n_rows; i++) st_json_append(&rows, row_json(&record->rows[i]));
    st_json_set(&object, "pairs", rows);
    return object;
}
