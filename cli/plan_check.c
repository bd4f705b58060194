/* SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "plan/pace.h"
#include "plan_rounds.h"
#include "run/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#define RUNS_A_TURN 6                  /* after so many runs costs are measured again */
#define CHECK_NS (300 * 1000000000ull) /* after which no round is begun that was not asked for */

typedef struct check_work {
    session *s;
    st_choice *choice;
    const st_costs *costs; /* that steps are compared with */
    plan_meter *meter;
    int32_t *prompts; /* [streams][prompt] owned */
    st_job *jobs;     /* [streams] owned */
    run_span *spans;  /* [streams] owned */
    uint32_t n_spans, n_runs;
    plan_rounds rounds;
    st_pace *pace;      /* of the run that goes on; owned */
    st_choice_row *row; /* that runs, */
    uint64_t handed_ns; /* since then; 0: it warms up */
    size_t cap_events;
} check_work;

static int note_result(void *arg, const st_job_result *result) {
    check_work *w = arg;
    if (result->n_ids > 0) w->spans[w->n_spans++] = run_span_of(result, w->choice->workload.prompt);
    return 0;
}

static bool room_for_event(check_work *w) {
    st_measured *m = &w->row->measured;
    if (m->n_events < w->cap_events) return true;
    size_t cap = w->cap_events ? 2 * w->cap_events : 256;
    st_sim_event *events = realloc(m->events, cap * sizeof *events);
    if (!events) return false; /* a picture with less in it */
    m->events = events;
    w->cap_events = cap;
    return true;
}

static void note_step(check_work *w, const st_pass_seen *pass, uint32_t chunk) {
    st_measured *m = &w->row->measured;
    uint32_t unit = st_schedule_station_unit(&w->row->schedule, pass->station, chunk);
    st_pace_add(w->pace, &(st_pace_step){.start_ns = pass->start_ns[chunk],
                                         .end_ns = pass->end_ns[chunk],
                                         .chunk = (uint16_t)chunk,
                                         .unit = (uint16_t)unit,
                                         .rows = {pass->n_rows, pass->n_prompt, pass->n_wanted}});
    if (!room_for_event(w)) return;
    m->events[m->n_events++] = (st_sim_event){.start_ns = (double)pass->start_ns[chunk] - (double)w->handed_ns,
                                              .end_ns = (double)pass->end_ns[chunk] - (double)w->handed_ns,
                                              .stream = pass->job,
                                              .tokens = pass->n_rows,
                                              .cause = ST_SIM_NONE,
                                              .chunk = (uint16_t)chunk,
                                              .unit = (uint16_t)unit,
                                              .what = pass->n_prompt ? ST_SIM_PREFILL : ST_SIM_DECODE};
}

static void note_pass(void *arg, const st_pass_seen *pass) {
    check_work *w = arg;
    for (uint32_t c = 0; c < w->row->schedule.n_chunks && w->handed_ns; c++) note_step(w, pass, c);
}

/* Why a schedule is not run; NULL: it is. */
static const char *reason_not_to(const st_schedule *schedule) {
    return schedule->draft != ST_DRAFT_NONE ? "how often drafts are right depends on the text" : NULL;
}

static int open_streams(check_work *w, const st_schedule *schedule, st_lineup *lineup, st_streams **out,
                        stretto_error *err) {
    session *s = w->s;
    const char *names[CLI_LANES_MAX];
    uint32_t lane_of[ST_PLAN_UNITS_MAX];
    st_unit *units[ST_PLAN_UNITS_MAX];
    for (unsigned i = 0; i < s->lanes.n; i++) names[i] = s->lanes.names[i];
    int rc = st_schedule_bind(schedule, s->n_chunks, names, s->lanes.n, lane_of, err);
    if (rc) return rc;
    for (uint32_t u = 0; u < schedule->n_units; u++) units[u] = s->lanes.units[lane_of[u]];
    st_streams_options options = {.model = s->model,
                                  .spans = s->spans,
                                  .n_chunks = s->n_chunks,
                                  .kv_type = session_kv_type(s),
                                  .n_ctx = w->choice->workload.prompt + w->choice->workload.generate,
                                  .cancel = s->cx->stop};
    rc = st_schedule_lineup(schedule, s->n_chunks, units, lineup, &options, err);
    return rc ? rc : st_streams_open(out, &options, err);
}

/* One run of all streams. A warm-up before it wakes the units and touches the memory. */
static int run_streams_of(check_work *w, const st_schedule *schedule, st_lineup *lineup, stretto_error *err) {
    st_streams *streams = NULL;
    st_streams_events events = {.on_result = note_result, .on_pass = note_pass, .arg = w};
    st_job warm = w->jobs[0];
    warm.n_max = 2;
    w->handed_ns = 0;
    int rc = open_streams(w, schedule, lineup, &streams, err);
    if (!rc) rc = st_streams_run(streams, &warm, 1, &events, err);
    w->n_spans = 0; /* the warm-up's does not count */
    w->handed_ns = st_now_ns();
    if (!rc) rc = st_streams_run(streams, w->jobs, w->choice->workload.streams, &events, err);
    st_streams_close(streams);
    for (unsigned i = 0; i < w->s->lanes.n; i++) st_unit_quiet(w->s->lanes.units[i]);
    return rc;
}

/* What came of the run; its steps in a simulation. */
static void note_run(check_work *w, schedule_run *run) {
    st_sim_rates with_steps;
    st_pace_result steps = st_pace_finish(w->pace);
    *run = (schedule_run){
        .measured = run_rates_of(w->spans, w->n_spans), .decode_pace = steps.decode, .prefill_pace = steps.prefill};
    if (st_pace_simulate(w->pace, &steps, &w->row->schedule, &w->choice->workload, &with_steps, NULL)) return;
    run->with_steps = run_rates_of_sim(&with_steps);
}

static int run_row(check_work *w, st_choice_row *row, schedule_run *run, stretto_error *err) {
    st_lineup *lineup = calloc(1, sizeof *lineup);
    if (!lineup) return st_fail_memory(err, "a schedule's units", sizeof *lineup);
    w->n_spans = 0;
    w->row = row;
    w->cap_events = 0;
    free(row->measured.events); /* of the round before */
    row->measured.events = NULL;
    row->measured.n_events = 0;
    int rc = st_pace_open(&w->pace, w->costs, &row->schedule, err);
    if (!rc) rc = run_streams_of(w, &row->schedule, lineup, err);
    if (!rc) note_run(w, run);
    st_pace_close(w->pace);
    w->pace = NULL;
    free(lineup);
    return rc;
}

static int make_jobs(check_work *w, stretto_error *err) {
    const st_workload *load = &w->choice->workload;
    size_t n = (size_t)load->streams * load->prompt;
    w->prompts = calloc(n, sizeof *w->prompts);
    w->jobs = calloc(load->streams, sizeof *w->jobs);
    w->spans = calloc(load->streams, sizeof *w->spans);
    if (!w->prompts || !w->jobs || !w->spans) return st_fail_memory(err, "the prompts", n * sizeof(int32_t));
    for (size_t i = 0; i < n; i++) w->prompts[i] = (int32_t)((i * 7919u + 17u) % w->s->model->n_vocab);
    for (uint32_t i = 0; i < load->streams; i++)
        w->jobs[i] = (st_job){
            .prompt = w->prompts + (size_t)i * load->prompt, .n_prompt = load->prompt, .n_max = load->generate};
    return STRETTO_OK;
}

/* The run of a row in this round, and the meter's turn if there is one after it. A schedule that cannot be run says why
 * in its row. */
static int check_row(check_work *w, size_t i, stretto_error *err) {
    st_choice_row *row = &w->choice->rows[i];
    const char *not_run = reason_not_to(&row->schedule);
    stretto_error why = {0};
    if (not_run) snprintf(row->measured.why, sizeof row->measured.why, "%s", not_run);
    if (row->measured.why[0]) return STRETTO_OK;
    cli_progress(w->s->cx, "checking, round %u: %s", w->rounds.n + 1, row->title);
    int rc = run_row(w, row, plan_rounds_now(&w->rounds, i), &why);
    if (rc == STRETTO_E_INPUT || rc == STRETTO_E_USAGE) {
        snprintf(row->measured.why, sizeof row->measured.why, "%.*s", ST_CUT(why.text, 190));
    } else if (rc) {
        return st_fail(err, rc, "%s: %s", row->title, why.text);
    }
    return w->n_runs++ % RUNS_A_TURN == 0 ? plan_meter_turn(w->meter, err) : STRETTO_OK;
}

static int one_round(check_work *w, stretto_error *err) {
    int rc = STRETTO_OK;
    for (size_t i = 0; i < w->choice->n_possible && !rc; i++) rc = check_row(w, i, err);
    w->rounds.n += !rc;
    return rc;
}

/* `asked` rounds, or, where that is 0, as many as it takes. */
static bool another_round(const check_work *w, uint32_t asked, uint64_t since_ns) {
    const uint32_t n = w->rounds.n;
    if (asked > 0 || n >= PLAN_ROUNDS_MOST) return n < asked && n < PLAN_ROUNDS_MOST;
    if (n < PLAN_ROUNDS_LEAST) return true;
    return st_now_ns() - since_ns < CHECK_NS && !plan_rounds_enough(&w->rounds, w->choice);
}

int plan_check(st_choice *choice, const st_costs *costs, session *s, plan_meter *meter, uint32_t rounds,
               stretto_error *err) {
    check_work w = {.s = s, .choice = choice, .costs = costs, .meter = meter};
    const uint64_t begin = st_now_ns();
    int rc = plan_rounds_open(&w.rounds, choice->n_possible, rounds == 0, err);
    if (!rc) rc = make_jobs(&w, err);
    while (!rc && another_round(&w, rounds, begin)) rc = one_round(&w, err);
    cli_progress_end(s->cx);
    plan_rounds_note(&w.rounds, choice);
    plan_rounds_close(&w.rounds);
    free(w.prompts);
    free(w.jobs);
    free(w.spans);
    return rc;
}
