/* SPDX-License-Identifier: MIT */
#include "report/html.h"
#include "report/probe_html_impl.h"
#include "report/text.h"

/* A table that a narrow screen scrolls. */
static void head(st_buf *out, const char *label, const char *const *columns, size_t n) {
    st_buf_printf(out, "<div class=\"scroll\" role=\"region\" aria-label=\"%s\" tabindex=\"0\"><table><thead><tr>",
                  label);
    for (size_t i = 0; i < n; i++) st_buf_printf(out, "<th scope=\"col\">%s</th>", columns[i]);
    st_buf_text(out, "</tr></thead>\n<tbody>\n");
}

/* A number of three figures, or a dash where it was not measured. */
static void number(st_buf *out, double value) {
    st_figure figure;
    st_buf_printf(out, "<td>%s</td>", value > 0 ? st_figure_of(figure, value) : "-");
}

static void peaks(st_buf *out, const st_probe_record *record) {
    static const char *const columns[] = {"unit", "threads", "reads, GB/s", "arithmetic, Gmac/s"};
    head(out, "peaks of the units", columns, 4);
    for (size_t i = 0; i < record->n_peaks; i++) {
        const st_unit_peaks *unit = &record->peaks[i];
        st_buf_text(out, "<tr><th scope=\"row\">");
        st_html_name(out, unit->unit);
        st_buf_printf(out, "</th><td>%u</td>", unit->n_threads);
        number(out, unit->gb_per_s);
        number(out, unit->gmac_per_s);
        st_buf_text(out, "</tr>\n");
    }
    st_buf_text(out, "</tbody></table></div>\n");
}

static void control(st_buf *out, const st_unit_pair *pair, enum st_control_kind kind) {
    static const char *const titles[] = {[ST_CONTROL_COMPUTE] = "arithmetic alone, Gmac/s",
                                         [ST_CONTROL_BANDWIDTH] = "reading alone, GB/s",
                                         [ST_CONTROL_CLOCK] = "one addition a cycle, GHz"};
    const st_control_result *c = &pair->controls[kind];
    st_figure factor, lo, hi;
    if (c->n_rounds == 0) return;
    st_buf_text(out, "<tr><th scope=\"row\">");
    st_html_name(out, pair->unit[0]);
    st_buf_text(out, " and ");
    st_html_name(out, pair->unit[1]);
    st_buf_printf(out, "</th><td>%s</td>", titles[kind]);
    number(out, c->solo_rate[0]);
    number(out, c->solo_rate[1]);
    number(out, c->parallel_rate);
    st_buf_printf(out, "<td>%s <small>%s to %s</small></td></tr>\n", st_figure_ratio(factor, c->overlap.value),
                  st_figure_ratio(lo, c->overlap.lo), st_figure_ratio(hi, c->overlap.hi));
}

static void controls(st_buf *out, const st_probe_record *record) {
    static const char *const columns[] = {"units", "step", "first alone", "second alone", "together", "overlap factor"};
    st_buf_text(out, "<h3>Steps of known nature</h3>\n<p class=\"note\">Run on each pair of units in the same rounds "
                     "as the chunks: what they do is what the units themselves allow at that time.</p>\n");
    head(out, "controls", columns, 6);
    for (size_t i = 0; i < record->n_unit_pairs; i++)
        for (unsigned kind = 0; kind < ST_CONTROL_COUNT; kind++) control(out, &record->unit_pairs[i], kind);
    st_buf_text(out, "</tbody></table></div>\n");
}

/* What the break-evens rest on: much, and of use to few. */
static void costs(st_buf *out, const st_probe_record *record) {
    static const char *const columns[] = {"chunk", "unit", "work", "tokens of a call", "ms"};
    st_figure ms;
    st_buf_text(out, "<details><summary>What each chunk costs alone on each unit</summary>\n");
    head(out, "costs", columns, 5);
    for (size_t i = 0; i < record->n_costs; i++) {
        const st_solo_cost *cost = &record->costs[i];
        st_buf_text(out, "<tr><th scope=\"row\">");
        st_html_name(out, cost->chunk);
        st_buf_text(out, "</th><td>");
        st_html_name(out, cost->unit);
        st_buf_printf(out, "</td><td>%s</td><td>%u</td><td>%s</td></tr>\n", cost->prefill ? "prefill" : "decode",
                      cost->tokens, st_figure_ms(ms, cost->ns));
    }
    st_buf_text(out, "</tbody></table></div></details>\n");
}

void st_html_units(st_buf *out, const st_probe_record *record) {
    if (record->n_peaks == 0 && record->n_unit_pairs == 0 && !(record->join_ns > 0)) return;
    st_figure join;
    st_buf_text(out, "<section class=\"card\">\n<h2>Units</h2>\n");
    if (record->n_peaks) peaks(out, record);
    if (record->join_ns > 0)
        st_buf_printf(out, "<p class=\"note\">Joining and dispatch of a pair that does nothing: %s &micro;s.</p>\n",
                      st_figure_of(join, record->join_ns / 1e3));
    if (record->n_unit_pairs) controls(out, record);
    if (record->n_costs) costs(out, record);
    st_buf_text(out, "</section>\n");
}
