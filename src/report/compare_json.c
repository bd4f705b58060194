/* SPDX-License-Identifier: MIT
 * docs/PROBE-JSON.md describes what is written here. */
#include "report/compare_report.h"

#include <stdio.h>

static const char *change_name(enum st_change change) {
    static const char *const names[] = {
        [ST_CHANGE_NONE] = "none", [ST_CHANGE_LESS] = "less", [ST_CHANGE_MORE] = "more"};
    return names[change];
}

static json_t *change_json(const st_interval *interval, enum st_change change) {
    json_t *object = st_json_interval(interval);
    st_json_set(&object, "change", json_string(change_name(change)));
    return object;
}

static json_t *side_json(const st_probe_row *row) {
    if (!row || row->n_rounds == 0) return json_null();
    json_t *object = json_object();
    st_json_set(&object, "rounds", st_json_count(row->n_rounds));
    st_json_set(&object, "overlap", json_string(st_overlap_name(row->verdict)));
    st_json_set(&object, row->one_unit ? "overlap_factor_unit" : "overlap_factor",
                st_json_interval(st_row_decisive(row)));
    return object;
}

static json_t *row_json(const st_compare_row *row) {
    const st_probe_row *either = st_compare_either(row);
    json_t *object = json_object(), *times = json_object();
    st_json_set(&object, "a", st_json_text(either->name[0]));
    if (!either->k) st_json_set(&object, "b", st_json_text(either->name[1]));
    st_json_set(&object, "arrangement", json_string(either->arrangement->name));
    st_json_set(&object, "before", side_json(row->side[0]));
    st_json_set(&object, "after", side_json(row->side[1]));
    if (row->measured) {
        st_json_set(&object, "factor_change", change_json(&row->factor, row->overlap));
        for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
            if (row->times[arm].value > 0)
                st_json_set(&times, st_arm_name(arm), change_json(&row->times[arm], row->time[arm]));
        st_json_set(&object, "time_ratio", times);
        st_json_set(&object, "verdict_changed", json_boolean(row->verdict_changed));
    } else {
        json_decref(times);
    }
    return object;
}

static json_t *file_json(const st_compare_report *report, unsigned i) {
    const st_probe_source *source = report->source[i];
    json_t *object = json_object();
    st_json_set(&object, "file", st_json_text(report->name[i]));
    st_json_set(&object, "version", st_json_text(source->version));
    st_json_set(&object, "time", st_json_text(source->time));
    st_json_set(&object, "cpu", st_json_text(source->cpu));
    st_json_set(&object, "isa", st_json_text(source->isa));
    st_json_set(&object, "kernel", st_json_text(source->kernel));
    st_json_set(&object, "processes", st_json_count(report->compare->n_processes[i]));
    return object;
}

json_t *st_compare_json(const st_compare_report *report, const st_origin *origin) {
    const st_compare *compare = report->compare;
    json_t *object = json_object(), *rows = json_array();
    st_json_set(&object, "schema", json_string(ST_COMPARE_SCHEMA));
    if (origin) st_json_origin(&object, origin);
    st_json_set(&object, "title", st_json_text(compare->record[0]->title));
    st_json_set(&object, "cache", json_string(st_cache_name(compare->record[0]->cache)));
    st_json_set(&object, "seed", st_json_count(compare->seed));
    st_json_set(&object, "between_runs", json_boolean(compare->between_runs));
    st_json_set(&object, "before", file_json(report, 0));
    st_json_set(&object, "after", file_json(report, 1));
    for (size_t i = 0; i < compare->n_rows; i++) st_json_append(&rows, row_json(&compare->rows[i]));
    st_json_set(&object, "pairs", rows);
    return object;
}
