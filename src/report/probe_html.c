/* SPDX-License-Identifier: MIT */
#include "report/html.h"
#include "report/page.h"
#include "report/probe_html_impl.h"
#include "report/probe_report.h"
#include "report/probe_words.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

/* ---- the verdict ---- */

/* Whether a row answers the question of its pair, which begins at first: a batch of a side says nothing of two. */
static bool answers(const st_probe_row *first, const st_probe_row *row) {
    return row->n_rounds > 0 && (row->k > 0) == (first->k > 0);
}

static size_t count_verdict(const st_probe_row *rows, size_t n, enum st_overlap verdict) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += answers(rows, &rows[i]) && rows[i].verdict == verdict;
    return count;
}

/* "Yes, with two units, one thread." */
static void answer(st_buf *out, const st_probe_row *rows, size_t n) {
    size_t measured = 0, told = 0;
    for (size_t i = 0; i < n; i++) measured += answers(rows, &rows[i]);
    if (measured == 0)
        st_buf_text(out, "<strong>Not measured.</strong>");
    else if (count_verdict(rows, n, ST_OVERLAP_OVERLAPS) > 0)
        st_buf_text(out, "<strong>Yes</strong>, with ");
    else
        st_buf_printf(out, "<strong>%s.</strong>", count_verdict(rows, n, ST_OVERLAP_UNDECIDED) ? "Undecided" : "No");
    for (size_t i = 0; i < n; i++) {
        if (!answers(rows, &rows[i]) || rows[i].verdict != ST_OVERLAP_OVERLAPS) continue;
        st_buf_printf(out, "%s%s", told++ ? ", " : "", rows[i].arrangement->title);
    }
    if (told) st_buf_text(out, ".");
}

/* "1 and 3", or of batches of one side "several tokens of 1". */
static void pair_name(st_buf *out, const st_probe_row *row) {
    if (row->k) st_buf_text(out, "several tokens of ");
    st_html_name(out, row->name[0]);
    if (row->k) return;
    st_buf_text(out, " and ");
    st_html_name(out, row->name[1]);
}

/* Where there are several pairs: each one's answer, as a way to its part of the page. */
static void summary(st_buf *out, const st_probe_record *record) {
    if (record->n_rows == 0 || st_rows_of_pair(record, 0) == record->n_rows) return;
    st_buf_text(out, "<nav class=\"card\" aria-label=\"all pairs\"><ul class=\"findings\">\n");
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        const st_probe_row *rows = &record->rows[i];
        n = st_rows_of_pair(record, i);
        st_buf_printf(out, "<li><a class=\"where\" href=\"#pair%zu\">", i);
        pair_name(out, rows);
        st_buf_text(out, "</a><div>");
        answer(out, rows, n);
        st_buf_text(out, "</div></li>\n");
    }
    st_buf_text(out, "</ul></nav>\n");
}

static void finding(st_buf *out, const st_probe_row *row) {
    st_buf why = {0};
    st_buf_printf(out, "<li><span class=\"where\">%s</span><div>", row->arrangement->title);
    if (row->n_rounds > 0) {
        const st_interval *in = st_row_decisive(row);
        const char *word = st_overlap_name(row->verdict);
        st_figure value, lo, hi;
        st_buf_printf(out,
                      "<span class=\"chip %s\">%s</span> overlap factor %s <span class=\"why\">(%s to %s%s)</span><br>",
                      word, word, st_figure_ratio(value, in->value), st_figure_ratio(lo, in->lo),
                      st_figure_ratio(hi, in->hi), row->one_unit ? ", against one queue" : "");
    }
    st_row_why_text(&why, row);
    st_buf_text(out, "<span class=\"why\">");
    st_html_text(out, why.data ? why.data : "");
    st_buf_text(out, "</span></div></li>\n");
    out->failed |= why.failed;
    st_buf_free(&why);
}

static void worth(st_buf *out, const st_probe_row *rows, size_t n) {
    bool told = false;
    for (unsigned use = 0; use < ST_USE_COUNT; use++) {
        const st_worth *found = st_rows_worth(rows, n, use);
        if (!found) continue;
        if (!told) st_buf_text(out, "<li><span class=\"where\">worth it?</span><dl class=\"uses\">");
        told = true;
        st_buf_printf(out, "<dt>%s</dt><dd><strong>%s</strong>%s", st_use_text(use), st_worth_text(found->verdict),
                      *found->reason ? ": " : "");
        st_html_text(out, found->reason);
        st_buf_text(out, "</dd>");
    }
    if (told) st_buf_text(out, "</dl></li>\n");
}

static void verdict(st_buf *out, const st_probe_row *rows, size_t n) {
    st_buf_text(out, "<h2>Can ");
    pair_name(out, rows);
    st_buf_printf(out, " %s?</h2>\n<p class=\"answer\">", rows->k ? "share a call" : "run at the same time");
    const char *why = st_rows_unmeasured(rows, n);
    if (why) {
        st_buf_text(out, "<strong>Not measured</strong>: ");
        st_html_text(out, why);
        st_buf_text(out, ".</p>\n");
        return;
    }
    answer(out, rows, n);
    st_buf_text(out, "</p>\n<ul class=\"findings\">\n");
    for (size_t i = 0; i < n; i++) finding(out, &rows[i]);
    worth(out, rows, n);
    st_buf_text(out, "</ul>\n");
}

/* ---- the table ---- */

static void cell(st_buf *out, const char *label, const char *text) {
    st_buf_text(out, "<td role=\"cell\" data-label=\"");
    st_html_text(out, label);
    st_buf_printf(out, "\">%s</td>", text);
}

static void cell_interval(st_buf *out, const char *label, const st_interval *in) {
    st_figure value, lo, hi;
    st_buf_printf(out, "<td role=\"cell\" data-label=\"%s\">%s <small>%s to %s</small></td>", label,
                  st_figure_ratio(value, in->value), st_figure_ratio(lo, in->lo), st_figure_ratio(hi, in->hi));
}

/* names: of the table's sides, which a batch of one has not both. */
static void table_row(st_buf *out, const st_probe_row *row, const char *const names[2]) {
    char label[ST_PROBE_NAME + 16];
    st_figure figure;
    st_buf_printf(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th>", row->arrangement->title);
    if (row->n_rounds == 0) {
        st_buf_text(out, "<td role=\"cell\" class=\"whole\" colspan=\"8\">not measured</td></tr>\n");
        return;
    }
    for (unsigned side = 0; side < 2; side++) {
        snprintf(label, sizeof label, "%s alone, ms", names[side]);
        cell(out, label, side && row->k ? "-" : st_figure_ms(figure, row->median_ns[ST_ARM_SOLO_A + side]));
    }
    cell(out, "serial, ms", st_figure_ms(figure, row->median_ns[ST_ARM_SERIAL]));
    cell(out, "parallel, ms", st_figure_ms(figure, row->median_ns[row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL]));
    cell_interval(out, "overlap factor", &row->overlap);
    cell_interval(out, "speed-up", &row->speedup);
    for (unsigned side = 0; side < 2; side++) {
        snprintf(label, sizeof label, "%s slower by", names[side]);
        cell(out, label, row->k ? "-" : st_figure_ratio(figure, row->slowdown[side]));
    }
    st_buf_text(out, "</tr>\n");
}

static void column(st_buf *out, const char *name, const char *text) {
    st_buf_text(out, "<th role=\"columnheader\" scope=\"col\">");
    if (name) st_html_name(out, name);
    st_buf_printf(out, "%s</th>", text);
}

static void table(st_buf *out, const st_probe_record *record, const st_probe_row *rows, size_t n) {
    const char *const names[2] = {rows->name[0], rows->k ? "b" : rows->name[1]};
    st_buf_text(out, "<table class=\"times\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">");
    column(out, NULL, "");
    column(out, names[0], " alone, ms");
    column(out, names[1], " alone, ms");
    column(out, NULL, "serial, ms");
    column(out, NULL, "parallel, ms");
    column(out, NULL, "overlap factor");
    column(out, NULL, "speed-up");
    column(out, names[0], " slower by");
    column(out, names[1], " slower by");
    st_buf_text(out, "</tr></thead>\n<tbody role=\"rowgroup\">\n");
    for (size_t i = 0; i < n; i++) table_row(out, &rows[i], names);
    st_buf_text(out, "</tbody></table>\n<p class=\"note\">Medians of ");
    st_rows_rounds_text(out, record, rows, n);
    st_buf_printf(out, ", %s. The intervals hold the true value in 95 %% of probes.</p>\n",
                  st_cache_text(record->cache));
}

static void pair(st_buf *out, const st_probe_record *record, size_t first, size_t n) {
    const st_probe_row *rows = &record->rows[first];
    bool measured = false;
    for (size_t i = 0; i < n; i++) measured = measured || rows[i].n_rounds > 0;
    st_buf_printf(out, "<section class=\"card\" id=\"pair%zu\">\n", first);
    verdict(out, rows, n);
    if (measured) {
        st_buf_text(out, "<h3>Times</h3>\n");
        table(out, record, rows, n);
        st_buf_text(out,
                    "<h3>Overlap factor of every round</h3>\n<p class=\"note\">1: the shorter one costs nothing "
                    "beside the other; 0: together they take as long as one after the other; below 0: longer.</p>\n");
        st_html_dots(out, rows, n);
        st_html_timelines(out, rows, n);
    }
    st_buf_text(out, "</section>\n");
}

/* ---- conditions ---- */

static void state_text(st_buf *out, const st_conditions *c) {
    if (c->load >= 0) st_buf_printf(out, "load %.2f, ", c->load);
    st_buf_printf(out, "%u CPUs allowed", c->n_cpus);
    if (c->quota_cpus > 0) st_buf_printf(out, ", quota %g", c->quota_cpus);
    if (*c->governor) st_buf_printf(out, ", governor %s", c->governor);
    if (c->throttled >= 0) st_buf_printf(out, ", throttled %" PRId64 " times since boot", c->throttled);
}

static void limits_text(st_buf *out, const st_probe_record *record) {
    if (record->rounds)
        st_buf_printf(out, "%u rounds of each row", record->rounds);
    else
        st_buf_printf(out, "rounds until the interval is narrower than %g", record->precision);
    if (record->budget_ns) st_buf_printf(out, ", within %g s", (double)record->budget_ns * 1e-9);
    st_buf_printf(out, "; took %.1f s; seed %" PRIu64, (double)record->duration_ns * 1e-9, record->seed);
}

static void conditions(st_buf *out, const st_probe_record *record, const st_page *page) {
    st_buf text = {0};
    st_buf_text(out, "<section class=\"card\">\n<h2>Conditions</h2>\n<dl class=\"facts\">\n");
    st_page_machine(out, page);
    if (record->has_conditions) {
        state_text(&text, &record->before);
        st_page_fact(out, "before", &text);
        state_text(&text, &record->after);
        st_page_fact(out, "after", &text);
    }
    limits_text(&text, record);
    st_page_fact(out, "limits", &text);
    st_buf_text(&text, st_cache_text(record->cache));
    st_page_fact(out, "caches", &text);
    st_buf_text(out, "</dl>\n");
    st_page_again(out, page);
    st_buf_text(out, "</section>\n");
}

static void method(st_buf *out, const st_probe_record *record) {
    st_buf_text(out,
                "<section class=\"card\">\n<h2>How it was measured</h2>\n"
                "<p>A round times each side alone, both one after the other, both started together and, on one unit, "
                "both from one queue, once each in an order drawn anew. ");
    st_buf_text(out, record->cache == ST_CACHE_STEP
                         ? "Before each the rest of the model is read, untimed, so that caches are as in a real step."
                         : "Caches are warm: the same chunks again and again.");
    st_buf_text(
        out,
        "</p>\n<p>The overlap factor of a round is (Ta + Tb &minus; Tparallel) / Ts, s the side that is faster "
        "alone. On one unit the time from one queue takes the place of Ta + Tb for the verdict. Times run from the "
        "submission to the unit's own stamp of the completion; medians over all rounds, outliers included; "
        "intervals by bootstrap over whole rounds.</p>\n<dl class=\"facts\">\n");
    for (size_t i = 0; i < record->n_rows; i++) {
        const st_arrangement *arrangement = record->rows[i].arrangement;
        bool told = false;
        for (size_t k = 0; k < i; k++) told = told || record->rows[k].arrangement == arrangement;
        if (!told) st_buf_printf(out, "<dt>%s</dt><dd>%s</dd>\n", arrangement->title, arrangement->about);
    }
    st_buf_text(out, "</dl>\n</section>\n");
}

void st_probe_html(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    const st_page page = {.kind = "Overlap probe",
                          .title = record->title,
                          .file = "probe.json",
                          .data = "all samples",
                          .others = st_record_others(record),
                          .warnings = &record->warnings,
                          .origin = origin};
    st_page_begin(out, &page);
    summary(out, record);
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        n = st_rows_of_pair(record, i);
        pair(out, record, i, n);
    }
    st_page_warnings(out, &page);
    st_html_units(out, record);
    conditions(out, record, &page);
    method(out, record);
    st_page_end(out, &page, st_probe_json(record, origin));
}
