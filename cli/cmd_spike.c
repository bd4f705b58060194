/* SPDX-License-Identifier: MIT
 * The whole protocol of the spike: four prompts, each decoded with and without the probe in front, taking turns. */
#include "commands.h"

#include "base/error.h"
#include "json_out.h"
#include "outputs.h"
#include "report/spike_report.h"
#include "run/generate.h"
#include "spike.h"

#include <stdio.h>
#include <string.h>

typedef struct spike_options {
    session_options session;
    const char *output;
    uint32_t tokens, pairs;
    bool json;
} spike_options;

/* clang-format off */
static const struct {
    const char *category, *text;
} prompts[ST_SPIKE_PROMPTS] = {
    {"chat-define-transformer", "What is a transformer in machine learning? Define it in two or three sentences."},
    {"code-complete-sum",
     "Complete this Python function:\n\ndef sum_of_even(numbers):\n    \"\"\"Return the sum of the even numbers in the "
                          "list.\"\"\"\n"},
    {"qa-where-is-swift", "Where is the programming language Swift used, and who started it?"},
    {"sum-para-ane",
     "Summarise this paragraph in one sentence.\n\nMany phones and laptops have a processor of its own for neural "
     "networks. It reaches a high rate of multiplications at little power, but a program cannot address it directly: "
     "it hands whole models to a driver, which compiles them and decides when they run. Whether two models can run "
     "there at the same time is not documented, so people who want to pipeline the parts of a large model over it have "
     "to measure."},
};
/* clang-format on */

typedef struct spike_work {
    cli *cx;
    const spike_options *o;
    session s;
    st_ids ids[ST_SPIKE_PROMPTS];
    st_ids reference, got; /* ids of the first run of a prompt, and of the present one */
    st_spike_report report;
    st_buf log;
    cli_outputs outputs;
} spike_work;

enum { OUT_MARKDOWN, OUT_LOG, OUT_JSON };

static int encode_prompts(spike_work *w, uint32_t *longest, stretto_error *err) {
    bool chat = st_chat_family(w->s.tok) != NULL;
    *longest = 0;
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS; i++) {
        size_t len = strlen(prompts[i].text);
        st_chat_turn turn = {.role = "user", .text = prompts[i].text, .len = len};
        int rc = chat ? st_chat_encode(w->s.tok, &turn, 1, &w->ids[i], err)
                      : st_tokenizer_encode(w->s.tok, prompts[i].text, len, false, st_tokenizer_adds_bos(w->s.tok),
                                            &w->ids[i], err);
        if (rc) return rc;
        if (w->ids[i].len > *longest) *longest = (uint32_t)w->ids[i].len;
    }
    return STRETTO_OK;
}

static int keep_id(void *arg, int32_t id) {
    spike_work *w = arg;
    return st_ids_add(&w->got, id, NULL);
}

static int probe_first(spike_work *w, st_spike_prompt *row, stretto_error *err) {
    st_spike_record record;
    int rc = spike_prewarm(&w->s, err);
    if (!rc) rc = spike_probe(&w->s, &record, err);
    if (rc) return rc;
    if (!row->probed) row->spike = record;
    row->probed = true;
    st_spike_log(&w->log, &record, "[Spike] ");
    return STRETTO_OK;
}

static void log_run(spike_work *w, const st_generate_result *r) {
    st_buf_printf(&w->log,
                  "prompt %u tokens in %.3f ms, first token after %.3f ms, %u more in %.3f ms: %.2f tokens/s\nids",
                  r->n_prompt, (double)r->prefill_ns / 1e6, (double)r->first_token_ns / 1e6, r->n_generated - 1,
                  (double)r->decode_ns / 1e6, st_generate_decode_rate(r));
    for (size_t k = 0; k < w->got.len; k++) st_buf_printf(&w->log, " %d", w->got.data[k]);
    st_buf_text(&w->log, "\n");
}

/* One generation of prompt i, with the probe in front or not. */
static int run_once(spike_work *w, unsigned i, bool probe, double *rate, stretto_error *err) {
    st_spike_prompt *row = &w->report.prompts[i];
    st_buf_printf(&w->log, "%s, %s\n", row->category, probe ? "with the probe" : "baseline");
    int rc = probe ? probe_first(w, row, err) : STRETTO_OK;
    st_chain_reset(w->s.chain);
    if (rc) return rc;
    w->got.len = 0;
    st_generate_options options = {.prompt = w->ids[i].data,
                                   .n_prompt = (uint32_t)w->ids[i].len,
                                   .n_max = w->o->tokens,
                                   .on_id = keep_id,
                                   .arg = w,
                                   .cancel = w->cx->stop};
    st_generate_result r;
    rc = st_generate(w->s.chain, &options, &r, err);
    if (rc) return rc;
    *rate = st_generate_decode_rate(&r);
    log_run(w, &r);
    return STRETTO_OK;
}

static int compare_ids(spike_work *w, st_spike_prompt *row, stretto_error *err) {
    if (w->reference.len == 0) {
        for (size_t i = 0; i < w->got.len; i++) {
            int rc = st_ids_add(&w->reference, w->got.data[i], err);
            if (rc) return rc;
        }
    }
    bool same =
        w->reference.len == w->got.len && memcmp(w->reference.data, w->got.data, w->got.len * sizeof *w->got.data) == 0;
    row->ids_equal = row->ids_equal && same;
    return STRETTO_OK;
}

/* Pairs of runs with and without the probe; which comes first changes from pair to pair. */
static int run_prompt(spike_work *w, unsigned i, stretto_error *err) {
    st_spike_prompt *row = &w->report.prompts[i];
    *row = (st_spike_prompt){.n_tokens = (unsigned)w->ids[i].len, .ids_equal = true};
    snprintf(row->category, sizeof row->category, "%s", prompts[i].category);
    w->report.n_prompts = i + 1;
    w->reference.len = 0;
    for (unsigned k = 0; k < w->o->pairs; k++) {
        double rate[2];
        for (unsigned turn = 0; turn < 2; turn++) {
            bool probe = (turn + k) % 2 == 1;
            cli_progress(w->cx, "%s (%u of %d): run %u of %u", row->category, i + 1, ST_SPIKE_PROMPTS, 2 * k + turn + 1,
                         2 * w->o->pairs);
            int rc = run_once(w, i, probe, &rate[probe], err);
            if (!rc) rc = compare_ids(w, row, err);
            if (rc) return rc;
        }
        row->baseline[k] = rate[0];
        row->spiked[k] = rate[1];
        row->n_runs = k + 1;
    }
    return STRETTO_OK;
}

static int prepare(spike_work *w, stretto_error *err) {
    uint32_t longest = 0, pair[2];
    int rc = session_open_file(&w->s, w->cx, &w->o->session, err);
    if (!rc) rc = session_open_tokenizer(&w->s, err);
    if (!rc) rc = encode_prompts(w, &longest, err);
    if (!rc) rc = session_open_model(&w->s, err);
    if (!rc) rc = session_open_chain(&w->s, longest + w->o->tokens, 0, 0, err);
    if (!rc) rc = spike_pair(&w->s, pair, err);
    if (!rc) session_title(&w->s, w->report.model, sizeof w->report.model);
    return rc;
}

static int write_reports(spike_work *w, stretto_error *err) {
    st_origin origin = cli_origin(w->cx, &w->s.lanes.host);
    st_buf markdown = {0}, json = {0};
    int rc = st_spike_report_finish(&w->report, err);
    st_spike_markdown(&markdown, &w->report, &origin);
    st_json_write(&json, st_spike_json(&w->report, &origin), false);
    rc = cli_outputs_put(&w->outputs, OUT_MARKDOWN, &markdown, rc, err);
    rc = cli_outputs_put(&w->outputs, OUT_LOG, &w->log, rc, err);
    rc = cli_outputs_put(&w->outputs, OUT_JSON, &json, rc, err);
    const st_buf *shown = w->o->json ? &json : &markdown;
    if (!shown->failed) cli_write(w->cx, shown->data, shown->len);
    st_buf_free(&markdown);
    st_buf_free(&json);
    return rc;
}

static int spike(spike_work *w, stretto_error *err) {
    static const char *const names[] = {
        [OUT_MARKDOWN] = "spike.md", [OUT_LOG] = "spike.log", [OUT_JSON] = "spike.json"};
    if (!w->o->output) return st_fail(err, STRETTO_E_USAGE, "nowhere to write the report: -o DIR");
    int rc = prepare(w, err);
    if (!rc) rc = cli_make_folders(w->o->output, err);
    for (unsigned i = 0; i <= OUT_JSON && !rc; i++)
        rc = cli_outputs_open(&w->outputs, i, w->o->output, names[i], NULL, err);
    if (rc) return rc;
    w->report.n_decoded = w->o->tokens;
    rc = spike_prewarm(&w->s, err);
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS && !rc; i++) {
        rc = run_prompt(w, i, err);
        st_sink_put_early(w->outputs.sink[OUT_LOG], &w->log,
                          NULL); /* for when the machine goes down; write_reports tells of failures */
    }
    cli_progress_end(w->cx);
    w->report.complete = rc == STRETTO_OK;
    stretto_error report_error = {0};
    int written = write_reports(w, &report_error);
    if (written && rc) cli_note(w->cx, "%s", report_error.text);
    return rc ? rc : written ? st_fail(err, written, "%s", report_error.text) : STRETTO_OK;
}

static int spike_run(cli *cx, const void *options, stretto_error *err) {
    spike_work w = {.cx = cx, .o = options};
    int rc = spike(&w, err);
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS; i++) st_ids_free(&w.ids[i]);
    st_ids_free(&w.reference);
    st_ids_free(&w.got);
    st_buf_free(&w.log);
    cli_outputs_close(&w.outputs);
    session_close(&w.s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(spike_options, field)
static const cli_option spike_table[] = {
    SESSION_MODEL(spike_options),
    SESSION_LIKE(spike_options),
    {.name = "output", .letter = 'o', .kind = CLI_FOLDER, .at = AT(output), .value = "DIR",
     .help = "folder for spike.md, spike.log and spike.json; made if need be"},
    {.name = "tokens", .letter = 'n', .kind = CLI_COUNT, .at = AT(tokens), .value = "N", .preset = "64", .least = 2,
     .most = 100000,
     .help = "tokens to decode in each run"},
    {.name = "pairs", .letter = 'r', .kind = CLI_COUNT, .at = AT(pairs), .value = "R", .preset = "3", .least = 1,
     .most = ST_SPIKE_MAX_RUNS, .help = "runs with and without the probe, of each prompt"},
    SESSION_CHUNKS(spike_options),
    SESSION_PLACEMENT(spike_options),
    SESSION_MEMORY(spike_options),
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON instead of Markdown"},
    {0},
};
static const char *const spike_usages[] = {"-m MODEL -o DIR [options] [--json]", "--like NAME -o DIR [options] [--json]", NULL};
static const cli_example spike_examples[] = {
    {"stretto spike -m smollm2 -o spike", "both chunks on one unit of all cores, as in the original"},
    {"stretto spike --like gemma4-e2b -o spike-e2b", "the original's model in its own four chunks, with random weights"},
    {"stretto spike -m smollm2 --place 1=cpu:0,3=cpu:1 -o spike-split", "chunk 3 on a unit of its own"},
    {0},
};

const cli_command cmd_spike = {
    .name = "spike",
    .summary = "the original spike: chunk 1 beside chunk 3, on four prompts",
    .usages = spike_usages,
    .about = "Repeats the spike that Stretto began with. For each of four prompts: ten trials of chunk 1, of chunk "
             "3, of one after the other and of both together from two queues, caches warm, then the decode speed "
             "with and without that probe in front. The report goes to standard output as Markdown and to DIR, with "
             "the raw log and JSON beside it.\n\nstretto probe answers the same question with more care.",
    .options = spike_table,
    .examples = spike_examples,
    .options_size = sizeof(spike_options),
    .run = spike_run,
};
