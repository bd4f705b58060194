/* SPDX-License-Identifier: MIT */
#include "report/compare_report.h"
#include "report/text.h"

#include <string.h>

const st_probe_row *st_compare_either(const st_compare_row *row) {
    return row->side[0] ? row->side[0] : row->side[1];
}

static const char *const time_names[ST_ARM_COUNT] = {
    [ST_ARM_SOLO_A] = "a alone",    [ST_ARM_SOLO_B] = "b alone",        [ST_ARM_SERIAL] = "serial",
    [ST_ARM_PARALLEL] = "parallel", [ST_ARM_QUEUED] = "from one queue", [ST_ARM_BATCHED] = "in one call",
};

/* "1 alone" where the side has a name of its own */
static void time_name(st_buf *out, const st_probe_row *row, enum st_arm arm) {
    if (arm == ST_ARM_SOLO_A || arm == ST_ARM_SOLO_B)
        st_buf_printf(out, "%s alone", row->name[arm == ST_ARM_SOLO_B]);
    else
        st_buf_text(out, time_names[arm]);
}

/* "+12 %" */
static void percent(st_buf *out, double ratio) {
    double change = 100 * (ratio - 1);
    st_buf_printf(out, "%+.*f %%", change > -9.95 && change < 9.95 ? 1 : 0, change);
}

static void times_text(st_buf *out, const st_compare_row *row) {
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) {
        if (row->time[arm] == ST_CHANGE_NONE) continue;
        st_buf_text(out, "; ");
        time_name(out, st_compare_either(row), arm);
        st_buf_text(out, " ");
        percent(out, row->times[arm].value);
        st_buf_text(out, " (");
        percent(out, row->times[arm].lo);
        st_buf_text(out, " to ");
        percent(out, row->times[arm].hi);
        st_buf_text(out, ")");
    }
}

static void missing_text(st_buf *out, const st_compare_row *row) {
    const st_probe_row *before = row->side[0], *after = row->side[1];
    if (!before || !after)
        st_buf_printf(out, "only measured %s", before ? "before" : "after");
    else if (before->n_rounds && after->n_rounds)
        st_buf_text(out, "on one unit in one, on two in the other: their factors mean different things");
    else
        st_buf_printf(out, "not measured %s", before->n_rounds ? "after" : after->n_rounds ? "before" : "in either");
}

void st_compare_row_text(st_buf *out, const st_compare *compare, const st_compare_row *row) {
    if (!row->measured) {
        missing_text(out, row);
        return;
    }
    const char *within = compare->between_runs ? "beyond noise" : "within these two runs";
    if (row->overlap == ST_CHANGE_NONE)
        st_buf_printf(out, "no change of overlap %s", within);
    else
        st_buf_printf(out, "%s overlap %s", row->overlap == ST_CHANGE_MORE ? "more" : "less", within);
    st_buf_printf(out, ": %+.2f, %+.2f to %+.2f", st_hundredths(row->factor.value), st_hundredths(row->factor.lo),
                  st_hundredths(row->factor.hi));
    times_text(out, row);
    if (row->verdict_changed)
        st_buf_printf(out, "; the verdict was %s and is %s", st_overlap_name(row->side[0]->verdict),
                      st_overlap_name(row->side[1]->verdict));
}

static void differ(st_buf *out, const char *what, const char *before, const char *after) {
    if (strcmp(before, after) == 0) return;
    st_buf_printf(out, "%s: %s before, %s after\n", what, *before ? before : "unknown", *after ? after : "unknown");
}

void st_compare_circumstances(st_buf *out, const st_compare_report *report) {
    const st_probe_source *before = report->source[0], *after = report->source[1];
    differ(out, "Stretto", before->version, after->version);
    differ(out, "processor", before->cpu, after->cpu);
    differ(out, "instruction set", before->isa, after->isa);
    differ(out, "kernel", before->kernel, after->kernel);
    for (size_t i = 0; i < report->compare->n_rows; i++) {
        const st_compare_row *row = &report->compare->rows[i];
        if (!row->measured) continue;
        char pair[ST_PAIR_TEXT], what[ST_PAIR_TEXT + 64];
        for (unsigned side = 0; side < 2; side++) {
            snprintf(what, sizeof what, "%s, %s, unit of %s", st_row_pair_text(pair, row->side[0]),
                     row->side[0]->arrangement->title, row->side[0]->name[side]);
            differ(out, what, row->side[0]->unit[side], row->side[1]->unit[side]);
        }
    }
}

void st_compare_caveat(st_buf *out, const st_compare *compare) {
    if (compare->between_runs)
        st_buf_printf(out, "intervals over %u and %u processes and their rounds", compare->n_processes[0],
                      compare->n_processes[1]);
    else
        st_buf_printf(
            out,
            "one run %s: what runs differ by anyway (page placement, clock) is not known, so this cannot tell "
            "whether the change is one; probe with --fresh 5 on both sides",
            compare->n_processes[0] == compare->n_processes[1] ? "a side"
            : compare->n_processes[0] == 1                     ? "before"
                                                               : "after");
}
