/* SPDX-License-Identifier: MIT
 * What changed between two probes, in its forms. Each writer appends to out; out->failed tells that memory was out. */
#ifndef ST_REPORT_COMPARE_REPORT_H
#define ST_REPORT_COMPARE_REPORT_H

#include "probe/compare.h"
#include "report/json.h"
#include "report/probe_read.h"

/* A comparison and where its sides come from: before and after. */
typedef struct st_compare_report {
    const st_compare *compare;
    const char *name[2]; /* file names */
    const st_probe_source *source[2];
} st_compare_report;

/* For a terminal of 80 columns: tables first, what it means last. Colour never alone carries meaning. */
void st_compare_text(st_buf *out, const st_compare_report *report, bool color);
void st_compare_markdown(st_buf *out, const st_compare_report *report);

/* docs/PROBE-JSON.md. A new reference, or NULL when memory is out. origin may be NULL. */
#define ST_COMPARE_SCHEMA "stretto-compare/1"
json_t *st_compare_json(const st_compare_report *report, const st_origin *origin);

/* ---- shared by the writers ---- */

/* "less overlap: -0.12, -0.20 to -0.05; ..." or why there is nothing to say. */
void st_compare_row_text(st_buf *out, const st_compare *compare, const st_compare_row *row);

/* What differs around the measurement (machine, version, units), a line each; nothing when nothing does. */
void st_compare_circumstances(st_buf *out, const st_compare_report *report);

/* What the intervals leave out, in a sentence without full stop. */
void st_compare_caveat(st_buf *out, const st_compare *compare);

/* The row of either side: names and arrangement are the same in both. */
const st_probe_row *st_compare_either(const st_compare_row *row);

#endif
