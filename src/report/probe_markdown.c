/* SPDX-License-Identifier: MIT
 * The form of the D1 spike's report: TL;DR, methodology, results, interpretation, raw data. */
#include "report/probe_report.h"
#include "report/probe_words.h"
#include "report/text.h"

#include <string.h>

static void worth(st_buf *out, const st_probe_row *rows, size_t n) {
    char pair[ST_PAIR_TEXT];
    st_row_pair_text(pair, rows);
    for (unsigned use = 0; use < ST_USE_COUNT; use++) {
        const st_worth *found = st_rows_worth(rows, n, use);
        if (!found) continue;
        st_buf_text(out, "- ");
        st_text_markdown(out, pair);
        st_buf_printf(out, ", worth it for %s: **%s**, ", st_use_text(use), st_worth_text(found->verdict));
        st_text_markdown(out, found->reason);
        st_buf_text(out, ".\n");
    }
}

/* A line for each row of a pair; one where nothing is known of it. */
static void summary(st_buf *out, const st_probe_row *rows, size_t n) {
    char pair[ST_PAIR_TEXT];
    const char *why = st_rows_unmeasured(rows, n);
    st_row_pair_text(pair, rows);
    if (why) {
        st_buf_text(out, "- ");
        st_text_markdown(out, pair);
        st_buf_text(out, ": not measured, ");
        st_text_markdown(out, why);
        st_buf_text(out, ".\n");
    }
    for (size_t i = 0; i < n && !why; i++) {
        const st_interval *in = st_row_decisive(&rows[i]);
        st_buf_text(out, "- ");
        st_text_markdown(out, st_row_pair_text(pair, &rows[i]));
        st_buf_printf(out, ", %s: ", rows[i].arrangement->title);
        if (rows[i].n_rounds == 0)
            st_buf_text(out, "not measured.\n");
        else
            st_buf_printf(out, "**%s** (overlap factor %s%.2f, 95 %% interval %.2f to %.2f).\n",
                          st_overlap_name(rows[i].verdict), rows[i].one_unit ? "against one queue " : "",
                          st_hundredths(in->value), st_hundredths(in->lo), st_hundredths(in->hi));
    }
}

static void head(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    st_buf_text(out, "# Overlap probe\n\n");
    struct tm utc;
    char date[16];
    if (origin && origin->when && gmtime_r(&origin->when, &utc) && strftime(date, sizeof date, "%Y-%m-%d", &utc))
        st_buf_printf(out, "Date: %s. ", date);
    if (origin && origin->version) st_buf_printf(out, "Stretto %s.", origin->version);
    st_buf_text(out, "\nScope: can two steps run at the same time here, and why or why not?\n\n## TL;DR\n\n");
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        n = st_rows_of_pair(record, i);
        summary(out, &record->rows[i], n);
    }
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        n = st_rows_of_pair(record, i);
        if (!st_rows_unmeasured(&record->rows[i], n)) worth(out, &record->rows[i], n);
    }
}

static void method_place(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    st_buf_text(out, "\n## Methodology\n\n");
    if (origin && origin->host) {
        st_buf_text(out, "- Host: ");
        st_text_markdown(out, origin->host->cpu_model);
        st_buf_text(out, ", ");
        st_text_host(out, origin->host, st_record_others(record));
        st_buf_printf(out, "; Linux %s.\n", origin->host->kernel);
    }
    if (*record->title) {
        st_buf_text(out, "- Model: ");
        st_text_markdown(out, record->title);
        st_buf_text(out, ".\n");
    }
    for (size_t i = 0; i < record->n_rows; i++) {
        const st_arrangement *arrangement = record->rows[i].arrangement;
        bool told = false;
        for (size_t k = 0; k < i; k++) told = told || record->rows[k].arrangement == arrangement;
        if (!told) st_buf_printf(out, "- %s: %s.\n", arrangement->title, arrangement->about);
    }
}

static void method_numbers(st_buf *out, const st_probe_record *record) {
    st_buf_text(
        out, "- A round times each side alone, both one after the other, both started together, and on one unit both "
             "from one queue, once each in an order drawn anew. ");
    st_buf_text(out, record->cache == ST_CACHE_STEP
                         ? "Before each the rest of the model is read, untimed, so that caches are as in a real step.\n"
                         : "Caches are warm: the same chunks again and again.\n");
    st_buf_text(
        out, "- Timed: from the submission to the unit's stamp of the completion. Idle pools are asleep before it.\n"
             "- Overlap factor of a round = (Ta + Tb - Tparallel) / Ts, s the side that is faster alone: 1 is perfect, "
             "0 none, below 0 worse than serial. With the measured serial time in place of Ta + Tb it is the second "
             "factor; with both from one queue, the third, which decides on one unit.\n");
    if (!record->rounds)
        st_buf_text(out, "- Rows take turns of ten rounds; after twenty those that are undecided get four for one of "
                         "the others.\n");
    st_buf_text(out, "- Medians over ");
    st_rows_rounds_text(out, record, record->rows, record->n_rows);
    st_buf_printf(out, "; 95 %% intervals by bootstrap over rounds; seed %llu.\n", (unsigned long long)record->seed);
}

static void interval(st_buf *out, const st_interval *factor) {
    st_buf_printf(out, " %.2f (%.2f to %.2f) |", st_hundredths(factor->value), st_hundredths(factor->lo),
                  st_hundredths(factor->hi));
}

static void result_line(st_buf *out, const st_probe_row *row) {
    st_figure figure[ST_ARM_COUNT];
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) st_figure_ms(figure[arm], row->median_ns[arm]);
    st_buf_printf(out, "| %s | %s | %s | %s | %s |", row->arrangement->title, figure[ST_ARM_SOLO_A],
                  row->k ? "" : figure[ST_ARM_SOLO_B], figure[ST_ARM_SERIAL],
                  figure[row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL]);
    interval(out, &row->overlap);
    interval(out, &row->overlap_serial);
    if (row->one_unit)
        interval(out, &row->overlap_unit);
    else
        st_buf_text(out, " |");
    st_buf_printf(out, " %.2f (%.2f to %.2f) |", row->speedup.value, row->speedup.lo, row->speedup.hi);
    if (!row->k) st_buf_printf(out, " %.2f, %.2f", row->slowdown[0], row->slowdown[1]);
    st_buf_printf(out, " | %zu |\n", row->n_rounds);
}

static void cold_text(st_buf *out, const st_probe_row *row) {
    st_figure cold;
    for (unsigned side = 0; side < 2; side++) {
        if (!row->cold_ns[side]) continue;
        st_figure_ms(cold, (double)row->cold_ns[side]);
        if (row->k && side == 1)
            st_buf_printf(out, "; first call of %u tokens %s ms", row->k, cold);
        else
            st_buf_printf(out, "; first call of %s %s ms", row->name[side], cold);
    }
}

static void results(st_buf *out, const st_probe_row *rows, size_t n) {
    char pair[ST_PAIR_TEXT];
    st_buf_text(out, "\n## Results: ");
    st_text_markdown(out, st_row_pair_text(pair, rows));
    st_buf_text(out, "\n\n| arrangement | ");
    st_text_cell(out, rows->name[0]);
    st_buf_text(out, " (ms) | ");
    st_text_cell(out, rows->name[1]);
    st_buf_text(out, " (ms) | serial both (ms) | parallel (ms) | overlap factor | against serial | against one queue | "
                     "speed-up | slow by | rounds |\n"
                     "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < n; i++)
        if (rows[i].n_rounds > 0) result_line(out, &rows[i]);
    st_buf_text(out, "\n");
    for (size_t i = 0; i < n; i++) {
        st_buf text = {0};
        st_row_verdict_text(&text, &rows[i], true);
        cold_text(&text, &rows[i]);
        st_buf_printf(out, "- %s: ", rows[i].arrangement->title);
        if (text.data) st_text_markdown(out, text.data);
        st_buf_text(out, ".\n");
        out->failed |= text.failed;
        st_buf_free(&text);
    }
}

/* What the units can do at most, and what steps of known nature do on their pairs. */
static void units(st_buf *out, const st_probe_record *record) {
    st_figure figure[3];
    if (record->n_peaks == 0) return;
    st_buf_text(
        out, "\n## Units\n\n| unit | threads | reads (GB/s) | arithmetic (Gmac/s) |\n| --- | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < record->n_peaks; i++) {
        const st_unit_peaks *unit = &record->peaks[i];
        st_buf_printf(out, "| %s | %u | %s | %s |\n", unit->unit, unit->n_threads,
                      st_figure_of(figure[0], unit->gb_per_s), st_figure_of(figure[1], unit->gmac_per_s));
    }
    if (record->join_ns > 0)
        st_buf_printf(out, "\nJoining and dispatch of a pair that does nothing: %s us.\n",
                      st_figure_of(figure[0], record->join_ns / 1e3));
    if (record->n_unit_pairs == 0) return;
    st_buf_text(out, "\n| units | control | first alone | second alone | together | overlap factor |\n"
                     "| --- | --- | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < record->n_unit_pairs; i++)
        for (unsigned kind = 0; kind < ST_CONTROL_COUNT; kind++) {
            const st_unit_pair *pair = &record->unit_pairs[i];
            const st_control_result *c = &pair->controls[kind];
            if (c->n_rounds == 0) continue;
            st_buf_printf(out, "| %s and %s | %s | %s | %s | %s |", pair->unit[0], pair->unit[1], st_control_name(kind),
                          st_figure_of(figure[0], c->solo_rate[0]), st_figure_of(figure[1], c->solo_rate[1]),
                          st_figure_of(figure[2], c->parallel_rate));
            interval(out, &c->overlap);
            st_buf_text(out, "\n");
        }
}

static void warnings(st_buf *out, const st_buf *lines) {
    if (!lines->data) return;
    st_buf_text(out, "\n## Warnings\n\n");
    for (const char *at = lines->data; *at;) {
        size_t n = strcspn(at, "\n");
        st_buf line = {0};
        st_buf_add(&line, at, n);
        st_buf_text(out, "- ");
        if (line.data) st_text_markdown(out, line.data);
        st_buf_text(out, "\n");
        out->failed |= line.failed;
        st_buf_free(&line);
        at += n + (at[n] == '\n');
    }
}

void st_probe_markdown(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    head(out, record, origin);
    method_place(out, record, origin);
    method_numbers(out, record);
    for (size_t i = 0, n; i < record->n_rows; i += n) {
        n = st_rows_of_pair(record, i);
        if (!st_rows_unmeasured(&record->rows[i], n)) results(out, &record->rows[i], n);
    }
    units(out, record);
    warnings(out, &record->warnings);
    if (!origin || !origin->argv) return;
    st_buf_text(out, "\n## Again\n\n```\n");
    st_text_command(out, origin->argc, origin->argv);
    st_buf_text(out, "\n```\n");
}
