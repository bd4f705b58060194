/* SPDX-License-Identifier: MIT */
#include "report/html.h"
#include "report/probe_html_impl.h"
#include "report/text.h"

#include <math.h>

#define HEIGHT 44.0
#define LANE 22.0 /* of one side, its bar in the middle of it */
#define BAR 12.0

static bool has_parallel(const st_probe_row *row) {
    return row->n_rounds > 0 && row->arms & 1u << ST_ARM_PARALLEL;
}

/* The round whose parallel arm took the time nearest to the median. */
static size_t middle_round(const st_probe_row *row) {
    size_t best = 0;
    double nearest = INFINITY;
    for (size_t i = 0; i < row->n_rounds; i++) {
        double away = fabs((double)row->rounds[i].arms[ST_ARM_PARALLEL].wall_ns - row->median_ns[ST_ARM_PARALLEL]);
        if (away < nearest) nearest = away, best = i;
    }
    return best;
}

static const st_sample *middle_sample(const st_probe_row *row) {
    return &row->rounds[middle_round(row)].arms[ST_ARM_PARALLEL];
}

static double longest(const st_probe_row *rows, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!has_parallel(&rows[i])) continue;
        most = fmax(most, rows[i].median_ns[ST_ARM_SOLO_A] + rows[i].median_ns[ST_ARM_SOLO_B]);
        most = fmax(most, (double)middle_sample(&rows[i])->wall_ns);
    }
    return most * 1.02;
}

static void bar(st_buf *out, const char *class_, double from, double to, double y, double height, double most) {
    double x = st_html_x(from, 0, most);
    st_buf_printf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", class_, x, y,
                  fmax(st_html_x(to, 0, most) - x, 1), height);
}

static void side(st_buf *out, const st_probe_row *row, unsigned which, double most) {
    const st_sample *sample = middle_sample(row);
    double y = which * LANE + (LANE - BAR) / 2, alone = row->median_ns[which ? ST_ARM_SOLO_B : ST_ARM_SOLO_A];
    bar(out, which ? "side-b" : "side-a", (double)sample->start_ns[which], (double)sample->end_ns[which], y, BAR, most);
    bar(out, which ? "alone side-b" : "alone side-a", 0, alone, y - 3, BAR + 6, most);
}

/* "1 from 0.01 to 1.36 ms (alone 1.35)" */
static void side_text(st_buf *out, const st_probe_row *row, unsigned which, bool markup) {
    const st_sample *sample = middle_sample(row);
    st_figure from, to, alone;
    if (markup)
        st_html_name(out, row->name[which]);
    else
        st_html_text(out, row->name[which]);
    st_buf_printf(out, " from %s to %s ms, alone %s", st_figure_ms(from, (double)sample->start_ns[which]),
                  st_figure_ms(to, (double)sample->end_ns[which]),
                  st_figure_ms(alone, row->median_ns[which ? ST_ARM_SOLO_B : ST_ARM_SOLO_A]));
}

static void timeline(st_buf *out, const st_probe_row *row, double most) {
    double sum = st_html_x(row->median_ns[ST_ARM_SOLO_A] + row->median_ns[ST_ARM_SOLO_B], 0, most);
    size_t round = middle_round(row);
    st_buf_printf(out, "<div class=\"strip\"><div class=\"what\"><b>%s</b><span>round %zu</span></div>",
                  row->arrangement->title, round + 1);
    st_buf_printf(out,
                  "<svg viewBox=\"0 0 %g %g\" preserveAspectRatio=\"none\" height=\"%g\" role=\"img\" "
                  "aria-label=\"%s, round %zu: ",
                  ST_HTML_WIDE, HEIGHT, HEIGHT, row->arrangement->title, round + 1);
    side_text(out, row, 0, false);
    st_buf_text(out, "; ");
    side_text(out, row, 1, false);
    st_buf_printf(out, "\"><path class=\"grid\" d=\"M%.1f 0V%g\"/>", ST_HTML_MARGIN, HEIGHT);
    side(out, row, 0, most);
    side(out, row, 1, most);
    st_buf_printf(out, "<path class=\"limit\" d=\"M%.1f 0V%g\"/></svg></div>\n", sum, HEIGHT);
}

static void key(st_buf *out, const st_probe_row *row) {
    for (unsigned which = 0; which < 2; which++) {
        st_buf_printf(out, "%s<li><i class=\"fill-%c\"></i>", which ? "" : "<ul class=\"key\">", which ? 'b' : 'a');
        st_html_name(out, row->name[which]);
        st_buf_text(out, " beside the other</li>");
    }
    st_buf_text(out, "<li><i class=\"box\"></i>outline: alone (median)</li>"
                     "<li><i class=\"dash\"></i>where one after the other would end</li></ul>\n");
}

void st_html_timelines(st_buf *out, const st_probe_row *rows, size_t n) {
    double most = longest(rows, n);
    if (!(most > 0)) return;
    double step = st_html_step(most / 1e6);
    st_buf_text(out, "<h3>One round in time</h3>\n<p class=\"note\">When each side ran in the round that is nearest to "
                     "the median.</p>\n<figure>\n");
    for (size_t i = 0; i < n; i++)
        if (has_parallel(&rows[i])) timeline(out, &rows[i], most);
    st_html_axis(out, 0, most / 1e6, step, " ms");
    key(out, rows);
    st_buf_text(out, "</figure>\n");
}
