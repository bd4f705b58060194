/* SPDX-License-Identifier: MIT */
#include "probe/turns.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "probe/rounds.h"

#include <stdio.h>

#define TURN ST_PROBE_LEAST_ROUNDS
#define FAIR 20  /* rounds that every row gets before any gets more */
#define AHEAD 4u /* and then the undecided get so many for one of the others, which become more precise meanwhile */

typedef struct turns {
    const st_probe_setup *setup;
    st_probe_record *record;
    st_row_run *runs; /* [n_jobs] */
    bool *ran;        /* [side * n_units + unit] the side has run there */
    uint64_t end_ns;
    bool stopped;
} turns;

static void row_skip(st_probe_row *row, int code, enum st_stop stop, const char *why) {
    st_fail(&row->error, code, "%s", why);
    row->stop = stop;
    row->flags = ST_ROW_FEW;
    row->rounds_needed = ST_PROBE_LEAST_ROUNDS;
    snprintf(row->evidence, sizeof row->evidence, "not measured: %.*s", ST_CUT(why, 280));
}

/* An equal part of what is left of the budget for each row to come. */
static uint64_t row_share(const turns *t, unsigned rows_left) {
    uint64_t now = st_clock_now(&t->setup->clock);
    return now < t->end_ns ? (t->end_ns - now) / rows_left : 0;
}

static void row_begin(turns *t, unsigned i) {
    const st_probe_setup *setup = t->setup;
    const st_probe_job *job = &setup->jobs[i];
    st_row_plan plan = {
        .job = i, .end_ns = t->end_ns, .seed = setup->seed + i, .share_ns = row_share(t, setup->n_jobs - i)};
    for (unsigned side = 0; side < 2; side++) {
        bool *did = &t->ran[job->side[side] * setup->n_units + job->unit[side]];
        plan.cold[side] = !*did;
        *did = true;
    }
    st_row_begin(&t->runs[i], setup, &plan, &t->record->rows[i]);
}

static bool is_open(const turns *t, unsigned i) {
    return !t->setup->jobs[i].skip && !t->runs[i].ended;
}

/* Whose is the smallest has the next turn. */
static size_t claim(const st_row_run *run) {
    size_t n = run->row->n_rounds;
    if (n < FAIR || st_row_is_decided(run)) return n;
    return n / AHEAD > FAIR ? n / AHEAD : FAIR;
}

/* Of equal claims the undecided one's comes first, then the one with fewer rounds. */
static bool goes_before(const st_row_run *x, const st_row_run *y) {
    size_t own = claim(x), other = claim(y);
    if (own != other) return own < other;
    bool decided = st_row_is_decided(x);
    if (own >= FAIR && decided != st_row_is_decided(y)) return !decided;
    return x->row->n_rounds < y->row->n_rounds;
}

static st_row_run *next_run(turns *t) {
    st_row_run *best = NULL;
    for (unsigned i = 0; i < t->setup->n_jobs; i++) {
        if (!is_open(t, i)) continue;
        if (!best || goes_before(&t->runs[i], best)) best = &t->runs[i];
    }
    return best;
}

/* Rounds that were asked for come in one piece. */
static void all_turns(turns *t) {
    unsigned asked = t->setup->limits.rounds;
    for (st_row_run *run; !t->stopped && (run = next_run(t)) != NULL;) {
        if (!run->setup) row_begin(t, (unsigned)(run - t->runs));
        st_row_turn(run, asked ? asked : TURN);
        t->stopped = run->code == STRETTO_E_STOPPED;
    }
}

/* A row that was never begun, or was between two turns, when the others were stopped. */
static void row_stop(turns *t, unsigned i) {
    st_row_run *run = &t->runs[i];
    if (run->row->n_rounds == 0) {
        row_skip(run->row, STRETTO_E_STOPPED, ST_STOP_CANCELLED, "stopped on request");
        return;
    }
    run->row->stop = ST_STOP_CANCELLED;
    st_row_end(run, NULL);
}

static int all_ends(turns *t, stretto_error *err) {
    int first = STRETTO_OK;
    for (unsigned i = 0; i < t->setup->n_jobs; i++) {
        const char *skip = t->setup->jobs[i].skip;
        if (skip) {
            row_skip(&t->record->rows[i], STRETTO_E_USAGE, ST_STOP_SKIPPED, skip);
        } else if (!t->runs[i].ended) {
            row_stop(t, i);
        } else {
            stretto_error problem;
            int code = st_row_end(&t->runs[i], &problem);
            if (code != STRETTO_OK && first == STRETTO_OK) first = st_fail(err, code, "%s", problem.text);
        }
    }
    return first;
}

int st_turns_run(st_probe_record *record, const st_probe_setup *setup, stretto_error *err) {
    turns t = {.setup = setup, .record = record};
    if (setup->limits.budget_ns) t.end_ns = st_clock_now(&setup->clock) + setup->limits.budget_ns;
    size_t n_ran = (size_t)setup->n_sides * setup->n_units;
    t.runs = st_alloc(setup->n_jobs, sizeof *t.runs);
    t.ran = st_alloc(n_ran, sizeof *t.ran);
    int code = t.runs && t.ran ? STRETTO_OK : st_fail_memory(err, "the probe's rows", setup->n_jobs * sizeof *t.runs);
    if (code == STRETTO_OK) {
        for (unsigned i = 0; i < setup->n_jobs; i++) t.runs[i].row = &record->rows[i];
        all_turns(&t);
        code = all_ends(&t, err);
    }
    st_free(t.runs);
    st_free(t.ran);
    return code;
}
