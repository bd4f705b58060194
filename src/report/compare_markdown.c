/* SPDX-License-Identifier: MIT */
#include "report/compare_report.h"
#include "report/probe_words.h"
#include "report/text.h"

#include <string.h>

static void source(st_buf *out, const st_compare_report *report, unsigned i) {
    st_buf_printf(out, "- %s: ", i ? "After" : "Before");
    st_text_code(out, report->name[i]);
    if (*report->source[i]->time) {
        st_buf_text(out, ", ");
        st_text_markdown(out, report->source[i]->time);
    }
    st_buf_printf(out, ", %u process%s.\n", report->compare->n_processes[i],
                  report->compare->n_processes[i] == 1 ? "" : "es");
}

static void factor(st_buf *out, const st_probe_row *row) {
    if (!row || !row->n_rounds) {
        st_buf_text(out, " - |");
        return;
    }
    const st_interval *in = st_row_decisive(row);
    st_buf_printf(out, " %.2f (%.2f to %.2f) |", st_hundredths(in->value), st_hundredths(in->lo),
                  st_hundredths(in->hi));
}

static void time_change(st_buf *out, const st_interval *ratio) {
    if (ratio->value > 0)
        st_buf_printf(out, " %+.1f %% (%+.1f to %+.1f) |", 100 * (ratio->value - 1), 100 * (ratio->lo - 1),
                      100 * (ratio->hi - 1));
    else
        st_buf_text(out, " - |");
}

static void table_line(st_buf *out, const st_compare_row *row) {
    const st_probe_row *either = st_compare_either(row);
    char pair[ST_PAIR_TEXT];
    st_text_cell(out, st_row_pair_text(pair, either));
    st_buf_printf(out, " | %s |", either->arrangement->title);
    factor(out, row->side[0]);
    factor(out, row->side[1]);
    if (row->measured)
        st_buf_printf(out, " %+.2f (%+.2f to %+.2f) |", st_hundredths(row->factor.value), st_hundredths(row->factor.lo),
                      st_hundredths(row->factor.hi));
    else
        st_buf_text(out, " - |");
    time_change(out, &row->times[either->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL]);
    time_change(out, &row->times[ST_ARM_SOLO_A]);
    time_change(out, &row->times[ST_ARM_SOLO_B]);
    st_buf_text(out, "\n");
}

static void circumstances(st_buf *out, const st_compare_report *report) {
    st_buf differences = {0};
    st_compare_circumstances(&differences, report);
    for (char *at = differences.data; at && *at;) {
        char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        st_buf_text(out, "- ");
        st_text_markdown(out, at);
        st_buf_text(out, ".\n");
        at = next;
    }
    out->failed |= differences.failed;
    st_buf_free(&differences);
}

void st_compare_markdown(st_buf *out, const st_compare_report *report) {
    const st_compare *compare = report->compare;
    st_buf_text(out, "# Two probes compared\n\n## TL;DR\n\n");
    for (size_t i = 0; i < compare->n_rows; i++) {
        const st_probe_row *either = st_compare_either(&compare->rows[i]);
        char pair[ST_PAIR_TEXT];
        st_buf_text(out, "- ");
        st_text_markdown(out, st_row_pair_text(pair, either));
        st_buf_printf(out, ", %s: ", either->arrangement->title);
        st_compare_row_text(out, compare, &compare->rows[i]);
        st_buf_text(out, ".\n");
    }
    st_buf_text(out, "- Noise: ");
    st_compare_caveat(out, compare);
    st_buf_text(out, ".\n\n## Sides\n\n");
    for (unsigned i = 0; i < 2; i++) source(out, report, i);
    if (*compare->record[0]->title) {
        st_buf_text(out, "- Model: ");
        st_text_markdown(out, compare->record[0]->title);
        st_buf_text(out, ".\n");
    }
    st_buf_printf(out, "- State: %s.\n", st_cache_text(compare->record[0]->cache));
    circumstances(out, report);
    st_buf_text(out, "\n## Numbers\n\n| pair | arrangement | factor before | factor after | change | parallel time | "
                     "a alone | b alone |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < compare->n_rows; i++) {
        st_buf_text(out, "| ");
        table_line(out, &compare->rows[i]);
    }
}
