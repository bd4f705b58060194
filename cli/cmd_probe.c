/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "base/utf8.h"
#include "input.h"
#include "job.h"
#include "json_out.h"
#include "number.h"
#include "outputs.h"
#include "probe_fresh.h"
#include "probe_setup.h"
#include "report/probe_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct probe_options {
    session_options session;
    const char *pairs, *arrangement, *cache, *budget, *output, *html, *trace, *job, *write_job;
    uint32_t rounds, depth;
    double precision;
    uint64_t seed;
    bool json, quick;
    uint32_t fresh, fresh_part;
} probe_options;

#define WARNINGS_SHOWN 6 /* a busy machine earns one for each row, and the first say it */

static void make_json(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    st_json_write(out, st_probe_json(record, origin), false);
}

static void make_csv(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    (void)origin;
    st_probe_csv(out, record);
}

/* Files in the order in which they are named at the end. */
enum { OUT_HTML, OUT_MARKDOWN, OUT_JSON, OUT_CSV, OUT_TRACE, OUT_COUNT, OUT_JOB = OUT_COUNT };
static const struct form {
    const char *name; /* in the folder of -o; NULL: only where an option asks for it */
    void (*make)(st_buf *out, const st_probe_record *record, const st_origin *origin);
} forms[OUT_COUNT] = {
    [OUT_HTML] = {"probe.html", st_probe_html}, [OUT_MARKDOWN] = {"probe.md", st_probe_markdown},
    [OUT_JSON] = {"probe.json", make_json},     [OUT_CSV] = {"probe.csv", make_csv},
    [OUT_TRACE] = {NULL, st_probe_trace},
};

typedef struct probe_work {
    cli *cx;
    const probe_options *o;
    session_options session;
    session s;
    probe_plan plan;
    st_probe_record record;
    cli_outputs outputs;
    uint64_t budget_ns;
} probe_work;

static void show_progress(void *arg, const st_probe_progress *progress) {
    st_buf text = {0};
    st_probe_progress_text(&text, progress);
    if (!text.failed) cli_progress(arg, "%s", text.data);
    st_buf_free(&text);
}

/* "10" or "10s": seconds. */
static int parse_budget(probe_work *w, stretto_error *err) {
    const char *end = w->o->budget;
    double seconds = 0;
    bool good = cli_number_real(&end, &seconds);
    if (*end == 's') end++;
    if (!good || *end || !(seconds >= 0 && seconds <= 1e6)) {
        return st_fail(err, STRETTO_E_USAGE, "--budget wants seconds, as in 10 or 10s, not \"%.*s\"",
                       ST_CUT(w->o->budget, 40));
    }
    w->budget_ns = (uint64_t)(seconds * 1e9);
    return STRETTO_OK;
}

/* All, or those between the commas. */
static int choose_arrangements(probe_work *w, stretto_error *err) {
    const char *at = w->o->arrangement;
    w->plan.all_arrangements = !at;
    while (at && *at) {
        char name[64];
        size_t n = strcspn(at, ","), count;
        snprintf(name, sizeof name, "%.*s", (int)st_utf8_cut(at, n, sizeof name - 1), at);
        const st_arrangement *table = st_arrangements(&count), *chosen = st_arrangement_find(name, err);
        if (!chosen) return err->code;
        w->plan.chosen[chosen - table] = true;
        at += n + (at[n] == ',');
    }
    return STRETTO_OK;
}

static int open_outputs(probe_work *w, stretto_error *err) {
    const char *const files[OUT_COUNT] = {[OUT_HTML] = w->o->html, [OUT_TRACE] = w->o->trace};
    int rc = w->o->output ? cli_make_folders(w->o->output, err) : STRETTO_OK;
    for (unsigned i = 0; i < OUT_COUNT && !rc; i++)
        rc = cli_outputs_open(&w->outputs, i, forms[i].name ? w->o->output : NULL, forms[i].name, files[i], err);
    return rc ? rc : cli_outputs_open(&w->outputs, OUT_JOB, NULL, NULL, w->o->write_job, err);
}

/* The job is known before anything is measured. */
static int write_job(probe_work *w, stretto_error *err) {
    if (!w->o->write_job) return STRETTO_OK;
    st_buf text = {0};
    probe_options all = *w->o;
    all.session = w->session;
    if (!all.session.like) all.session.type = all.session.scale = NULL; /* presets that mean nothing without it */
    cli_job_write(&text, &cmd_probe, &all);
    int rc = cli_outputs_put(&w->outputs, OUT_JOB, &text, STRETTO_OK, err);
    st_buf_free(&text);
    return rc;
}

static int prepare(probe_work *w, stretto_error *err) {
    session *s = &w->s;
    w->plan.s = s;
    w->plan.own_units = w->session.units || w->session.place;
    int rc = choose_arrangements(w, err);
    if (!rc) rc = session_open_file(s, w->cx, &w->session, err);
    if (!rc) rc = session_open_model(s, err);
    if (!rc) rc = session_place(s, false, err);
    if (!rc) rc = probe_pairs_parse(&w->plan, w->o->pairs, err);
    if (!rc && !w->plan.own_units) rc = cli_lanes_add_halves(&s->lanes, &w->cx->log, err);
    w->plan.depth = w->o->depth;
    w->plan.quick = w->o->quick;
    return rc ? rc : probe_plan_build(&w->plan, err);
}

static int measure(probe_work *w, stretto_error *err) {
    st_probe_setup setup = {
        .title = w->plan.title,
        .chain = w->plan.chain,
        .sides = w->plan.sides,
        .n_sides = w->plan.n_sides,
        .units = w->plan.units,
        .n_units = w->plan.n_units,
        .controls = w->plan.controls,
        .peaks = w->plan.quick ? NULL : w->plan.peaks,
        .costs = w->plan.costs,
        .unpinned = w->plan.unpinned,
        .jobs = w->plan.jobs,
        .n_jobs = w->plan.n_jobs,
        .evict = strcmp(w->o->cache, "warm") == 0 ? NULL : probe_plan_evict,
        .evict_arg = &w->plan,
        .clock = st_clock_real(),
        .host = &w->s.lanes.host,
        .seed = w->o->seed,
        .limits = {.rounds = w->o->rounds, .budget_ns = w->budget_ns, .precision = w->o->precision},
        .cancel = w->cx->stop,
        .progress = show_progress,
        .progress_arg = w->cx,
    };
    int rc = st_probe_run(&setup, &w->record, err);
    cli_progress_end(w->cx);
    return rc;
}

/* ---- output ---- */

static void warn_all(probe_work *w) {
    unsigned n = 0;
    for (const char *line = w->record.warnings.data; line && *line; n++) {
        size_t len = strcspn(line, "\n");
        if (n < WARNINGS_SHOWN) st_warn(&w->cx->log, "%.*s", (int)len, line);
        line += len + (line[len] == '\n');
    }
    if (n > WARNINGS_SHOWN) st_warn(&w->cx->log, "%u more of this kind; --json has them all", n - WARNINGS_SHOWN);
}

static int write_reports(probe_work *w, const st_origin *origin, stretto_error *err) {
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < OUT_COUNT; i++) {
        if (!w->outputs.sink[i]) continue;
        st_buf text = {0};
        forms[i].make(&text, &w->record, origin);
        rc = cli_outputs_put(&w->outputs, i, &text, rc, err);
        st_buf_free(&text);
    }
    return rc;
}

static int show(probe_work *w, const st_origin *origin, stretto_error *err) {
    st_buf text = {0};
    if (w->o->json)
        make_json(&text, &w->record, origin);
    else
        st_probe_text(&text, &w->record, origin, w->cx->color);
    int rc = text.failed ? st_fail_memory(err, "the report", text.len) : STRETTO_OK;
    if (!rc) cli_write(w->cx, text.data, text.len);
    st_buf_free(&text);
    return rc;
}

/* The result is shown whatever becomes of the files; what could not be written is named after it. */
static int report(probe_work *w, const st_origin *origin, stretto_error *err) {
    stretto_error own = {0};
    int rc = show(w, origin, err);
    int code = write_reports(w, origin, &own);
    if (code && rc) cli_note(w->cx, "%s", own.text);
    if (code && !rc) rc = st_fail(err, code, "%s", own.text);
    if (!rc && !w->o->json) cli_outputs_show(&w->outputs, w->cx);
    return rc;
}

/* In this process, or in several new ones. The files are opened once it is known that there is something to measure,
 * and before it is. */
static int obtain(probe_work *w, stretto_error *err) {
    int rc = parse_budget(w, err);
    if (w->o->fresh > 1 && !w->o->fresh_part) {
        if (!rc) rc = st_host_read(&w->s.lanes.host, "", err);
        if (!rc) rc = open_outputs(w, err);
        if (!rc) rc = write_job(w, err);
        return rc ? rc : probe_fresh(w->cx, w->o->fresh, (double)w->budget_ns * 1e-9, w->o->seed, &w->record, err);
    }
    if (!rc) rc = prepare(w, err);
    if (!rc && !w->o->fresh_part) rc = open_outputs(w, err);
    if (!rc && !w->o->fresh_part) rc = write_job(w, err);
    return rc ? rc : measure(w, err);
}

/* One of several processes: its record is all that is wanted of it. */
static int part(probe_work *w, stretto_error *err) {
    stretto_error problem;
    probe_part_begin();
    int rc = obtain(w, err);
    int sent = w->record.n_rows ? probe_part_end(&w->record, &problem) : STRETTO_OK;
    return rc || !sent ? rc : st_fail(err, sent, "%s", problem.text);
}

static int probe(probe_work *w, stretto_error *err) {
    if (w->o->fresh_part) return part(w, err);
    int rc = obtain(w, err);
    if (w->record.n_rows == 0) return rc;
    st_origin origin = cli_origin(w->cx, &w->s.lanes.host);
    origin.seed = &w->o->seed;
    warn_all(w);
    stretto_error report_error = {0};
    int written = report(w, &origin, &report_error);
    if (written && rc) cli_note(w->cx, "%s", report_error.text);
    return rc ? rc : written ? st_fail(err, written, "%s", report_error.text) : STRETTO_OK;
}

static int probe_with(cli *cx, const probe_options *o, stretto_error *err) {
    probe_work w = {.cx = cx, .o = o, .session = o->session};
    if (!w.session.model && !w.session.like) w.session.model = "smollm2";
    int rc = probe(&w, err);
    st_probe_record_free(&w.record);
    probe_plan_free(&w.plan);
    cli_outputs_close(&w.outputs);
    session_close(&w.s);
    return rc;
}

/* The words of the command line on top of the job; either way to name a model there takes the place of both here. */
static int apply_words(const cli *cx, probe_options *all, stretto_error *err) {
    const char *model = all->session.model, *like = all->session.like;
    bool help;
    all->session.model = all->session.like = NULL;
    int rc = cli_parse_words(&cmd_probe, cx->argc - 1, cx->argv + 1, all, &help, err);
    if (rc || all->session.model || all->session.like) return rc;
    all->session.model = model;
    all->session.like = like;
    return STRETTO_OK;
}

/* The job on top of the presets, and the command line on top of the job. What the model refuses is the job's fault
 * where the command line says nothing else. */
static int probe_job(cli *cx, const probe_options *given, stretto_error *err) {
    probe_options all = {0};
    cli_job job;
    int rc = cli_job_read(&job, cx, &cmd_probe, given->job, err);
    if (!rc) rc = cli_presets(&cmd_probe, &all, err);
    if (!rc) rc = cli_job_apply(&job, &cmd_probe, given->job, &all, err);
    if (!rc) rc = apply_words(cx, &all, err);
    if (!rc) {
        rc = cli_spare_inputs(&cmd_probe, &all, err);
        if (!rc) rc = probe_with(cx, &all, err);
        if (rc == STRETTO_E_USAGE && cx->argc == 3) {
            st_fail_prefix(err, cli_shown_path(given->job));
            rc = err->code = STRETTO_E_INPUT;
        }
    }
    cli_job_free(&job);
    return rc;
}

static int probe_run(cli *cx, const void *options, stretto_error *err) {
    const probe_options *o = options;
    return o->job ? probe_job(cx, o, err) : probe_with(cx, o, err);
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(probe_options, field)
static const cli_option probe_table[] = {
    {.name = "model", .letter = 'm', .kind = CLI_MODEL, .at = SESSION_FIELD(probe_options, model), .value = "MODEL",
     .help = "the model: a GGUF file, or a name (smollm2, gemma3-270m); smollm2 otherwise"},
    SESSION_LIKE(probe_options),
    {.name = "pairs", .kind = CLI_TEXT, .shape = CLI_SHAPE_PAIRS, .at = AT(pairs), .value = "A,B",
     .help = "which chunks: 1,3, or several pairs as in \"1,3 2,4\", or all (1 and 3, and the two that read most, "
             "otherwise)"},
    {.name = "arrangement", .kind = CLI_CHOICES, .at = AT(arrangement), .value = "NAMES",
     .choices = "one-unit|two-units|async|threads|processes|batch-2|batch-4|batch-8",
     .help = "only these: one-unit (two queues of one unit), two-units, async (one thread submits both), threads "
             "(two threads), processes (the second chunk in a process of its own), batch-2, batch-4, batch-8 (one call "
             "of so many tokens against as many single calls)"},
    {.name = "rounds", .kind = CLI_COUNT, .at = AT(rounds), .value = "R", .most = 1000000,
     .help = "rounds of each row (as many as the interval needs otherwise: 10, 20, 40, ...)"},
    {.name = "budget", .kind = CLI_TEXT, .shape = CLI_SHAPE_NUMBER, .at = AT(budget), .value = "S", .preset = "12",
     .help = "seconds for all rows together; 0: no limit"},
    {.name = "precision", .kind = CLI_NUMBER, .at = AT(precision), .value = "W", .preset = "0.04", .most = 10,
     .help = "width of the interval that is narrow enough"},
    {.name = "cache", .kind = CLI_CHOICE, .at = AT(cache), .value = "STATE", .choices = "step|warm", .preset = "step",
     .help = "step: the rest of the model is read before each measurement, as in a real step; warm: it is not"},
    {.name = "fresh", .kind = CLI_COUNT, .at = AT(fresh), .value = "N", .most = 100,
     .help = "the whole probe in N new processes, whose results are combined: shows what differs from run to run, of which few "
             "processes tell little; 5 is a good number"},
    {.name = "fresh-part", .kind = CLI_COUNT, .not_in_job = true, .at = AT(fresh_part), .value = "I", .hidden = true,
     .help = "one of them: hands its record over"},
    {.name = "quick", .kind = CLI_FLAG, .at = AT(quick),
     .help = "only the rows: neither what the units give at most nor controls, without which some causes stay "
             "unexplained"},
    {.name = "depth", .letter = 'd', .kind = CLI_COUNT, .at = AT(depth), .value = "N", .preset = "1", .most = 1000000,
     .help = "tokens in the context before the step"},
    {.name = "seed", .kind = CLI_SEED, .at = AT(seed), .value = "N", .preset = "1",
     .help = "of the order of the measurements"},
    {.name = "output", .letter = 'o', .kind = CLI_FOLDER, .at = AT(output), .value = "DIR",
     .help = "folder for probe.html, probe.md, probe.json and probe.csv; made if need be"},
    {.name = "html", .kind = CLI_TARGET, .at = AT(html), .value = "FILE",
     .help = "write the report as a page that any browser shows: verdict, pictures of all rounds, and the data"},
    {.name = "trace", .kind = CLI_TARGET, .at = AT(trace), .value = "FILE",
     .help = "write what ran when, for Perfetto (ui.perfetto.dev) or chrome://tracing"},
    {.name = "write-job", .kind = CLI_TARGET, .may_replace = "JOB.json", .not_in_job = true,
     .at = AT(write_job), .value = "FILE",
     .help = "write a job file that repeats this probe, elsewhere too"},
    SESSION_CHUNKS(probe_options),
    {.name = "units", .kind = CLI_TEXT, .shape = CLI_SHAPE_LIST, .at = SESSION_FIELD(probe_options, units), .value = "UNITS",
     .help = "sets of cores to use as units: cpu:0,cpu:1 (otherwise all cores as one unit, and its halves as two)"},
    {.name = "place", .kind = CLI_TEXT, .shape = CLI_SHAPE_MAP, .at = SESSION_FIELD(probe_options, place), .value = "PLACES",
     .help = "which chunk runs on which unit, as in 1=cpu:0,3=cpu:1"},
    {.name = "threads", .letter = 't', .kind = CLI_COUNT, .at = SESSION_FIELD(probe_options, threads), .value = "T",
     .least = 1,
     .help = "threads of each unit (one a core otherwise)"},
    SESSION_MEMORY(probe_options),
    {.name = "json", .kind = CLI_FLAG, .not_in_job = true, .at = AT(json), .help = "print JSON, with all samples"},
    {0},
};
static const cli_option probe_operands[] = {{.name = "JOB.json", .kind = CLI_FILE, .at = AT(job)}, {0}};
static const char *const probe_usages[] = {
    "[JOB.json] [-m MODEL | --like NAME] [--pairs A,B] [--arrangement NAME] [-o DIR] [options] [--json]", NULL};
static const cli_example probe_examples[] = {
    {"stretto probe -m smollm2", "chunks 1 and 3: two queues of one unit, and two units"},
    {"stretto probe -m gemma3-270m --pairs all --budget 60s -o report", "every pair, and files of the result"},
    {"stretto probe --like gemma4-e2b --pairs 1,3", "a model of those shapes with random weights, in its own four chunks"},
    {"stretto probe --units cpu:0,cpu:1 --arrangement two-units --json", "one core each, for a program"},
    {"stretto probe job.json", "what a job file says (docs/JOB.md); options win over it"},
    {0},
};

const cli_command cmd_probe = {
    .name = "probe",
    .summary = "can two chunks run at the same time, and why or why not?",
    .usages = probe_usages,
    .about = "Measures two chunks alone, one after the other, and started together, in each arrangement that this "
             "machine has, in rounds of random order. The overlap factor is 1 when the shorter one costs nothing "
             "beside the other and 0 when together they take as long as one after the other; below that, they get "
             "in each other's way. The intervals hold the true factor in 95 % of probes.",
    .options = probe_table,
    .operands = probe_operands,
    .examples = probe_examples,
    .options_size = sizeof(probe_options),
    .run = probe_run,
};
