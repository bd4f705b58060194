/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "input.h"
#include "json_out.h"
#include "outputs.h"
#include "plan_check.h"
#include "plan_measure.h"
#include "plan_rounds.h"
#include "report/plan_report.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_options {
    session_options session;
    const char *goal, *costs, *probe, *save_costs, *output, *trace, *html, *format;
    uint32_t streams, prompt, generate, rounds;
    double acceptance;
    uint64_t seed;
    bool check, json;
} plan_options;

#define STREAMS_FOR_THROUGHPUT 4
#define COSTS_MAX (64u << 20) /* bytes of a table or a probe; parsed it takes twenty times as many */

typedef struct plan_work {
    cli *cx;
    const plan_options *o;
    session s;
    bool has_session;
    st_workload workload;
    enum st_goal goal;
    plan_meter *meter; /* NULL: nothing is measured */
    st_costs costs;
    st_choice choice;
    double others; /* CPUs that other programs used while costs were measured; -1: unknown */
    st_sink *schedule_file, *costs_file, *trace_file, *page_file; /* NULL: not asked for */
} plan_work;

/* ---- costs ---- */

static int read_costs(plan_work *w, const char *path, bool probe, stretto_error *err) {
    st_buf text = {0};
    int rc = cli_read_at_most(w->cx, path, COSTS_MAX, &text, err);
    if (!rc && text.failed) rc = st_fail_memory(err, "the cost table", text.len);
    if (!rc) {
        rc = probe ? st_costs_parse_probe(&w->costs, text.len ? text.data : "", text.len, err)
                   : st_costs_parse(&w->costs, text.len ? text.data : "", text.len, err);
        if (rc) st_fail_prefix(err, cli_shown_path(path));
    }
    st_buf_free(&text);
    return rc;
}

/* What run refuses without --ctx. */
static void warn_long(const plan_work *w) {
    uint32_t own = w->s.model->n_ctx_train, all = w->workload.prompt + w->workload.generate;
    if (own && all > own)
        st_warn(&w->cx->log,
                "%u tokens of prompt and %u to generate are more than the %u positions that the model was made for; "
                "run takes them with --ctx %u",
                w->workload.prompt, w->workload.generate, own, all);
}

static int measure_costs(plan_work *w, stretto_error *err) {
    session *s = &w->s;
    w->has_session = true;
    int rc = session_open_file(s, w->cx, &w->o->session, err);
    if (!rc) rc = session_open_model(s, err);
    if (!rc) warn_long(w);
    if (!rc) rc = session_place(s, false, err);
    if (!rc && !w->o->session.units) rc = cli_lanes_add_halves(&s->lanes, &w->cx->log, err);
    if (!rc) rc = plan_meter_open(&w->meter, s, &w->workload, err);
    if (!rc) rc = plan_meter_turns(w->meter, err);
    return rc ? rc : plan_meter_costs(w->meter, &w->costs, err);
}

/* What is read is of other chunks and units than these options would make. */
static int check_options(const plan_options *o, stretto_error *err) {
    const session_options *s = &o->session;
    const char *source = o->costs ? "--costs" : o->probe ? "--probe" : NULL;
    if (o->rounds && !o->check)
        return st_fail(err, STRETTO_E_USAGE, "--rounds is how often --check runs each schedule");
    if (!source) return STRETTO_OK;
    if (o->check) return st_fail(err, STRETTO_E_USAGE, "--check runs what it has measured: no %s beside it", source);
    if (o->costs && o->probe) return st_fail(err, STRETTO_E_USAGE, "give either --costs or --probe, not both");
    const char *given = s->model     ? "-m"
                        : s->like    ? "--like"
                        : s->units   ? "--units"
                        : s->chunks  ? "--chunks"
                        : s->threads ? "--threads"
                                     : NULL;
    if (!given) return STRETTO_OK;
    return st_fail(err, STRETTO_E_USAGE, "nothing is measured with %s: no %s beside it", source, given);
}

static int get_costs(plan_work *w, stretto_error *err) {
    const plan_options *o = w->o;
    int rc = o->costs   ? read_costs(w, o->costs, false, err)
             : o->probe ? read_costs(w, o->probe, true, err)
                        : measure_costs(w, err);
    if (!rc && o->acceptance > 0) w->costs.acceptance[ST_DRAFT_LOOKUP] = o->acceptance;
    return rc;
}

/* ---- output ---- */

static st_origin origin_of(const plan_work *w) {
    st_origin origin = cli_origin(w->cx, w->has_session ? &w->s.lanes.host : NULL);
    origin.seed = &w->o->seed;
    if (w->meter) origin.others = &w->others;
    return origin;
}

/* Puts the text and frees it. One that fails keeps none of the others from being written: the first failure stays in
 * err. */
static int put(st_sink *sink, st_buf *text, int before, stretto_error *err) {
    stretto_error own = {0};
    int rc = st_sink_put(sink, text, &own);
    st_buf_free(text);
    return before || !rc ? before : st_fail(err, rc, "%s", own.text);
}

static int put_json(st_sink *sink, json_t *value, int before, stretto_error *err) {
    st_buf text = {0};
    st_json_write(&text, value, false);
    return put(sink, &text, before, err);
}

static int put_page(plan_work *w, const st_origin *origin, int before, stretto_error *err) {
    st_buf text = {0};
    st_plan_html(&text, &w->choice, &w->costs, origin);
    return put(w->page_file, &text, before, err);
}

static int put_costs(const plan_work *w, stretto_error *err) {
    return w->costs_file ? put_json(w->costs_file, st_costs_json(&w->costs), STRETTO_OK, err) : STRETTO_OK;
}

static int put_costs_early(const plan_work *w, stretto_error *err) {
    if (!w->costs_file) return STRETTO_OK;
    st_buf text = {0};
    st_json_write(&text, st_costs_json(&w->costs), false);
    int rc = st_sink_put_early(w->costs_file, &text, err);
    st_buf_free(&text);
    return rc;
}

/* The costs that the best schedule was predicted from: those of its units. */
static json_t *costs_of_best(const plan_work *w) {
    const st_schedule *schedule = &w->choice.rows[0].schedule;
    const char *names[ST_PLAN_UNITS_MAX];
    uint32_t units[ST_PLAN_UNITS_MAX];
    st_costs costs;
    for (uint32_t u = 0; u < w->costs.n_units; u++) names[u] = w->costs.units[u].name;
    if (st_schedule_bind(schedule, w->costs.n_chunks, names, w->costs.n_units, units, NULL) ||
        st_costs_of(&costs, &w->costs, units, schedule->n_units, NULL))
        return NULL;
    json_t *json = st_costs_json(&costs);
    st_costs_free(&costs);
    return json;
}

static void write_schedule(const plan_work *w, bool with_costs, st_buf *text) {
    const st_choice_row *best = &w->choice.rows[0];
    json_t *schedule = st_schedule_json(&best->schedule);
    st_json_set(&schedule, "workload", st_workload_json(&w->workload));
    st_json_set(&schedule, "predicted", st_predicted_json(&best->result, &best->schedule));
    if (with_costs) st_json_set(&schedule, "costs", costs_of_best(w));
    st_json_write(text, schedule, false);
}

/* A table of many chunks and units can be larger than what a run reads. */
static int put_schedule(plan_work *w, int before, stretto_error *err) {
    st_buf text = {0};
    write_schedule(w, true, &text);
    if (!text.failed && text.len > RUN_SCHEDULE_MAX) {
        st_warn(&w->cx->log, "%s is written without its costs, which are larger than a run would read",
                st_sink_path(w->schedule_file));
        st_buf_free(&text);
        write_schedule(w, false, &text);
    }
    if (w->choice.rows[0].schedule.draft == ST_DRAFT_MODEL)
        st_warn(
            &w->cx->log,
            "%s has drafts by a model that the costs do not name: add \"model\", a GGUF file or a known name, to its "
            "\"speculation\" before a run",
            st_sink_path(w->schedule_file));
    return put(w->schedule_file, &text, before, err);
}

static int write_files(plan_work *w, stretto_error *err) {
    st_origin origin = origin_of(w);
    int rc = put_costs(w, err);
    if (w->trace_file) rc = put_json(w->trace_file, st_plan_trace(&w->choice, &w->costs, &origin), rc, err);
    if (w->page_file) rc = put_page(w, &origin, rc, err);
    if (w->choice.n_possible > 0) return w->schedule_file ? put_schedule(w, rc, err) : rc;
    return rc ? rc
              : st_fail(err, STRETTO_E_INPUT, "no schedule is possible: the list has the reason of each%s",
                        w->schedule_file ? "; none is written" : "");
}

static int show(plan_work *w, stretto_error *err) {
    st_origin origin = origin_of(w);
    bool json = w->o->json || strcmp(w->o->format, "json") == 0;
    st_buf text = {0};
    if (json) {
        st_json_write(&text, st_plan_json(&w->choice, &w->costs, &origin), false);
    } else if (strcmp(w->o->format, "md") == 0) {
        st_plan_markdown(&text, &w->choice, &w->costs, &origin);
    } else {
        st_plan_text(&text, &w->choice, &w->costs, &origin, w->cx->color);
    }
    int rc = text.failed ? st_fail_memory(err, "the plan", text.len) : STRETTO_OK;
    if (!rc) cli_write(w->cx, text.data, text.len);
    st_buf_free(&text);
    return rc;
}

/* ---- the command ---- */

static void set_task(plan_work *w) {
    const plan_options *o = w->o;
    while (strcmp(st_goal_names[w->goal], o->goal) != 0) w->goal++;
    uint32_t streams = w->goal == ST_GOAL_THROUGHPUT ? STREAMS_FOR_THROUGHPUT : 1;
    w->workload = (st_workload){o->streams ? o->streams : streams, o->prompt, o->generate};
}

/* What was measured stands beside what is predicted from costs of the same minutes. */
static int check(plan_work *w, stretto_error *err) {
    stretto_error why = {0};
    st_costs costs;
    if (w->o->rounds > 1 && w->o->rounds < PLAN_ROUNDS_LEAST)
        st_warn(&w->cx->log, "--rounds %u: the margins of so few runs are wide; take %d or more", w->o->rounds,
                PLAN_ROUNDS_LEAST);
    int checked = plan_check(&w->choice, &w->costs, &w->s, w->meter, w->o->rounds, err);
    int rc = plan_meter_costs(w->meter, &costs, &why);
    if (!rc) {
        st_costs_free(&w->costs);
        w->costs = costs;
        rc = st_choose_again(&w->choice, &w->costs, &why);
    }
    return checked || !rc ? checked : st_fail(err, rc, "%s", why.text);
}

static int plan(plan_work *w, stretto_error *err) {
    set_task(w);
    int rc = w->o->output ? st_sink_open(&w->schedule_file, w->o->output, err) : STRETTO_OK;
    if (!rc && w->o->save_costs) rc = st_sink_open(&w->costs_file, w->o->save_costs, err);
    if (!rc && w->o->trace) rc = st_sink_open(&w->trace_file, w->o->trace, err);
    if (!rc && w->o->html) rc = st_sink_open(&w->page_file, w->o->html, err);
    st_sink *const sinks[] = {w->schedule_file, w->costs_file, w->trace_file, w->page_file};
    if (!rc) rc = cli_sinks_differ(sinks, sizeof sinks / sizeof *sinks, err);
    if (!rc) rc = check_options(w->o, err);
    if (!rc) rc = get_costs(w, err);
    if (!rc) rc = put_costs_early(w, err); /* whatever happens while the schedules are simulated */
    if (!rc) rc = st_choose(&w->choice, &w->costs, &w->workload, w->goal, w->o->seed, w->cx->stop, err);
    stretto_error stopped = {0};
    int checked = !rc && w->o->check ? check(w, &stopped) : STRETTO_OK;
    if (!rc && w->meter) w->others = plan_meter_others(w->meter);
    if (!rc) rc = show(w, err);
    if (!rc) rc = write_files(w, err);
    return rc || !checked ? rc : st_fail(err, checked, "%s", stopped.text);
}

static int plan_run(cli *cx, const void *options, stretto_error *err) {
    plan_work w = {.cx = cx, .o = options};
    int rc = plan(&w, err);
    st_choice_free(&w.choice);
    st_costs_free(&w.costs);
    plan_meter_close(w.meter);
    st_sink_close(w.schedule_file);
    st_sink_close(w.costs_file);
    st_sink_close(w.trace_file);
    st_sink_close(w.page_file);
    if (w.has_session) session_close(&w.s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(plan_options, field)
static const cli_option plan_table[] = {
    SESSION_MODEL(plan_options),
    SESSION_LIKE(plan_options),
    {.name = "for", .kind = CLI_CHOICE, .at = AT(goal), .value = "GOAL", .choices = "latency|throughput|ttft",
     .preset = "latency",
     .help = "latency: least time for each token, from handing the prompt over; throughput: all streams done soonest; "
             "ttft: first tokens soonest"},
    {.name = "streams", .letter = 'k', .kind = CLI_COUNT, .at = AT(streams), .value = "K", .least = 1, .most = 256,
     .help = "streams, all handed over at once (1 otherwise, 4 for throughput)"},
    {.name = "prompt", .letter = 'p', .kind = CLI_COUNT, .at = AT(prompt), .value = "P", .preset = "128", .least = 1,
     .most = 100000, .help = "tokens of each prompt"},
    {.name = "tokens", .letter = 'n', .kind = CLI_COUNT, .at = AT(generate), .value = "N", .preset = "64", .least = 1,
     .most = 100000, .help = "tokens that each stream generates"},
    {.name = "check", .kind = CLI_FLAG, .at = AT(check),
     .help = "run every possible schedule, and show what was measured beside what was predicted"},
    {.name = "rounds", .letter = 'r', .kind = CLI_COUNT, .at = AT(rounds), .value = "R", .least = 1,
     .most = PLAN_ROUNDS_MOST,
     .help = "how often --check runs each, in turns (otherwise 4, 8 or 16 times, until the means are known within 6 %, "
             "or for five minutes)"},
    {.name = "costs", .kind = CLI_FILE, .at = AT(costs), .value = "FILE",
     .help = "take this cost table (docs/PLAN.md) in place of measuring"},
    {.name = "probe", .kind = CLI_FILE, .at = AT(probe), .value = "FILE",
     .help = "take what stretto probe --json wrote in place of measuring"},
    {.name = "save-costs", .kind = CLI_TARGET, .may_replace = "costs", .at = AT(save_costs), .value = "FILE",
     .help = "write the cost table"},
    {.name = "output", .letter = 'o', .kind = CLI_TARGET, .at = AT(output), .value = "FILE",
     .help = "write the best schedule, for stretto run --schedule FILE"},
    {.name = "html", .kind = CLI_TARGET, .at = AT(html), .value = "FILE",
     .help = "write the plan as a page that any browser shows: the answer, predicted and, with --check, measured "
             "numbers, and what runs when under each schedule"},
    {.name = "trace", .kind = CLI_TARGET, .at = AT(trace), .value = "FILE",
     .help = "write what runs when under each schedule, predicted and, with --check, measured, as trace events for "
             "Perfetto and chrome://tracing"},
    {.name = "acceptance", .kind = CLI_NUMBER, .at = AT(acceptance), .value = "P", .most = 1,
     .above = true,
     .help = "probability that a token drafted by lookup is right; otherwise unknown, and drafts are not planned"},
    {.name = "seed", .kind = CLI_SEED, .at = AT(seed), .value = "N", .preset = "1",
     .help = "of which drafts are right"},
    SESSION_CHUNKS(plan_options),
    {.name = "units", .kind = CLI_TEXT, .at = SESSION_FIELD(plan_options, units), .value = "UNITS",
     .help = "sets of cores to plan for: cpu:0,cpu:1,cpu:0-1 (otherwise all cores as one unit, and its halves as two)"},
    {.name = "threads", .letter = 't', .kind = CLI_COUNT, .at = SESSION_FIELD(plan_options, threads), .value = "T",
     .least = 1,
     .help = "threads of each unit (one a core otherwise)"},
    {.name = "kv-type", .kind = CLI_CHOICE, .at = SESSION_FIELD(plan_options, kv_type), .value = "TYPE",
     .choices = "f16|f32", .preset = "f16", .help = "number type of the key/value cache: f16 or f32"},
    {.name = "format", .kind = CLI_CHOICE, .at = AT(format), .value = "FORM", .choices = "text|md|json",
     .preset = "text", .help = "text, md (Markdown) or json"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "the same as --format json"},
    {0},
};
static const char *const plan_usages[] = {
    "-m MODEL [--for GOAL] [--streams K] [--units UNITS] [-o FILE] [options] [--json]",
    "--costs FILE [--for GOAL] [--streams K] [-o FILE] [options] [--json]", NULL};
static const cli_example plan_examples[] = {
    {"stretto plan -m smollm2", "the fastest way to decode one stream here"},
    {"stretto plan -m smollm2 --for throughput --streams 8 -o plan.json",
     "the fastest way to decode eight, for stretto run --schedule plan.json"},
    {"stretto plan -m smollm2 --streams 4 --check --html plan.html", "how well that is predicted, as a page"},
    {"stretto plan --costs phone.json --for ttft -p 1024 --json", "for hardware that you do not have"},
    {0},
};

const cli_command cmd_plan = {
    .name = "plan",
    .summary = "which schedule of chunks and streams on units pays, and why?",
    .usages = plan_usages,
    .about = "Measures what each chunk costs on each unit, alone and beside the others, and simulates every schedule "
             "that these costs allow: one unit or several, streams staged through the chunks, in one call, or a whole "
             "model on each unit, prompts in micro-batches or on a unit of their own, drafts, host work beside. Prints "
             "them from best to worst, those that are impossible with the reason, and what overlap factor would change "
             "the answer.\n\nAll streams are handed over at once. tokens/s counts the tokens after each stream's first "
             "over the time in which any stream decodes.",
    .options = plan_table,
    .examples = plan_examples,
    .options_size = sizeof(plan_options),
    .run = plan_run,
};
