/* SPDX-License-Identifier: MIT */
#include "probe/record.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

const char *st_overlap_name(enum st_overlap verdict) {
    static const char *const names[] = {
        [ST_OVERLAP_UNDECIDED] = "undecided",
        [ST_OVERLAP_INTERFERES] = "interferes",
        [ST_OVERLAP_SERIALISES] = "serialises",
        [ST_OVERLAP_OVERLAPS] = "overlaps",
    };
    return names[verdict];
}

const char *st_cause_name(enum st_cause cause) {
    static const char *const names[] = {
        [ST_CAUSE_UNEXPLAINED] = "unexplained",
        [ST_CAUSE_SHARED_CORE] = "shared core",
        [ST_CAUSE_ONE_CORE] = "both pinned to one core",
        [ST_CAUSE_OVERSUBSCRIPTION] = "oversubscription",
        [ST_CAUSE_QUEUEING] = "queueing hides dispatch; the unit itself does not overlap",
        [ST_CAUSE_PROCESS] = "a lock or a context of the process",
        [ST_CAUSE_FIFO] = "a first-in-first-out queue",
        [ST_CAUSE_TIME_SLICED] = "one engine, time-sliced",
        [ST_CAUSE_BANDWIDTH] = "memory bandwidth",
        [ST_CAUSE_SHARED_CACHE] = "shared cache",
        [ST_CAUSE_CLOCK] = "shared clock or power",
        [ST_CAUSE_TRUE_OVERLAP] = "true overlap",
        [ST_CAUSE_READ_ONCE] = "weights read once for all tokens",
        [ST_CAUSE_LATE] = "one side is submitted late",
    };
    return names[cause];
}

const char *st_class_name(enum st_class class_) {
    static const char *const names[] = {
        [ST_CLASS_SOLO] = "both_at_solo", [ST_CLASS_A_FIRST] = "a_first",     [ST_CLASS_B_FIRST] = "b_first",
        [ST_CLASS_SLICED] = "sliced",     [ST_CLASS_STRETCHED] = "stretched", [ST_CLASS_WORSE] = "worse",
        [ST_CLASS_OTHER] = "other",
    };
    return names[class_];
}

const char *st_stop_name(enum st_stop stop) {
    static const char *const names[] = {
        [ST_STOP_ROUNDS] = "rounds",       [ST_STOP_PRECISION] = "precision", [ST_STOP_BUDGET] = "budget",
        [ST_STOP_CANCELLED] = "cancelled", [ST_STOP_ERROR] = "error",         [ST_STOP_SKIPPED] = "skipped",
    };
    return names[stop];
}

const char *st_cache_name(enum st_cache cache) {
    return cache == ST_CACHE_STEP ? "step" : "warm";
}

const char *st_use_name(enum st_use use) {
    static const char *const names[] = {
        [ST_USE_ONE_STREAM] = "one_stream", [ST_USE_PREFILL] = "prefill", [ST_USE_STREAMS] = "streams"};
    return names[use];
}

const char *st_worth_name(enum st_worth_verdict verdict) {
    static const char *const names[] = {
        [ST_WORTH_UNKNOWN] = "unknown",           [ST_WORTH_PAYS] = "pays",
        [ST_WORTH_DOES_NOT_PAY] = "does not pay", [ST_WORTH_IMPOSSIBLE] = "impossible",
        [ST_WORTH_UNDECIDED] = "undecided",
    };
    return names[verdict];
}

const char *st_control_name(enum st_control_kind control) {
    static const char *const names[] = {
        [ST_CONTROL_COMPUTE] = "compute", [ST_CONTROL_BANDWIDTH] = "bandwidth", [ST_CONTROL_CLOCK] = "clock"};
    return names[control];
}

const char *st_row_pair_text(char out[ST_PAIR_TEXT], const st_probe_row *row) {
    snprintf(out, ST_PAIR_TEXT, "%s%s%s", row->name[0], row->k ? "" : " || ", row->name[1]);
    return out;
}

const st_interval *st_row_decisive(const st_probe_row *row) {
    return row->one_unit ? &row->overlap_unit : &row->overlap;
}

double st_row_parallel_rate(const st_probe_row *row) {
    if (row->k) return row->median_ns[ST_ARM_BATCHED] > 0 ? (double)row->bytes[1] / row->median_ns[ST_ARM_BATCHED] : 0;
    if (!row->bytes[0] || !row->bytes[1] || !(row->median_ns[ST_ARM_PARALLEL] > 0)) return 0;
    return (double)(row->bytes[0] + row->bytes[1]) / row->median_ns[ST_ARM_PARALLEL];
}

double st_row_solo_rate(const st_probe_row *row, unsigned side) {
    double ns = row->median_ns[side ? ST_ARM_SOLO_B : ST_ARM_SOLO_A];
    return ns > 0 ? (double)row->bytes[side] / ns : 0;
}

double st_record_others(const st_probe_record *record) {
    return record->has_conditions ? st_usage_others(&record->before.usage, &record->after.usage) : -1;
}

double st_record_stolen(const st_probe_record *record) {
    return record->has_conditions ? st_usage_stolen(&record->before.usage, &record->after.usage) : -1;
}

st_round *st_row_reserve(st_probe_row *row) {
    if (row->n_rounds == row->cap) {
        size_t cap = row->cap ? row->cap * 2 : 64;
        st_round *rounds = st_alloc(cap, sizeof *rounds);
        if (!rounds) return NULL;
        if (row->n_rounds) memcpy(rounds, row->rounds, row->n_rounds * sizeof *rounds);
        st_free(row->rounds);
        row->rounds = rounds;
        row->cap = cap;
    }
    memset(&row->rounds[row->n_rounds], 0, sizeof *row->rounds);
    return &row->rounds[row->n_rounds];
}

void st_probe_record_free(st_probe_record *record) {
    for (size_t i = 0; i < record->n_rows; i++) st_free(record->rows[i].rounds);
    st_free(record->rows);
    st_free(record->unit_pairs);
    st_free(record->peaks);
    st_free(record->costs);
    st_buf_free(&record->warnings);
    *record = (st_probe_record){0};
}
