/* SPDX-License-Identifier: MIT
 * Sentences about a row of a probe that several writers share. */
#ifndef ST_REPORT_PROBE_WORDS_H
#define ST_REPORT_PROBE_WORDS_H

#include "probe/record.h"

/* "a first-in-first-out queue (3 ends when ...)". What is undecided says how many more rounds would decide; what was
 * not measured, why. */
void st_row_why_text(st_buf *out, const st_probe_row *row);

/* Why none of the rows of a pair was measured, where all have the same reason; NULL otherwise. */
const char *st_rows_unmeasured(const st_probe_row *rows, size_t n);

/* "serialises: " and the same, without the verdict's word when it is false, and where both sides are on one unit the
 * factor that decided. */
void st_row_verdict_text(st_buf *out, const st_probe_row *row, bool with_word);

/* "10 rounds", "10 to 40 rounds of 5 processes": of the measured ones of rows[n]. */
void st_rows_rounds_text(st_buf *out, const st_probe_record *record, const st_probe_row *rows, size_t n);

/* "caches as in a real step" */
const char *st_cache_text(enum st_cache cache);

/* Rows from `first` on that are of the same pair. */
size_t st_rows_of_pair(const st_probe_record *record, size_t first);

/* What rows[n] of one pair say of a use: what pays, on two units or in the largest call; else the first verdict on two
 * units, where the question is open, else any. NULL where none has one. */
const st_worth *st_rows_worth(const st_probe_row *rows, size_t n, enum st_use use);
const char *st_use_text(enum st_use use);                 /* "one stream" */
const char *st_worth_text(enum st_worth_verdict verdict); /* "yes", "no", "undecided" */

#endif
