/* SPDX-License-Identifier: MIT
 * Sentences about a row of a probe that several writers share. */
#ifndef ST_REPORT_PROBE_WORDS_H
#define ST_REPORT_PROBE_WORDS_H

#include "probe/record.h"

/* "serialises: a first-in-first-out queue (3 ends when ...)", without the verdict's word when it is false. What is
 * undecided says how many more rounds would decide; what was not measured, why. */
void st_row_verdict_text(st_buf *out, const st_probe_row *row, bool with_word);

/* "10" or "10 to 40" rounds of the measured rows first..last-1. */
void st_rows_rounds_text(st_buf *out, const st_probe_row *rows, size_t n);

/* "caches as in a real step" */
const char *st_cache_text(enum st_cache cache);

/* Rows from `first` on that are of the same pair. */
size_t st_rows_of_pair(const st_probe_record *record, size_t first);

/* Why overlap is worth nothing to one stream, for rows whose sides are steps of one chain. */
#define ST_CHAIN_REASON "the steps depend on each other"

#endif
