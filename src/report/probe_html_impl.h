/* SPDX-License-Identifier: MIT
 * Parts of a probe's page. Pictures are SVG without text, which is stretched to the width that there is; all text is
 * HTML beside them. Each appends to out. */
#ifndef ST_REPORT_PROBE_HTML_IMPL_H
#define ST_REPORT_PROBE_HTML_IMPL_H

#include "probe/record.h"

/* The width of every picture in its own units, and the margin on both sides in which nothing is drawn. */
#define ST_HTML_WIDE 1000.0
#define ST_HTML_MARGIN 12.0

/* A value's place between the margins, for lo < hi; outside of them at the edge. */
static inline double st_html_x(double value, double lo, double hi) {
    double at = ST_HTML_MARGIN + (ST_HTML_WIDE - 2 * ST_HTML_MARGIN) * (value - lo) / (hi - lo);
    return at < ST_HTML_MARGIN                  ? ST_HTML_MARGIN
           : at > ST_HTML_WIDE - ST_HTML_MARGIN ? ST_HTML_WIDE - ST_HTML_MARGIN
                                                : at;
}

/* Every round's overlap factor as a dot, with the interval and the thresholds: rows[n] of one pair. */
void st_html_dots(st_buf *out, const st_probe_row *rows, size_t n);

/* When each side ran in one parallel round of each of rows[n], all of one pair. */
void st_html_timelines(st_buf *out, const st_probe_row *rows, size_t n);

/* What the units can do at most, and what their controls did; nothing where nothing was measured. */
void st_html_units(st_buf *out, const st_probe_record *record);

/* A row of ticks below pictures, "0", "0.5", ... at multiples of step in lo..hi. */
void st_html_axis(st_buf *out, double lo, double hi, double step, const char *unit);

#endif
