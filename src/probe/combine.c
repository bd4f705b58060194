/* SPDX-License-Identifier: MIT */
#include "probe/combine.h"

#include "base/error.h"
#include "base/mem.h"
#include "probe/account.h"
#include "probe/conditions.h"
#include "probe/estimate.h"
#include "probe/probe.h"
#include "probe/verdict.h"
#include "probe/worth.h"

#include <string.h>

#define LEVEL 0.95

static bool same_row(const st_probe_row *a, const st_probe_row *b) {
    return a->arrangement == b->arrangement && memcmp(a->name, b->name, sizeof a->name) == 0 &&
           (a->n_rounds == 0 || b->n_rounds == 0 || memcmp(a->unit, b->unit, sizeof a->unit) == 0);
}

static int check(const st_probe_record *record, const st_probe_record *part, stretto_error *err) {
    if (record->n_rows != part->n_rows)
        return st_fail(err, STRETTO_E_INPUT, "a process measured %zu rows, the first one %zu", part->n_rows,
                       record->n_rows);
    for (size_t i = 0; i < record->n_rows; i++) {
        char pair[ST_PAIR_TEXT];
        if (!same_row(&record->rows[i], &part->rows[i]))
            return st_fail(err, STRETTO_E_INPUT, "a process measured %s, %s as row %zu, the first one did not",
                           st_row_pair_text(pair, &part->rows[i]), part->rows[i].arrangement->name, i + 1);
    }
    return STRETTO_OK;
}

static st_round *joined_rounds(const st_probe_row *row, const st_probe_row *other) {
    st_round *rounds = st_alloc(row->n_rounds + other->n_rounds, sizeof *rounds);
    if (!rounds) return NULL;
    if (row->n_rounds) memcpy(rounds, row->rounds, row->n_rounds * sizeof *rounds);
    if (other->n_rounds) memcpy(rounds + row->n_rounds, other->rounds, other->n_rounds * sizeof *rounds);
    return rounds;
}

/* Takes over the rounds, which have room already, and what went wrong. */
static void row_add(st_probe_row *row, const st_probe_row *other, st_round *rounds, unsigned process) {
    for (size_t i = 0; i < other->n_rounds; i++) rounds[row->n_rounds + i].process = process;
    st_free(row->rounds);
    row->rounds = rounds;
    row->n_rounds = row->cap = row->n_rounds + other->n_rounds;
    row->n_discarded += other->n_discarded;
    row->steady = row->steady && other->steady;
    if (row->error.code != STRETTO_OK || other->error.code == STRETTO_OK) return;
    row->error = other->error;
    row->stop = other->stop;
}

int st_record_add(st_probe_record *record, const st_probe_record *part, stretto_error *err) {
    int code = check(record, part, err);
    if (code != STRETTO_OK) return code;
    st_round **rounds = st_alloc(record->n_rows, sizeof *rounds);
    bool room = rounds != NULL;
    for (size_t i = 0; room && i < record->n_rows; i++) {
        rounds[i] = joined_rounds(&record->rows[i], &part->rows[i]);
        room = rounds[i] != NULL;
    }
    if (room) {
        for (size_t i = 0; i < record->n_rows; i++)
            row_add(&record->rows[i], &part->rows[i], rounds[i], record->n_processes);
        record->n_processes++;
        record->duration_ns += part->duration_ns;
    } else {
        for (size_t i = 0; rounds && i < record->n_rows; i++) st_free(rounds[i]);
        code = st_fail_memory(err, "the rounds of all processes", record->n_rows * sizeof *rounds);
    }
    st_free(rounds);
    return code;
}

int st_record_judge(st_probe_record *record, stretto_error *err) {
    int code = STRETTO_OK;
    for (size_t i = 0; i < record->n_rows && code == STRETTO_OK; i++) {
        st_probe_row *row = &record->rows[i];
        const st_estimate_options options = {.level = LEVEL, .resamples = ST_PROBE_RESAMPLES, .seed = record->seed + i};
        if (row->n_rounds == 0) continue;
        code = st_estimate_row(row, &options, err);
        if (code == STRETTO_OK) st_verdict_set(row);
    }
    if (code == STRETTO_OK) code = st_account_record(record, ST_PROBE_RESAMPLES, err);
    for (size_t i = 0; i < record->n_rows && code == STRETTO_OK; i++) {
        if (record->rows[i].n_rounds == 0) continue;
        st_cause_set(&record->rows[i], record);
        st_worth_judge(&record->rows[i]);
    }
    st_buf_free(&record->warnings);
    st_conditions_warn(record);
    return code;
}
