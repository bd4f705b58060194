/* SPDX-License-Identifier: MIT */
#include "report/probe_words.h"

#include "report/text.h"

#include <inttypes.h>
#include <string.h>

static void undecided_text(st_buf *out, const st_probe_row *row) {
    const st_interval *factor = st_row_decisive(row);
    if (row->flags & ST_ROW_SPREAD)
        st_buf_text(out, "the runs are spread too widely for a verdict");
    else if (row->flags & ST_ROW_FEW)
        st_buf_printf(out, "%zu round%s measured, %" PRIu64 " more are needed", row->n_rounds,
                      row->n_rounds == 1 ? "" : "s", row->rounds_needed);
    else if (row->rounds_needed == ST_ROUNDS_NEVER)
        st_buf_printf(out,
                      "the factor is at the threshold of 0.10 (%.2f to %.2f), and no number of rounds would decide",
                      st_hundredths(factor->lo), st_hundredths(factor->hi));
    else if (row->rounds[0].process != row->rounds[row->n_rounds - 1].process) /* a round of each says little more */
        st_buf_printf(out, "%.2f to %.2f holds the threshold of 0.10; more processes (--fresh) would decide",
                      st_hundredths(factor->lo), st_hundredths(factor->hi));
    else
        st_buf_printf(out, "%.2f to %.2f holds the threshold of 0.10; about %" PRIu64 " more rounds would decide",
                      st_hundredths(factor->lo), st_hundredths(factor->hi), row->rounds_needed);
}

static const char *unmeasured(const st_probe_row *row) {
    return row->error.code != STRETTO_OK ? row->error.text : "no round was completed";
}

const char *st_rows_unmeasured(const st_probe_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].n_rounds > 0 || strcmp(unmeasured(&rows[i]), unmeasured(&rows[0])) != 0) return NULL;
    return unmeasured(&rows[0]);
}

void st_row_why_text(st_buf *out, const st_probe_row *row) {
    if (row->n_rounds == 0) {
        st_buf_printf(out, "not measured: %s", unmeasured(row));
        return;
    }
    bool undecided = row->verdict == ST_OVERLAP_UNDECIDED;
    if (undecided) undecided_text(out, row);
    if (!undecided || row->cause != ST_CAUSE_UNEXPLAINED) /* what is not known has no cause to be explained */
        st_buf_printf(out, "%s%s (%s)", undecided ? "; " : "", st_cause_name(row->cause), row->evidence);
    if (row->stop == ST_STOP_ERROR) st_buf_printf(out, "; ended early: %s", row->error.text);
    if (row->stop == ST_STOP_CANCELLED) st_buf_text(out, "; stopped early on request");
}

void st_row_verdict_text(st_buf *out, const st_probe_row *row, bool with_word) {
    if (with_word && row->n_rounds > 0) st_buf_printf(out, "%s: ", st_overlap_name(row->verdict));
    st_row_why_text(out, row);
    if (row->one_unit && row->n_rounds > 0)
        st_buf_printf(out, "; against one queue %.2f, %.2f to %.2f", st_hundredths(row->overlap_unit.value),
                      st_hundredths(row->overlap_unit.lo), st_hundredths(row->overlap_unit.hi));
}

void st_rows_rounds_text(st_buf *out, const st_probe_record *record, const st_probe_row *rows, size_t n) {
    size_t least = SIZE_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].n_rounds == 0) continue;
        if (rows[i].n_rounds < least) least = rows[i].n_rounds;
        if (rows[i].n_rounds > most) most = rows[i].n_rounds;
    }
    if (most == 0)
        st_buf_text(out, "no rounds");
    else if (least == most)
        st_buf_printf(out, "%zu round%s", most, most == 1 ? "" : "s");
    else
        st_buf_printf(out, "%zu to %zu rounds", least, most);
    if (record->n_processes > 1) st_buf_printf(out, " of %u processes", record->n_processes);
}

const char *st_cache_text(enum st_cache cache) {
    return cache == ST_CACHE_STEP ? "caches as in a real step" : "caches warm";
}

/* What one side does in batches is told with the first pair that it is in. */
static bool same_pair(const st_probe_row *x, const st_probe_row *y) {
    return strcmp(x->name[0], y->name[0]) == 0 && (y->k || strcmp(x->name[1], y->name[1]) == 0);
}

size_t st_rows_of_pair(const st_probe_record *record, size_t first) {
    size_t n = 1;
    while (first + n < record->n_rows && same_pair(&record->rows[first], &record->rows[first + n])) n++;
    return n;
}

/* What a reader wants to know first: two units, then one call; two queues of one unit only where nothing else is. */
static unsigned worth_rank(const st_probe_row *row, const st_worth *worth) {
    if (worth->verdict == ST_WORTH_UNKNOWN) return 0;
    if (row->one_unit) return 1;
    if (worth->verdict == ST_WORTH_PAYS) return row->k ? 4 : 5;
    return row->k ? 2 : 3;
}

const st_worth *st_rows_worth(const st_probe_row *rows, size_t n, enum st_use use) {
    const st_worth *best = NULL;
    unsigned highest = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned rank = worth_rank(&rows[i], &rows[i].worth[use]);
        if (rank == 0 || rank < highest || (rank == highest && rows[i].k == 0)) continue;
        best = &rows[i].worth[use]; /* of several calls the largest, which comes last */
        highest = rank;
    }
    return best;
}

const char *st_use_text(enum st_use use) {
    static const char *const texts[] = {
        [ST_USE_ONE_STREAM] = "one stream", [ST_USE_PREFILL] = "prefill", [ST_USE_STREAMS] = "streams"};
    return texts[use];
}

const char *st_worth_text(enum st_worth_verdict verdict) {
    if (verdict == ST_WORTH_PAYS) return "yes";
    return verdict == ST_WORTH_UNDECIDED ? "undecided" : "no";
}
