/* SPDX-License-Identifier: MIT */
#include "probe/estimate.h"
#include "probe/verdict.h"
#include "report/html.h"
#include "report/probe_html_impl.h"
#include "report/text.h"

#include <math.h>

#define HEIGHT 52.0
#define TOP 5.0
#define BOTTOM 37.0      /* dots lie between: the first round on top */
#define SCALE_LEAST -1.0 /* what lies outside is drawn at the edge: one bad round must not flatten the others */
#define SCALE_MOST 2.0
#define DOTS_MOST 5000 /* of a strip; of more rounds every second, third, ... one is drawn */

typedef struct scale {
    double lo, hi;
} scale;

/* One kind of factor of one row. */
typedef struct strip {
    const st_probe_row *row;
    bool unit; /* against one queue */
    const st_interval *interval;
} strip;

static strip strip_of(const st_probe_row *row, bool unit) {
    return (strip){.row = row, .unit = unit, .interval = unit ? &row->overlap_unit : &row->overlap};
}

static double factor(const strip *s, size_t round) {
    return s->unit ? st_round_overlap_unit(s->row, &s->row->rounds[round])
                   : st_round_overlap(s->row, &s->row->rounds[round]);
}

static void widen(scale *at, double value) {
    if (!isfinite(value)) return;
    at->lo = fmax(SCALE_LEAST, fmin(at->lo, floor(value * 10) / 10));
    at->hi = fmin(SCALE_MOST, fmax(at->hi, ceil(value * 10) / 10));
}

static void widen_strip(scale *at, const strip *s) {
    for (size_t i = 0; i < s->row->n_rounds; i++) widen(at, factor(s, i));
    widen(at, s->interval->lo);
    widen(at, s->interval->hi);
}

static void label(st_buf *out, const strip *s) {
    st_figure value, lo, hi;
    st_buf_text(out, "<div class=\"strip\"><div class=\"what\"><b>");
    st_buf_printf(out, "%s%s</b><span>%s, %s to %s</span></div>", s->row->arrangement->title,
                  s->unit ? ", against one queue" : "", st_figure_ratio(value, s->interval->value),
                  st_figure_ratio(lo, s->interval->lo), st_figure_ratio(hi, s->interval->hi));
}

static void line(st_buf *out, const char *class_, double x, double top, double bottom) {
    st_buf_printf(out, "<path class=\"%s\" d=\"M%.1f %gV%g\"/>", class_, x, top, bottom);
}

/* A dot is a line of no length with round ends, which stays round however the picture is stretched. */
static void dots(st_buf *out, const strip *s, const scale *at, bool flagged) {
    size_t n = s->row->n_rounds, every = (n + DOTS_MOST - 1) / DOTS_MOST, drawn = 0;
    for (size_t i = 0; i < n; i += every) {
        if ((s->row->rounds[i].flags != 0) != flagged) continue;
        double y = n > 1 ? TOP + (BOTTOM - TOP) * (double)i / (double)(n - 1) : (TOP + BOTTOM) / 2;
        if (drawn++ == 0) st_buf_printf(out, "<path class=\"%s\" d=\"", flagged ? "odd" : "dots");
        st_buf_printf(out, "M%.1f %.1fh0", st_html_x(factor(s, i), at->lo, at->hi), y);
    }
    if (drawn) st_buf_text(out, "\"/>");
}

/* Where the best schedule with both units begins to pay, for each use that says so. */
static void break_evens(st_buf *out, const strip *s, const scale *at) {
    for (unsigned use = 0; use < ST_USE_COUNT; use++) {
        const st_worth *worth = &s->row->worth[use];
        if (!s->unit && worth->has_break_even && worth->break_even <= at->hi)
            line(out, "even", st_html_x(worth->break_even, at->lo, at->hi), 0, HEIGHT);
    }
}

static void picture(st_buf *out, const strip *s, const scale *at) {
    const st_interval *in = s->interval;
    double lo = st_html_x(in->lo, at->lo, at->hi), hi = st_html_x(in->hi, at->lo, at->hi);
    double middle = st_html_x(in->value, at->lo, at->hi);
    st_figure value, from, to;
    st_buf_printf(
        out,
        "<svg viewBox=\"0 0 %g %g\" preserveAspectRatio=\"none\" height=\"%g\" role=\"img\" aria-label=\"%s%s: "
        "overlap factors of %zu rounds, median %s, interval %s to %s\">",
        ST_HTML_WIDE, HEIGHT, HEIGHT, s->row->arrangement->title, s->unit ? ", against one queue" : "",
        s->row->n_rounds, st_figure_ratio(value, in->value), st_figure_ratio(from, in->lo),
        st_figure_ratio(to, in->hi));
    double threshold = st_html_x(ST_OVERLAP_THRESHOLD, at->lo, at->hi);
    st_buf_printf(out, "<rect class=\"zone\" width=\"%.1f\" height=\"%g\"/>", threshold, HEIGHT);
    line(out, "grid", st_html_x(0, at->lo, at->hi), 0, HEIGHT);
    line(out, "grid", st_html_x(1, at->lo, at->hi), 0, HEIGHT);
    line(out, "limit", threshold, 0, HEIGHT);
    break_evens(out, s, at);
    dots(out, s, at, false);
    dots(out, s, at, true);
    st_buf_printf(out, "<rect class=\"range\" x=\"%.1f\" y=\"44\" width=\"%.1f\" height=\"3\"/>", lo, fmax(hi - lo, 1));
    line(out, "middle", middle, 40, 51);
    st_buf_text(out, "</svg></div>\n");
}

static void key(st_buf *out, bool even) {
    st_buf_text(out, "<ul class=\"key\"><li><i class=\"dot fill-a\"></i>a round, the first on top</li>"
                     "<li><i class=\"dot fill-b\"></i>a flagged round, which counts all the same</li>"
                     "<li><i class=\"fill-mark\"></i>median and interval</li>"
                     "<li><i class=\"fill-zone\"></i>below 0.10: serialises</li>");
    if (even) st_buf_text(out, "<li><i class=\"fill-even\"></i>break-even of a use: pays to the right of it</li>");
    st_buf_text(out, "</ul>\n");
}

static bool has_break_even(const st_probe_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (unsigned use = 0; use < ST_USE_COUNT; use++)
            if (rows[i].worth[use].has_break_even) return true;
    return false;
}

static scale scale_of(const st_probe_row *rows, size_t n) {
    scale at = {-0.1, 1.1};
    for (size_t i = 0; i < n; i++) {
        if (rows[i].n_rounds == 0) continue;
        for (unsigned unit = 0; unit <= rows[i].one_unit; unit++) {
            strip s = strip_of(&rows[i], unit);
            widen_strip(&at, &s);
        }
    }
    return at;
}

void st_html_dots(st_buf *out, const st_probe_row *rows, size_t n) {
    scale at = scale_of(rows, n);
    st_buf_text(out, "<figure>\n");
    for (size_t i = 0; i < n; i++) {
        if (rows[i].n_rounds == 0) continue;
        for (unsigned unit = 0; unit <= rows[i].one_unit; unit++) {
            strip s = strip_of(&rows[i], unit);
            label(out, &s);
            picture(out, &s, &at);
        }
    }
    st_html_axis(out, at.lo, at.hi, 0.5, "");
    key(out, has_break_even(rows, n));
    st_buf_text(out, "</figure>\n");
}
