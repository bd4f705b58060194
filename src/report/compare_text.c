/* SPDX-License-Identifier: MIT */
#include "report/compare_report.h"
#include "report/probe_words.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 80
#define LABEL 13 /* the longest title of an arrangement */

static void wrapped(st_buf *out, st_buf *text, size_t at) {
    if (text->data) st_text_wrap(out, text->data, at, at, WIDTH);
    out->failed |= text->failed;
    st_buf_free(text);
    st_buf_text(out, "\n");
}

static void head(st_buf *out, const st_compare_report *report) {
    for (unsigned i = 0; i < 2; i++) {
        st_buf line = {0};
        st_buf_printf(out, "%-8s", i ? "after" : "before");
        st_buf_printf(&line, "%s", report->name[i]);
        if (*report->source[i]->time) st_buf_printf(&line, ", %s", report->source[i]->time);
        if (report->compare->n_processes[i] > 1)
            st_buf_printf(&line, ", %u processes", report->compare->n_processes[i]);
        wrapped(out, &line, 8);
    }
    const st_probe_record *record = report->compare->record[0];
    st_buf title = {0};
    st_buf_printf(&title, "%s%s%s", record->title, *record->title ? "; " : "", st_cache_text(record->cache));
    wrapped(out, &title, 0);
    st_buf_text(out, "\n");
}

static bool same_pair(const st_compare_row *x, const st_compare_row *y) {
    const st_probe_row *a = st_compare_either(x), *b = st_compare_either(y);
    return strcmp(a->name[0], b->name[0]) == 0 && strcmp(a->name[1], b->name[1]) == 0;
}

static void factor(char out[static 24], const st_probe_row *row) {
    st_figure figure;
    snprintf(out, 24, "%s", row && row->n_rounds ? st_figure_ratio(figure, st_row_decisive(row)->value) : "-");
}

/* As st_figure_ratio, with a sign. */
static const char *signed_ratio(char out[static sizeof(st_figure)], double value) {
    st_figure size;
    value = st_hundredths(value);
    snprintf(out, sizeof(st_figure), "%c%s", value < 0 ? '-' : '+', st_figure_ratio(size, fabs(value)));
    return out;
}

/* "+12 %", or "-" where there is no such arm */
static void time_change(char out[static 24], const st_compare_row *row, enum st_arm arm) {
    double change = 100 * (row->times[arm].value - 1);
    if (row->measured && row->times[arm].value > 0)
        snprintf(out, 24, "%+.*f %%", change > -9.95 && change < 9.95 ? 1 : 0, change);
    else
        snprintf(out, 24, "-");
}

static void table_line(st_buf *out, const st_compare_row *row) {
    char values[2][24], change[sizeof(st_figure)] = "-", interval[64] = "-", times[3][24];
    const st_probe_row *either = st_compare_either(row);
    for (unsigned i = 0; i < 2; i++) factor(values[i], row->side[i]);
    if (row->measured) {
        st_figure lo, hi;
        signed_ratio(change, row->factor.value);
        snprintf(interval, sizeof interval, "%s to %s", signed_ratio(lo, row->factor.lo),
                 signed_ratio(hi, row->factor.hi));
    }
    time_change(times[0], row, either->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL);
    time_change(times[1], row, ST_ARM_SOLO_A);
    time_change(times[2], row, ST_ARM_SOLO_B);
    st_buf_printf(out, "  %-*s%7s%7s%8s  %-14s%9s%9s%9s\n", LABEL, either->arrangement->title, values[0], values[1],
                  change, interval, times[0], times[1], times[2]);
}

static void table(st_buf *out, const st_compare_row *rows, size_t n) {
    char pair[ST_PAIR_TEXT];
    st_row_pair_text(pair, st_compare_either(rows));
    if (strlen(pair) > LABEL) {
        st_buf_printf(out, "  %s (a and b)\n", pair);
        pair[0] = '\0';
    }
    st_buf_printf(out, "  %-*s%7s%7s%8s  %-14s%9s%9s%9s\n", LABEL, pair, "before", "after", "change", "95 %",
                  "parallel", "a alone", "b alone");
    for (size_t i = 0; i < n; i++) table_line(out, &rows[i]);
    st_buf_text(out, "\n");
}

static const char *change_color(const st_compare_row *row) {
    return row->overlap == ST_CHANGE_MORE ? "\033[1;32m" : row->overlap == ST_CHANGE_LESS ? "\033[1;31m" : "";
}

static void meaning(st_buf *out, const st_compare *compare, const st_compare_row *row, bool color) {
    st_buf text = {0};
    const char *mark = color ? change_color(row) : "";
    st_buf_printf(out, "  %s%-*s%s ", mark, LABEL, st_compare_either(row)->arrangement->title, *mark ? "\033[0m" : "");
    st_compare_row_text(&text, compare, row);
    wrapped(out, &text, 2 + LABEL + 1);
}

static size_t rows_of_pair(const st_compare *compare, size_t first) {
    size_t n = 1;
    while (first + n < compare->n_rows && same_pair(&compare->rows[first], &compare->rows[first + n])) n++;
    return n;
}

void st_compare_text(st_buf *out, const st_compare_report *report, bool color) {
    const st_compare *compare = report->compare;
    head(out, report);
    for (size_t i = 0, n; i < compare->n_rows; i += n) {
        n = rows_of_pair(compare, i);
        table(out, &compare->rows[i], n);
    }
    for (size_t i = 0, n; i < compare->n_rows; i += n) {
        char pair[ST_PAIR_TEXT];
        n = rows_of_pair(compare, i);
        st_buf_printf(out, "  %s\n", st_row_pair_text(pair, st_compare_either(&compare->rows[i])));
        for (size_t k = 0; k < n; k++) meaning(out, compare, &compare->rows[i + k], color);
    }
    st_buf text = {0};
    st_compare_circumstances(&text, report);
    if (text.len) st_buf_text(out, "\n");
    for (const char *at = text.data; at && *at; at += strcspn(at, "\n") + 1) {
        st_buf line = {0};
        st_buf_add(&line, at, strcspn(at, "\n"));
        st_buf_text(out, "  ");
        wrapped(out, &line, 2);
    }
    out->failed |= text.failed;
    st_buf_free(&text);
    st_buf_text(out, "\n  ");
    st_compare_caveat(&text, compare);
    wrapped(out, &text, 2);
}
