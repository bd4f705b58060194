/* SPDX-License-Identifier: MIT
 * Parts of a probe's page. Each appends to out. */
#ifndef ST_REPORT_PROBE_HTML_IMPL_H
#define ST_REPORT_PROBE_HTML_IMPL_H

#include "probe/record.h"
#include "report/picture.h"

/* Every round's overlap factor as a dot, with the interval and the thresholds: rows[n] of one pair. */
void st_html_dots(st_buf *out, const st_probe_row *rows, size_t n);

/* When each side ran in one parallel round of each of rows[n], all of one pair. */
void st_html_timelines(st_buf *out, const st_probe_row *rows, size_t n);

/* What the units can do at most, and what their controls did; nothing where nothing was measured. */
void st_html_units(st_buf *out, const st_probe_record *record);

#endif
