/* SPDX-License-Identifier: MIT */
#include "probe/record.h"

#include "base/mem.h"

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
        [ST_CAUSE_FIFO] = "a first-in-first-out queue",
        [ST_CAUSE_TIME_SLICED] = "one engine, time-sliced",
        [ST_CAUSE_TRUE_OVERLAP] = "true overlap",
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

const st_interval *st_row_decisive(const st_probe_row *row) {
    return row->one_unit ? &row->overlap_unit : &row->overlap;
}

double st_row_parallel_rate(const st_probe_row *row) {
    if (!row->bytes[0] || !row->bytes[1] || !(row->median_ns[ST_ARM_PARALLEL] > 0)) return 0;
    return (double)(row->bytes[0] + row->bytes[1]) / row->median_ns[ST_ARM_PARALLEL];
}

double st_row_solo_rate(const st_probe_row *row, unsigned side) {
    double ns = row->median_ns[side ? ST_ARM_SOLO_B : ST_ARM_SOLO_A];
    return ns > 0 ? (double)row->bytes[side] / ns : 0;
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
    st_buf_free(&record->warnings);
    *record = (st_probe_record){0};
}
