/* SPDX-License-Identifier: MIT
 * Pictures of a page: SVG without text, which is stretched to the width that there is; all text is HTML beside them. */
#ifndef ST_REPORT_PICTURE_H
#define ST_REPORT_PICTURE_H

#include "base/buf.h"

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

/* Appends a row of ticks below pictures, "0", "0.5", ... at multiples of step in lo..hi. */
void st_html_axis(st_buf *out, double lo, double hi, double step, const char *unit);

/* A step for an axis from 0: 1, 2 or 5 times a power of ten, at most five of which lie in `most`. */
double st_html_step(double most);

#endif
