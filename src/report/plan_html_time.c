/* SPDX-License-Identifier: MIT */
#include "report/html.h"
#include "report/picture.h"
#include "report/plan_html_impl.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANE 17.0 /* of what was predicted, or measured, on one unit: its bars, and air below them */
#define BAR 14.0
#define LEAST 3.0 /* width of a bar: calls that would be narrower share one, so a lane has a few hundred at most */
#define GAP 0.5   /* between calls of one bar, at most: what is wider is seen */

/* The calls of one lane, in order of time. */
typedef struct lane {
    st_sim_event *events; /* [n] owned */
    size_t n;
    double busy_ns;
} lane;

typedef struct picture {
    const st_choice_row *row;
    double most_ns; /* the end of the axis */
} picture;

static int by_start(const void *a, const void *b) {
    double x = ((const st_sim_event *)a)->start_ns, y = ((const st_sim_event *)b)->start_ns;
    return (x > y) - (x < y);
}

static lane lane_of(st_buf *out, const st_sim_event *events, size_t n, uint32_t unit) {
    lane l = {.events = calloc(n + 1, sizeof *events)};
    out->failed |= !l.events;
    for (size_t i = 0; l.events && i < n; i++) {
        if (events[i].unit != unit) continue;
        l.events[l.n++] = events[i];
        l.busy_ns += events[i].end_ns - events[i].start_ns;
    }
    if (l.n > 0) qsort(l.events, l.n, sizeof *l.events, by_start);
    return l;
}

static double end_of(const st_sim_event *events, size_t n) {
    double end = 0;
    for (size_t i = 0; i < n; i++) end = fmax(end, events[i].end_ns);
    return end;
}

/* ---- bars ---- */

/* "decode 2, stream 1, 4 tokens" */
static void call_text(st_buf *out, const picture *p, const st_sim_event *e) {
    bool chunk = e->unit < p->row->schedule.n_units && e->what != ST_SIM_DRAFT;
    st_buf_text(out, st_sim_what_names[e->what]);
    if (chunk) st_buf_printf(out, " %u", e->chunk + 1u);
    st_buf_printf(out, ", stream %u, %u token%s", e->stream + 1u, e->tokens, e->tokens == 1 ? "" : "s");
}

static void time_text(st_buf *out, double from, double to) {
    st_figure start, end, took;
    st_buf_printf(out, ": %s to %s ms (%s)", st_figure_ms(start, from), st_figure_ms(end, to),
                  st_figure_ms(took, to - from));
}

/* What most of the time of some calls went to. */
static enum st_sim_what main_work(const st_sim_event *events, size_t n) {
    double sum[ST_SIM_WHATS] = {0};
    unsigned most = 0;
    for (size_t i = 0; i < n; i++) sum[events[i].what] += events[i].end_ns - events[i].start_ns;
    for (unsigned w = 1; w < ST_SIM_WHATS; w++)
        if (sum[w] > sum[most]) most = w;
    return (enum st_sim_what)most;
}

/* Neighbours whose chunks differ by one are told apart by their shade. */
static void bar(st_buf *out, const picture *p, const st_sim_event *events, size_t n, double y) {
    double from = events[0].start_ns, to = end_of(events, n);
    double x = st_html_x(from, 0, p->most_ns), end = st_html_x(to, 0, p->most_ns);
    bool pale = n == 1 && events->unit < p->row->schedule.n_units && events->chunk % 2;
    st_buf_printf(out, "<rect class=\"%s%s\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"><title>",
                  st_sim_what_names[main_work(events, n)], pale ? " pale" : "", x, y, fmax(end - x, GAP), BAR);
    if (n == 1)
        call_text(out, p, events);
    else
        st_buf_printf(out, "%zu calls", n);
    time_text(out, from, to);
    st_buf_text(out, "</title></rect>");
}

/* How many of the calls from the first on go into one bar. */
static size_t bar_length(const picture *p, const lane *l, size_t first) {
    double x = st_html_x(l->events[first].start_ns, 0, p->most_ns), end = l->events[first].end_ns;
    size_t n = 1;
    for (; first + n < l->n; n++) {
        const st_sim_event *next = &l->events[first + n];
        double gap = st_html_x(next->start_ns, 0, p->most_ns) - st_html_x(end, 0, p->most_ns);
        if (st_html_x(end, 0, p->most_ns) - x >= LEAST || gap > GAP) break;
        end = fmax(end, next->end_ns);
    }
    return n;
}

static void bars(st_buf *out, const picture *p, const lane *l, double y) {
    for (size_t i = 0, n; i < l->n; i += n) {
        n = bar_length(p, l, i);
        bar(out, p, &l->events[i], n, y);
    }
}

/* ---- units ---- */

/* "predicted 98 % busy, measured 96 %" */
static void busy_text(st_buf *out, const picture *p, const lane *predicted, const lane *measured) {
    double until = p->row->result.end_ns, measured_until = end_of(p->row->measured.events, p->row->measured.n_events);
    st_buf_printf(out, "predicted %.0f %% busy", until > 0 ? 100 * predicted->busy_ns / until : 0);
    if (measured->n)
        st_buf_printf(out, ", measured %.0f %%", measured_until > 0 ? 100 * measured->busy_ns / measured_until : 0);
}

static void unit_strip(st_buf *out, const picture *p, const char *name, const lane *predicted, const lane *measured) {
    double height = measured->n ? 2 * LANE : LANE;
    st_buf_text(out, "<div class=\"strip\"><div class=\"what\"><b>");
    st_html_name(out, name);
    st_buf_text(out, "</b><span>");
    busy_text(out, p, predicted, measured);
    st_buf_printf(out,
                  "</span></div>\n<svg viewBox=\"0 0 %g %g\" preserveAspectRatio=\"none\" height=\"%g\" role=\"img\" "
                  "aria-label=\"",
                  ST_HTML_WIDE, height, height);
    st_html_text(out, name);
    st_buf_printf(out, ", %zu calls: ", predicted->n);
    busy_text(out, p, predicted, measured);
    st_buf_printf(out, "\"><path class=\"grid\" d=\"M%.1f 0V%g\"/>", ST_HTML_MARGIN, height);
    bars(out, p, predicted, 1);
    bars(out, p, measured, LANE + 1);
    st_buf_text(out, "</svg></div>\n");
}

static void unit(st_buf *out, const picture *p, const st_sim_result *again, uint32_t u) {
    const st_schedule *s = &p->row->schedule;
    const st_measured *m = &p->row->measured;
    lane predicted = lane_of(out, again->events, again->n_events, u),
         measured = lane_of(out, m->events, m->n_events, u);
    if (u < s->n_units || predicted.n > 0)
        unit_strip(out, p, u < s->n_units ? s->units[u] : "host", &predicted, &measured);
    free(predicted.events);
    free(measured.events);
}

/* Only the kinds of work that there are. */
static void key(st_buf *out, const st_choice_row *row, const st_sim_result *again) {
    bool there[ST_SIM_WHATS] = {false};
    for (size_t i = 0; i < again->n_events; i++) there[again->events[i].what] = true;
    st_buf_text(out, "<ul class=\"key\">");
    for (unsigned w = 0; w < ST_SIM_WHATS; w++)
        if (there[w]) st_buf_printf(out, "<li><i class=\"%s\"></i>%s</li>", st_sim_what_names[w], st_sim_what_names[w]);
    if (row->schedule.n_chunks > 1) st_buf_text(out, "<li>paler: the chunks of even numbers</li>");
    if (row->measured.n_events) st_buf_text(out, "<li>above: predicted; below: measured</li>");
    st_buf_text(out, "</ul>\n");
}

void st_html_plan_timeline(st_buf *out, const st_choice_row *row, const st_sim_result *again) {
    const st_measured *m = &row->measured;
    picture p = {.row = row,
                 .most_ns = 1.01 * fmax(end_of(again->events, again->n_events), end_of(m->events, m->n_events))};
    if (!(p.most_ns > 0)) return;
    st_buf_text(out, "<figure>\n");
    for (uint32_t u = 0; u <= row->schedule.n_units; u++) unit(out, &p, again, u);
    st_html_axis(out, 0, p.most_ns / 1e6, st_html_step(p.most_ns / 1e6), " ms");
    key(out, row, again);
    st_buf_text(out, "</figure>\n");
}
