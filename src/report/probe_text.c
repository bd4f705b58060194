/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"
#include "report/probe_report.h"
#include "report/probe_words.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 80
#define LABEL 13 /* the longest title of an arrangement */
#define USE 12   /* the longest name of a use, and a gap */

/* Names as column heads: a and b where the sides' own would break the table. */
static const char *short_name(const st_probe_row *row, unsigned side) {
    if (strlen(row->name[0]) <= 2 && strlen(row->name[1]) <= 2) return row->name[side];
    return side ? "b" : "a";
}

static void head_line(st_buf *out, const st_probe_row *row) {
    char pair[ST_PAIR_TEXT], solo[2][ST_PROBE_NAME + 8];
    st_row_pair_text(pair, row);
    for (unsigned i = 0; i < 2; i++) snprintf(solo[i], sizeof solo[i], "solo %s", short_name(row, i));
    if (strlen(pair) > LABEL) {
        st_buf_printf(out, "  %s (a and b)\n", pair);
        pair[0] = '\0';
    }
    st_buf_printf(out, "  %-*s%7s%7s%7s%9s%8s  %-13s%10s\n", LABEL, pair, solo[0], solo[1], "serial", "parallel",
                  "overlap", "95 %", "slow by");
}

static void table_line(st_buf *out, const st_probe_row *row) {
    st_buf_printf(out, "  %-*s", LABEL, row->arrangement->title);
    if (row->n_rounds == 0) {
        st_buf_printf(out, "%7s%7s%7s%9s%8s\n", "-", "-", "-", "-", "-");
        return;
    }
    st_figure figure[ST_ARM_COUNT], factor, lo, hi, slow[2] = {"-", "-"};
    char interval[64];
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) st_figure_ms(figure[arm], row->median_ns[arm]);
    for (unsigned i = 0; i < 2 && !row->k; i++) st_figure_ratio(slow[i], row->slowdown[i]);
    snprintf(interval, sizeof interval, "%s to %s", st_figure_ratio(lo, row->overlap.lo),
             st_figure_ratio(hi, row->overlap.hi));
    st_buf_printf(out, "%7s%7s%7s%9s%8s  %-13s%5s%5s\n", figure[ST_ARM_SOLO_A], row->k ? "-" : figure[ST_ARM_SOLO_B],
                  figure[ST_ARM_SERIAL], figure[row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL],
                  st_figure_ratio(factor, row->overlap.value), interval, slow[0], slow[1]);
}

static uint64_t slowest_cold(const st_probe_row *rows, size_t n) {
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned side = 0; side < 2; side++)
            if (rows[i].cold_ns[side] > most) most = rows[i].cold_ns[side];
    return most;
}

static bool any_measured(const st_probe_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].n_rounds > 0) return true;
    return false;
}

static void table(st_buf *out, const st_probe_record *record, const st_probe_row *rows, size_t n) {
    if (!any_measured(rows, n)) return;
    head_line(out, rows);
    for (size_t i = 0; i < n; i++) table_line(out, &rows[i]);
    st_buf note = {0};
    st_buf_text(&note, "ms, medians of ");
    st_rows_rounds_text(&note, record, rows, n);
    st_buf_printf(&note, ", %s", st_cache_text(record->cache));
    st_figure cold;
    uint64_t cold_ns = slowest_cold(rows, n);
    if (cold_ns) st_buf_printf(&note, "; slowest first call %s", st_figure_ms(cold, (double)cold_ns));
    st_buf_printf(&note, "; slow by: how many times longer %s and %s take beside the other", short_name(rows, 0),
                  short_name(rows, 1));
    st_buf_text(out, "  ");
    if (note.data) st_text_wrap(out, note.data, 2, 2, WIDTH);
    out->failed |= note.failed;
    st_buf_free(&note);
    st_buf_text(out, "\n\n");
}

/* Whether a row before the i-th has its arrangement, or, if it is a batch, is one too. */
static bool told_before(const st_probe_record *record, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (record->rows[k].arrangement == record->rows[i].arrangement) return true;
        if (record->rows[k].k && record->rows[i].k) return true;
    }
    return false;
}

static void legend_line(st_buf *out, const char *label, const char *text) {
    st_buf_printf(out, "  %-*s ", LABEL, label);
    st_text_wrap(out, text, 2 + LABEL + 1, 2 + LABEL + 1, WIDTH);
    st_buf_text(out, "\n");
}

/* What the factor and the arrangements are, once for all tables. */
static void legend(st_buf *out, const st_probe_record *record) {
    bool queue_told = false;
    legend_line(out, "overlap",
                "1 where the shorter one costs nothing beside the other, 0 where together (parallel) they "
                "take as long as one after the other, below 0 longer");
    for (size_t i = 0; i < record->n_rows; i++) {
        const st_probe_row *row = &record->rows[i];
        if (told_before(record, i)) continue;
        if (row->k)
            legend_line(out, "one call", "several tokens in one call (parallel) against as many single calls (serial)");
        else
            legend_line(out, row->arrangement->title, row->arrangement->about);
        if (row->one_unit && row->n_rounds > 0 && !queue_told)
            legend_line(out, "one queue", "both from one queue of the unit: what two queues gain against that decides");
        queue_told = queue_told || (row->one_unit && row->n_rounds > 0);
    }
    st_buf_text(out, "\n");
}

/* SGR codes: green, red, yellow, all bold. */
static const char *verdict_color(const st_probe_row *row) {
    if (row->verdict == ST_OVERLAP_OVERLAPS) return "\033[1;32m";
    return row->verdict == ST_OVERLAP_UNDECIDED ? "\033[1;33m" : "\033[1;31m";
}

static void verdict(st_buf *out, const st_probe_row *row, bool color) {
    st_buf rest = {0};
    size_t at = 2 + LABEL + 1;
    st_buf_printf(out, "  %-*s ", LABEL, row->arrangement->title);
    if (row->n_rounds > 0) {
        const char *word = st_overlap_name(row->verdict);
        st_buf_printf(out, "%s%s%s: ", color ? verdict_color(row) : "", word, color ? "\033[0m" : "");
        at += strlen(word) + 2;
    }
    st_row_verdict_text(&rest, row, false);
    if (rest.data) st_text_wrap(out, rest.data, at, 2 + LABEL + 1, WIDTH);
    out->failed |= rest.failed;
    st_buf_free(&rest);
    st_buf_text(out, "\n");
}

/* "worth it?     one stream  no: ..." */
static void worth(st_buf *out, const st_probe_row *rows, size_t n) {
    bool told = false;
    for (unsigned use = 0; use < ST_USE_COUNT; use++) {
        const st_worth *found = st_rows_worth(rows, n, use);
        if (!found) continue;
        char text[sizeof found->reason + 32];
        snprintf(text, sizeof text, "%s%s%s", st_worth_text(found->verdict), *found->reason ? ": " : "", found->reason);
        st_buf_printf(out, "  %-*s %-*s", LABEL, told ? "" : "worth it?", USE, st_use_text(use));
        st_text_wrap(out, text, 2 + LABEL + 1 + USE, 2 + LABEL + 1 + USE, WIDTH);
        st_buf_text(out, "\n");
        told = true;
    }
}

/* A pair of which nothing is known: "1 || 4        not measured: stopped on request". */
static void no_verdict(st_buf *out, const st_probe_row *rows, const char *why) {
    char pair[ST_PAIR_TEXT];
    st_row_pair_text(pair, rows);
    size_t at = 2 + LABEL + 1;
    st_buf_printf(out, "  %-*s ", LABEL, pair);
    if (st_text_columns(pair, strlen(pair)) > LABEL) st_buf_printf(out, "\n%*s", (int)at, "");
    st_buf_text(out, "not measured: ");
    st_text_wrap(out, why, at + strlen("not measured: "), at, WIDTH);
    st_buf_text(out, "\n");
}

static void verdicts(st_buf *out, const st_probe_record *record, bool color) {
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        const st_probe_row *rows = &record->rows[i];
        n = st_rows_of_pair(record, i);
        const char *why = st_rows_unmeasured(rows, n);
        if (why) {
            no_verdict(out, rows, why);
            continue;
        }
        char pair[ST_PAIR_TEXT];
        st_buf_printf(out, "%s  %s\n", i ? "\n" : "", st_row_pair_text(pair, rows));
        for (size_t k = 0; k < n; k++) verdict(out, &rows[k], color);
        worth(out, rows, n);
    }
}

/* "reads 31 GB/s, 117 Gmac/s a thread; joining and dispatch 3 us a pair" */
static void machine_line(st_buf *out, const st_probe_record *record) {
    const st_unit_peaks *most = NULL;
    for (size_t i = 0; i < record->n_peaks; i++)
        if (!most || record->peaks[i].gb_per_s > most->gb_per_s) most = &record->peaks[i];
    st_figure reads, does, join;
    st_buf line = {0};
    if (most)
        st_buf_printf(&line, "%s reads %s GB/s, %s Gmac/s a thread", most->unit, st_figure_of(reads, most->gb_per_s),
                      st_figure_of(does, most->gmac_per_s / most->n_threads));
    if (record->join_ns > 0)
        st_buf_printf(&line, "%sjoining and dispatch %s us a pair", most ? "; " : "",
                      st_figure_of(join, record->join_ns / 1e3));
    if (line.data) {
        st_text_wrap(out, line.data, 0, 2, WIDTH);
        st_buf_text(out, "\n");
    }
    st_buf_free(&line);
}

void st_probe_text(st_buf *out, const st_probe_record *record, const st_origin *origin, bool color) {
    if (*record->title) {
        st_text_wrap(out, record->title, 0, 2, WIDTH);
        st_buf_text(out, "\n");
    }
    if (origin && origin->host) {
        st_text_host(out, origin->host, st_record_others(record));
        st_buf_text(out, "\n");
    }
    machine_line(out, record);
    if (out->len) st_buf_text(out, "\n");
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        n = st_rows_of_pair(record, i);
        table(out, record, &record->rows[i], n);
    }
    if (any_measured(record->rows, record->n_rows)) legend(out, record);
    verdicts(out, record, color);
}

void st_probe_progress_text(st_buf *out, const st_probe_progress *progress) {
    const st_probe_row *row = progress->row;
    char pair[ST_PAIR_TEXT];
    st_buf_printf(out, "probing %s, %s: ", st_row_pair_text(pair, row), row->arrangement->title);
    if (progress->rounds == 0)
        st_buf_text(out, "warming up");
    else
        st_buf_printf(out, "round %zu of about %zu", progress->rounds, progress->expected);
    if (progress->looked)
        st_buf_printf(out, ", %.2f +- %.2f", st_hundredths(progress->factor.value),
                      (progress->factor.hi - progress->factor.lo) / 2);
    if (progress->seconds_left >= 0) st_buf_printf(out, ", %.0f s left", progress->seconds_left);
}
