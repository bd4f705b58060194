/* SPDX-License-Identifier: MIT */
#include "run_setup.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "device/cpu.h"
#include "input.h"
#include "plan_measure.h"
#include "json/read.h"

#include <stdio.h>
#include <string.h>

#define STREAMS_DEFAULT 4
#define PROMPT_ALONE 256 /* tokens of a prompt in a pass that no other stream waits for */

static bool speculates(const run_options *o) {
    return strcmp(o->speculate, "lookup") == 0;
}

bool run_needs_streams(const run_options *o) {
    return o->prompts || o->schedule || speculates(o);
}

void run_setup_close(run_setup *setup) {
    run_draft_close(&setup->draft);
    run_expected_close(&setup->expected);
}

uint32_t run_setup_streams(const run_setup *setup) {
    if (setup->scheduled) return setup->schedule.streams;
    if (!setup->o->prompts || speculates(setup->o)) return 1;
    return setup->o->streams ? setup->o->streams : STREAMS_DEFAULT;
}

/* ---- the schedule ---- */

#define PREDICTED_MOST 1e30 /* a table may have steps of days */

static double number_at(st_json_in *in, const st_json_value *object, const char *key) {
    return st_json_has(object, key) ? st_json_number(in, object, key, 0, PREDICTED_MOST) : 0;
}

/* What the planner wrote beside the schedule, if it did. */
static int read_predicted(run_setup *setup, const char *text, size_t len, stretto_error *err) {
    st_json_in in;
    st_json_value top = st_json_begin(&in, text, len, err);
    st_json_value predicted = st_json_maybe(&in, &top, "predicted", JSON_OBJECT);
    st_json_value planned = st_json_maybe(&in, &top, "workload", JSON_OBJECT);
    run_expected *e = &setup->expected;
    *e = (run_expected){.there = predicted.json != NULL, .for_known = planned.json != NULL};
    e->rates = (run_rates){.tokens_per_s = number_at(&in, &predicted, "tokens_per_s"),
                           .stream_tokens_per_s = number_at(&in, &predicted, "stream_tokens_per_s"),
                           .prefill_tokens_per_s = number_at(&in, &predicted, "prefill_tokens_per_s"),
                           .ttft_ms = number_at(&in, &predicted, "ttft_ns") / 1e6};
    if (e->for_known)
        e->workload =
            (st_workload){.streams = (uint32_t)st_json_integer(&in, &planned, "streams", 1, UINT32_MAX),
                          .prompt = (uint32_t)st_json_integer(&in, &planned, "prompt_tokens", 1, UINT32_MAX),
                          .generate = (uint32_t)st_json_integer(&in, &planned, "generated_tokens", 1, UINT32_MAX)};
    st_json_value costs = st_json_maybe(&in, &top, "costs", JSON_OBJECT);
    e->has_costs = costs.json != NULL;
    if (e->has_costs) st_costs_read(&in, &costs, &e->costs);
    return st_json_end(&in);
}

/* The file's units as this machine has them: each is one set of cores. */
static int check_units(const st_schedule *s, stretto_error *err) {
    st_host host = {0};
    int rc = st_host_read(&host, "", err);
    for (uint32_t u = 0; u < s->n_units && !rc; u++) {
        st_core_set *sets = NULL;
        unsigned n = 0;
        rc = st_core_sets_parse(&sets, &n, s->units[u], &host, NULL, err);
        if (rc == STRETTO_E_USAGE) rc = st_fail(err, STRETTO_E_INPUT, "%s", err->text);
        if (!rc && n != 1)
            rc =
                st_fail(err, STRETTO_E_INPUT, "unit \"%s\" is a list of %u; expected one, as in cpu:0", s->units[u], n);
        st_core_sets_free(sets, n);
    }
    st_host_free(&host);
    return rc;
}

static int read_file(run_setup *setup, const cli *cx, stretto_error *err) {
    st_buf text = {0};
    stretto_error why = {0};
    int rc = cli_read_at_most(cx, setup->o->schedule, RUN_SCHEDULE_MAX, &text, err);
    if (!rc) {
        const char *bytes = text.len ? text.data : "";
        rc = st_schedule_parse(&setup->schedule, bytes, text.len, &why);
        if (!rc) rc = read_predicted(setup, bytes, text.len, &why);
        if (!rc) rc = check_units(&setup->schedule, &why);
        if (rc) st_fail(err, rc, "%.*s: %.*s", ST_CUT(cli_shown_path(setup->o->schedule), 200), ST_CUT(why.text, 290));
    }
    st_buf_free(&text);
    return rc;
}

/* --streams wins over the file's number, for which the prediction was; they share as many calls. */
static int set_streams(run_setup *setup, stretto_error *err) {
    st_schedule *s = &setup->schedule;
    if (!setup->o->streams || setup->o->streams == s->streams) return STRETTO_OK;
    setup->expected.there = false;
    st_schedule_set_streams(s, setup->o->streams);
    stretto_error why = {0};
    if (!st_schedule_check(s, &why)) return STRETTO_OK;
    return st_fail(err, STRETTO_E_USAGE, "--streams %u with %.*s: %.*s", setup->o->streams,
                   ST_CUT(cli_shown_path(setup->o->schedule), 200), ST_CUT(why.text, 250));
}

/* As options of the session: units, their threads, and chunks. */
static void write_options(run_setup *setup) {
    const st_schedule *s = &setup->schedule;
    size_t at = 0;
    for (uint32_t u = 0; u < s->n_units; u++)
        at += (size_t)snprintf(setup->units + at, sizeof setup->units - at, "%s%s", u ? "," : "", s->units[u]);
    setup->session.units = setup->units;
    at = 0;
    for (uint32_t c = 0; c < s->n_chunks && s->chunks[0].has_layers; c++)
        at += (size_t)snprintf(setup->chunks + at, sizeof setup->chunks - at, "%s%u-%u", c ? "," : "",
                               s->chunks[c].first, s->chunks[c].last);
    if (at > 0) setup->session.chunks = setup->chunks;
    memcpy(setup->threads, s->threads, sizeof setup->threads);
    if (s->kind == ST_SCHEDULE_SERIAL) setup->threads[s->chunks[0].unit] = 1;
    setup->session.each_threads = setup->threads;
}

static bool is_stdin(const char *path) {
    return path && strcmp(path, "-") == 0;
}

/* What is read from standard input beside the schedule, or NULL. */
static const char *other_stdin(const run_options *o) {
    if (o->prompts) return is_stdin(o->prompts) ? "--prompts" : NULL;
    if (o->ids) return is_stdin(o->ids) ? "--ids" : NULL;
    return o->prompt || (o->file && !is_stdin(o->file)) ? NULL : "the prompt";
}

static int check_options(const run_options *o, stretto_error *err) {
    if (is_stdin(o->schedule) && other_stdin(o))
        return st_fail(err, STRETTO_E_USAGE, "standard input is --schedule's: it cannot have %s, too", other_stdin(o));
    const session_options *s = &o->session;
    const char *given = s->units ? "--units" : s->place ? "--place" : s->threads ? "--threads" : NULL;
    if (o->schedule && given)
        return st_fail(err, STRETTO_E_USAGE, "the schedule says where chunks run: no %s beside it", given);
    if (o->schedule && speculates(o))
        return st_fail(err, STRETTO_E_USAGE, "the schedule says whether to speculate: no --speculate beside it");
    if (speculates(o) && o->prompts && o->streams > 1)
        return st_fail(err, STRETTO_E_USAGE, "--speculate is for one stream, not %u; a schedule can have more",
                       o->streams);
    return STRETTO_OK;
}

int run_setup_read(run_setup *setup, cli *cx, const run_options *o, stretto_error *err) {
    *setup = (run_setup){.o = o, .session = o->session, .scheduled = o->schedule != NULL};
    setup->automatic = o->schedule && strcmp(o->schedule, "auto") == 0;
    int rc = check_options(o, err);
    if (rc || !setup->scheduled || setup->automatic) return rc;
    rc = read_file(setup, cx, err);
    if (!rc) rc = set_streams(setup, err);
    if (!rc) write_options(setup);
    return rc;
}

int run_setup_place(const run_setup *setup, session *s, stretto_error *err) {
    int rc = session_place(s, !setup->scheduled, err);
    if (rc != STRETTO_E_USAGE || !setup->chunks[0]) return rc;
    return st_fail(err, STRETTO_E_INPUT, "%.*s: %.*s", ST_CUT(cli_shown_path(setup->o->schedule), 200),
                   ST_CUT(err->text, 290)); /* the layers are the file's */
}

/* ---- the choice ---- */

/* The schedule is chosen for those that are in flight at once; what is predicted is all prompts, which wait for each
 * other. */
static int take_best(run_setup *setup, const st_choice *choice, const st_workload *all, cli *cx, stretto_error *err) {
    run_expected *e = &setup->expected;
    st_sim_result result;
    st_sim_options options = {.seed = choice->seed, .cancel = cx->stop};
    setup->schedule = choice->rows[0].schedule;
    int rc = st_simulate(&result, &e->costs, &setup->schedule, all, &options, err);
    if (rc && rc != STRETTO_E_INPUT) return rc;
    e->there = e->for_known = !rc; /* else there are too many for a prediction */
    e->workload = *all;
    if (!rc) e->rates = run_rates_predicted(&result);
    st_sim_result_free(&result);
    if (!setup->o->quiet) cli_note(cx, "schedule: %s", choice->reason[0] ? choice->reason : choice->rows[0].title);
    return STRETTO_OK;
}

int run_setup_choose(run_setup *setup, session *s, const st_workload *workload, stretto_error *err) {
    if (!setup->automatic) return STRETTO_OK;
    st_costs *costs = &setup->expected.costs;
    st_choice choice = {0};
    plan_meter *meter = NULL;
    st_workload in_flight = *workload;
    uint32_t most = setup->o->streams ? setup->o->streams : STREAMS_DEFAULT;
    if (in_flight.streams > most) in_flight.streams = most;
    enum st_goal goal = setup->o->prompts ? ST_GOAL_THROUGHPUT : ST_GOAL_LATENCY;
    int rc = cli_lanes_add_halves(&s->lanes, &s->cx->log, err);
    if (!rc) rc = plan_meter_open(&meter, s, &in_flight, err);
    if (!rc) rc = plan_meter_turns(meter, err);
    if (!rc) rc = plan_meter_costs(meter, costs, err);
    if (!rc) plan_meter_others(meter);
    setup->expected.has_costs = !rc;
    if (!rc && costs->measured[0]) st_warn(&s->cx->log, "costs: %s", costs->measured);
    plan_meter_close(meter);
    if (!rc) rc = st_choose(&choice, costs, &in_flight, goal, setup->o->seed, s->cx->stop, err);
    if (!rc && choice.n_possible == 0) rc = st_fail(err, STRETTO_E_INPUT, "no schedule is possible here");
    if (!rc) rc = take_best(setup, &choice, workload, s->cx, err);
    st_choice_free(&choice);
    return rc;
}

/* ---- streams ---- */

/* What the KV of all streams needs must be there: a machine that swaps measures nothing. */
static int check_memory(const session *s, const st_streams_options *o, stretto_error *err) {
    uint64_t one = 0, there = s->lanes.host.memory_bytes;
    for (uint32_t i = 0; i < o->n_chunks; i++)
        one += st_kv_size(o->model, o->spans[i], o->kv_type, o->n_ctx, o->prompt_rows ? o->prompt_rows : 1);
    uint64_t all = one * o->n_streams + s->model->weights.bytes;
    if (!there || all <= there) return STRETTO_OK;
    return st_fail(
        err, STRETTO_E_INPUT,
        "unit %s has too little memory: weights and the KV of %u streams of %u positions need %.1f GB, there "
        "are %.1f",
        s->lanes.names[0], o->n_streams, o->n_ctx, (double)all / 1e9, (double)there / 1e9);
}

static int use_schedule(run_setup *setup, session *s, st_streams_options *options, stretto_error *err) {
    const st_schedule *schedule = &setup->schedule;
    const char *names[CLI_LANES_MAX];
    uint32_t lane_of[ST_PLAN_UNITS_MAX];
    st_unit *units[ST_PLAN_UNITS_MAX];
    stretto_error why = {0};
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < s->lanes.n; i++) names[i] = s->lanes.names[i];
    for (uint32_t u = 0; u < schedule->n_units; u++) lane_of[u] = u; /* a file's units were opened in its order */
    if (setup->automatic)
        rc = st_schedule_bind(schedule, s->n_chunks, names, s->lanes.n, lane_of, &why);
    else if (s->lanes.n != schedule->n_units)
        rc = st_fail(&why, STRETTO_E_INPUT, "two of its units are the same cores");
    for (uint32_t u = 0; u < schedule->n_units && !rc; u++) units[u] = s->lanes.units[lane_of[u]];
    if (!rc) rc = st_schedule_lineup(schedule, s->n_chunks, units, &setup->lineup, options, &why);
    if (!rc && schedule->draft == ST_DRAFT_MODEL) {
        rc = run_draft_open(&setup->draft, s, schedule->draft_model, units[schedule->draft_unit], schedule->streams,
                            options->n_ctx, &why);
        options->drafts = setup->draft.chains;
    }
    return rc ? st_fail(err, rc, "%.*s: %.*s", ST_CUT(cli_shown_path(setup->o->schedule), 200), ST_CUT(why.text, 290))
              : STRETTO_OK;
}

/* A schedule runs with any model of as many layers, but what it predicts is of one. */
static void warn_other_model(const run_setup *setup, const session *s) {
    const st_costs *costs = &setup->expected.costs;
    char title[sizeof costs->title];
    session_title(s, title, sizeof title);
    if (setup->expected.there && costs->title[0] && strcmp(costs->title, title) != 0)
        st_warn(&s->cx->log, "the schedule was planned for %.*s; this is %.*s: what it predicts may not hold",
                ST_CUT(costs->title, 200), ST_CUT(title, 200));
}

int run_setup_open(run_setup *setup, session *s, uint32_t n_ctx, st_streams **out, stretto_error *err) {
    const run_options *o = setup->o;
    st_station_options station = {.units = s->unit_of, .reads = true, .decodes = true};
    st_streams_options options = {
        .model = s->model,
        .spans = s->spans,
        .n_chunks = s->n_chunks,
        .stations = &station,
        .n_stations = 1,
        .kv_type = session_kv_type(s),
        .n_ctx = n_ctx,
        .n_streams = run_setup_streams(setup),
        .prompt_rows = o->session.batch ? o->session.batch
                       : o->prompts     ? 0
                                        : PROMPT_ALONE,
        .mix = !speculates(o),
        .guesses = speculates(o) ? ST_LOOKUP_MAX : 0,
        .tok = o->ignore_end ? NULL : s->tok,
        .cancel = s->cx->stop,
    };
    int rc = setup->scheduled ? use_schedule(setup, s, &options, err) : STRETTO_OK;
    if (!rc) warn_other_model(setup, s);
    if (!rc) rc = check_memory(s, &options, err);
    if (!rc) rc = run_expected_watch(&setup->expected, &setup->schedule, err);
    return rc ? rc : st_streams_open(out, &options, err);
}

/* ---- one prompt ---- */

typedef struct one {
    run_setup *setup;
    const st_generate_options *o;
    st_generate_result *result;
    uint64_t early_ns; /* how long before the engine began the prompt was handed over */
    uint32_t n_read;   /* tokens of the prompt */
} one;

static int take_id(void *arg, uint32_t job, int32_t id) {
    const one *w = arg;
    (void)job;
    return w->o->on_id ? w->o->on_id(w->o->arg, id) : 0;
}

static int take_result(void *arg, const st_job_result *r) {
    const one *w = arg;
    *w->result = (st_generate_result){.finish = r->finish,
                                      .n_prompt = w->n_read,
                                      .n_generated = r->n_ids,
                                      .prefill_ns = r->prefill_ns,
                                      .first_token_ns = r->n_ids ? r->first_token_ns + w->early_ns : 0,
                                      .decode_ns = r->decode_ns};
    return 0;
}

void run_setup_see(run_setup *setup, const st_pass_seen *pass) {
    run_expected_see(&setup->expected, &setup->schedule, pass);
}

static void see_pass(void *arg, const st_pass_seen *pass) {
    one *w = arg;
    run_setup_see(w->setup, pass);
    if (pass->n_prompt == 0) return;
    w->n_read += pass->n_prompt;
    if (w->o->on_read && w->n_read < w->o->n_prompt) w->o->on_read(w->o->arg, w->n_read);
}

int run_setup_generate(run_setup *setup, st_streams *streams, const st_generate_options *o,
                       const st_sampler_options *sampling, st_generate_result *result, stretto_error *err) {
    one w = {.setup = setup, .o = o, .result = result, .early_ns = o->handed_ns ? st_now_ns() - o->handed_ns : 0};
    st_job job = {.prompt = o->prompt, .n_prompt = o->n_prompt, .n_max = o->n_max, .sampler = sampling};
    st_streams_events events = {.on_id = take_id, .on_result = take_result, .on_pass = see_pass, .arg = &w};
    *result = (st_generate_result){.finish = ST_FINISH_STOPPED};
    int rc = st_streams_run(streams, &job, 1, &events, err);
    if (rc == STRETTO_E_STOPPED || (!rc && result->finish == ST_FINISH_STOPPED))
        return st_fail(err, STRETTO_E_STOPPED, "stopped after %u of the prompt's tokens and %u generated ones",
                       result->n_prompt, result->n_generated);
    return rc;
}
