/* SPDX-License-Identifier: MIT */
#include "report/picture.h"

#include <math.h>

void st_html_axis(st_buf *out, double lo, double hi, double step, const char *unit) {
    st_buf_text(out, "<div class=\"strip axis\" aria-hidden=\"true\"><div></div><div class=\"ticks\">");
    double first = ceil(lo / step - 1e-9);
    for (double i = first; i * step <= hi + 1e-9 * step; i++)
        st_buf_printf(out, "<span style=\"left:%.2f%%\">%g%s</span>", st_html_x(i * step, lo, hi) / ST_HTML_WIDE * 100,
                      i * step + 0.0, i * step > 0 ? unit : "");
    st_buf_text(out, "</div></div>\n");
}

double st_html_step(double most) {
    double step = pow(10, floor(log10(most / 5)));
    return most / step <= 5 ? step : most / (2 * step) <= 5 ? 2 * step : most / (5 * step) <= 5 ? 5 * step : 10 * step;
}
