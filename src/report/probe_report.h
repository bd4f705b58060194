/* SPDX-License-Identifier: MIT
 * A probe's record in its forms. Each writer appends to out; out->failed tells that memory was out. Numbers are the
 * record's own; nothing is measured or judged here. */
#ifndef ST_REPORT_PROBE_REPORT_H
#define ST_REPORT_PROBE_REPORT_H

#include "probe/record.h"
#include "report/json.h"

/* For a terminal of 80 columns: tables first, the verdict last. Colour marks the verdict's word and never alone carries
 * meaning. The record's warnings are not in it: they belong on standard error. origin may be NULL. */
void st_probe_text(st_buf *out, const st_probe_record *record, const st_origin *origin, bool color);

/* In the form of the spike's report: the verdict first. origin may be NULL. */
void st_probe_markdown(st_buf *out, const st_probe_record *record, const st_origin *origin);

/* docs/PROBE-JSON.md. A new reference, or NULL when memory is out. origin may be NULL. */
#define ST_PROBE_SCHEMA "stretto-probe/1"
json_t *st_probe_json(const st_probe_record *record, const st_origin *origin);

/* A page of its own, which loads nothing: verdict first, pictures of all rounds, and the JSON inside. */
void st_probe_html(st_buf *out, const st_probe_record *record, const st_origin *origin);

/* JSON of trace events for Perfetto and chrome://tracing: what ran when, for the first rounds of each row. */
void st_probe_trace(st_buf *out, const st_probe_record *record, const st_origin *origin);

/* One line for each arm of each round; the first line names the columns. */
void st_probe_csv(st_buf *out, const st_probe_record *record);

/* "probing 1 || 3, two units: round 12 of about 40, 0.77 +- 0.05, 6 s left" */
struct st_probe_progress;
void st_probe_progress_text(st_buf *out, const struct st_probe_progress *progress);

#endif
