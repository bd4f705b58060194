/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "input.h"
#include "json_out.h"
#include "run_setup.h"
#include "spike.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One run, and where its tokens go as they come. */
typedef struct run_work {
    cli *cx;
    const run_options *o;
    run_setup setup;
    session s;
    st_streams *streams; /* NULL: the session's chain is used */
    st_ids prompt, ids;
    uint64_t tokenize_ns;
    st_utf8_stream stream;
    st_buf text; /* decoded so far; kept for JSON only */
    size_t n_shown;
    run_account account; /* if has_account */
    bool has_account;
    stretto_error failed; /* inside the callback */
} run_work;

static int encode_chat(session *s, const run_options *o, const st_buf *text, st_ids *ids, stretto_error *err) {
    st_chat_turn turns[2];
    size_t n = 0;
    if (o->system) turns[n++] = (st_chat_turn){.role = "system", .text = o->system, .len = strlen(o->system)};
    turns[n++] = (st_chat_turn){.role = "user", .text = text->len ? text->data : "", .len = text->len};
    return st_chat_encode(s->tok, turns, n, ids, err);
}

int run_encode(session *s, const run_options *o, const st_buf *text, st_ids *ids, stretto_error *err) {
    if (o->chat) return encode_chat(s, o, text, ids, err);
    return session_encode(s, text, o->special, st_tokenizer_adds_bos(s->tok), ids, err);
}

static int encode_prompt(run_work *w, const st_buf *text, stretto_error *err) {
    uint64_t start = st_now_ns();
    int rc = run_encode(&w->s, w->o, text, &w->prompt, err);
    w->tokenize_ns = st_now_ns() - start;
    return rc;
}

static int read_prompt(run_work *w, stretto_error *err) {
    const run_options *o = w->o;
    if (o->ids && (o->prompt || o->file)) return st_fail(err, STRETTO_E_USAGE, "give either a text or --ids, not both");
    if (o->ids && o->chat) return st_fail(err, STRETTO_E_USAGE, "--chat wants a text, not --ids");
    if (o->system && !o->chat) return st_fail(err, STRETTO_E_USAGE, "--system is for --chat");
    int rc = run_setup_read(&w->setup, w->cx, o, err);
    if (!rc) rc = session_open_file(&w->s, w->cx, &w->setup.session, err);
    if (rc) return rc;
    if (o->ids) {
        rc = session_open_tokenizer(&w->s, err);
        return rc ? rc : cli_read_ids(w->cx, o->ids, st_tokenizer_size(w->s.tok), &w->prompt, err);
    }
    st_buf text = {0};
    rc = cli_read_text(w->cx, o->prompt, o->file, &text, err);
    if (!rc) rc = session_open_tokenizer(&w->s, err);
    if (!rc) rc = encode_prompt(w, &text, err);
    st_buf_free(&text);
    return rc;
}

/* ---- output ---- */

int run_decode(const st_tokenizer *tok, const run_options *o, int32_t id, bool first, st_utf8_stream *stream,
               st_buf *text, stretto_error *err) {
    st_buf bytes = {0};
    int rc = st_tokenizer_decode(tok, id, o->special, o->chat && first, &bytes, err);
    if (!rc) st_utf8_push(stream, bytes.data, bytes.len, text);
    if (!rc && (bytes.failed || text->failed)) rc = st_fail_memory(err, "the text", text->len);
    st_buf_free(&bytes);
    return rc;
}

static void show_text(run_work *w) {
    if (w->o->json || w->o->dump_ids) return;
    cli_write(w->cx, w->text.data, w->text.len);
    w->text.len = 0;
}

static void show_read(void *arg, uint32_t n) {
    run_work *w = arg;
    if (!w->o->quiet) cli_progress(w->cx, "reading the prompt: %u of %zu tokens", n, w->prompt.len);
}

static int take_id(void *arg, int32_t id) {
    run_work *w = arg;
    if (w->ids.len == 0) cli_progress_end(w->cx);
    int rc = st_ids_add(&w->ids, id, &w->failed);
    if (!rc && w->o->dump_ids && !w->o->json) cli_printf(w->cx, "%s%d", w->ids.len > 1 ? " " : "", id);
    if (!rc) rc = run_decode(w->s.tok, w->o, id, w->ids.len == 1, &w->stream, &w->text, &w->failed);
    show_text(w);
    return rc ? rc : cli_flush(w->cx, &w->failed);
}

static void finish_output(run_work *w) {
    st_utf8_finish(&w->stream, &w->text);
    show_text(w);
    if (w->o->json) return;
    if (w->o->dump_ids || w->cx->out_terminal)
        cli_printf(w->cx, "\n"); /* a terminal wants its next prompt on a new line */
}

static const char *end_reason(enum st_finish finish) {
    switch (finish) {
    case ST_FINISH_LENGTH:
        return "as many as asked for";
    case ST_FINISH_END:
        return "end of the turn";
    case ST_FINISH_CONTEXT:
        return "the context is full";
    case ST_FINISH_STOPPED:
        return "interrupted";
    case ST_FINISH_ERROR:
        break;
    }
    return "an error";
}

static st_streams_stats engine_stats(const run_work *w) {
    return w->streams ? st_streams_stats_get(w->streams) : (st_streams_stats){0};
}

/* What was measured beside what was predicted, if it was. */
static void make_account(run_work *w, const st_generate_result *r) {
    double rate = st_generate_decode_rate(r);
    run_rates measured = {.tokens_per_s = rate,
                          .stream_tokens_per_s = rate,
                          .prefill_tokens_per_s = st_generate_prefill_rate(r),
                          .ttft_ms = (double)r->first_token_ns / 1e6};
    run_load load = {0};
    run_load_add(&load, r->n_prompt, r->n_generated);
    w->has_account = w->setup.expected.there && r->n_generated > 0;
    if (w->has_account) run_account_of(&w->account, &w->setup.expected, &w->setup.schedule, &measured, &load);
}

/* What only the streams engine has to say. */
static void print_engine_stats(const run_work *w) {
    st_streams_stats stats = engine_stats(w);
    if (stats.n_verified > 0)
        cli_note(w->cx, "speculation: %" PRIu64 " passes, %" PRIu64 " tokens guessed, %" PRIu64 " of them right",
                 stats.n_verified, stats.n_guessed, stats.n_right);
    if (w->has_account) run_account_print(w->cx, &w->account);
}

static void print_stats(run_work *w, const st_generate_result *r) {
    if (w->o->quiet) return;
    char first[64] = "";
    if (r->n_generated > 0)
        snprintf(first, sizeof first, "; first token after %.1f ms", (double)r->first_token_ns / 1e6);
    cli_note(w->cx, "prompt: %u token%s, %.1f tokens/s%s", r->n_prompt, r->n_prompt == 1 ? "" : "s",
             st_generate_prefill_rate(r), first);
    if (r->n_generated > 1) {
        cli_note(w->cx, "decode: %u token%s after the first, %.1f tokens/s (%s)", r->n_generated - 1,
                 r->n_generated == 2 ? "" : "s", st_generate_decode_rate(r), end_reason(r->finish));
    }
    print_engine_stats(w);
}

static json_t *result_json(const run_work *w, const st_generate_result *r) {
    json_t *root = json_pack("{s:o, s:o, s:s, s:i, s:i}", "ids", cli_json_ids(w->ids.data, w->ids.len), "text",
                             cli_json_text(w->text.data, w->text.len), "finish_reason", st_finish_name(r->finish),
                             "prompt_tokens", (int)r->n_prompt, "generated_tokens", (int)r->n_generated);
    st_json_set(&root, "prefill_ms", st_json_real((double)r->prefill_ns / 1e6));
    st_json_set(&root, "decode_ms", st_json_real((double)r->decode_ns / 1e6));
    st_json_set(&root, "ttft_ms", st_json_real((double)r->first_token_ns / 1e6));
    st_json_set(&root, "load_ms", st_json_real((double)w->s.model->load_ns / 1e6));
    st_json_set(&root, "prefill_tokens_per_s", st_json_real(st_generate_prefill_rate(r)));
    st_json_set(&root, "decode_tokens_per_s", st_json_real(st_generate_decode_rate(r)));
    st_json_set(&root, "seed", json_integer((json_int_t)w->o->seed));
    if (w->streams) {
        st_streams_stats stats = engine_stats(w);
        st_json_set(&root, "speculation",
                    json_pack("{s:I, s:I, s:I}", "passes", (json_int_t)stats.n_verified, "guessed",
                              (json_int_t)stats.n_guessed, "right", (json_int_t)stats.n_right));
    }
    if (w->has_account) st_json_set(&root, "rates", run_account_json(&w->account));
    st_json_set(&root, "model", cli_json_session(&w->s));
    return root;
}

/* ---- the run ---- */

st_sampler_options run_sampling(const run_options *o) {
    return (st_sampler_options){.temperature = o->temperature,
                                .top_k = o->top_k,
                                .top_p = o->top_p,
                                .min_p = o->min_p,
                                .repeat_penalty = o->repeat_penalty,
                                .repeat_last = o->repeat_last,
                                .seed = o->seed};
}

static void warn_unused_sampling(const run_work *w) {
    const run_options *o = w->o;
    const char *option = o->top_k ? "--top-k" : o->top_p < 1 ? "--top-p" : o->min_p > 0 ? "--min-p" : NULL;
    if (option && o->temperature == 0) {
        st_warn(&w->cx->log, "%s changes nothing while the likeliest token is taken; --temp 0.8 samples", option);
    }
}

static bool spike_asked(void) {
    const char *value = getenv("CHUNK_PIPELINE_SPIKE");
    return value && strcmp(value, "1") == 0;
}

static int generate(run_work *w, st_generate_result *result, stretto_error *err) {
    st_sampler *sampler = NULL;
    st_sampler_options sampling = run_sampling(w->o);
    int rc = st_sampler_create(&sampler, &sampling, w->s.model->n_vocab, err);
    if (rc) return rc;
    st_generate_options options = {
        .prompt = w->prompt.data,
        .n_prompt = (uint32_t)w->prompt.len,
        .n_max = w->o->n,
        .n_batch = w->o->session.batch,
        .sampler = sampler,
        .tok = w->o->ignore_end ? NULL : w->s.tok,
        .on_id = take_id,
        .on_read = show_read,
        .arg = w,
        .cancel = w->cx->stop,
        .handed_ns = st_now_ns() - w->tokenize_ns, /* the prompt is handed to a loaded model; reading its text counts */
    };
    if (w->streams)
        rc = run_setup_generate(&w->setup, w->streams, &options, &sampling, result, err);
    else
        rc = st_generate(w->s.chain, &options, result, err);
    st_sampler_free(sampler);
    cli_progress_end(w->cx);
    if (!w->failed.code) return rc;
    if (w->failed.code != STRETTO_E_STOPPED) result->finish = ST_FINISH_ERROR;
    return st_fail(err, w->failed.code, "%s", w->failed.text);
}

static int open_streams(run_work *w, uint32_t n_prompt, stretto_error *err) {
    uint32_t n_ctx = 0;
    int rc = run_setup_place(&w->setup, &w->s, err);
    if (!rc) rc = session_choose_ctx(&w->s, n_prompt, n_prompt + w->o->n, &n_ctx, err);
    st_workload workload = {.streams = 1, .prompt = n_prompt ? n_prompt : 1, .generate = w->o->n ? w->o->n : 1};
    if (!rc) rc = run_setup_choose(&w->setup, &w->s, &workload, err);
    return rc ? rc : run_setup_open(&w->setup, &w->s, n_ctx, &w->streams, err);
}

static int open_all(run_work *w, stretto_error *err) {
    uint32_t n_prompt = (uint32_t)w->prompt.len;
    bool streams = run_needs_streams(w->o);
    warn_unused_sampling(w);
    int rc = session_open_model(&w->s, err);
    if (!rc && streams) rc = open_streams(w, n_prompt, err);
    if (!rc && (!streams || spike_asked())) rc = session_open_chain(&w->s, n_prompt, n_prompt + w->o->n, 0, err);
    return rc || !spike_asked() ? rc : spike_in_run(&w->s, err);
}

static int run(run_work *w, stretto_error *err) {
    st_generate_result result = {.finish = ST_FINISH_ERROR}; /* as long as nothing has begun */
    int rc = read_prompt(w, err);
    if (!rc && w->prompt.len > INT32_MAX / 2)
        rc = st_fail(err, STRETTO_E_INPUT, "a prompt of %zu tokens", w->prompt.len);
    if (!rc) rc = open_all(w, err);
    if (rc) return rc;
    rc = generate(w, &result, err);
    if (rc && rc != STRETTO_E_STOPPED && result.n_generated == 0) return rc;
    finish_output(w);
    make_account(w, &result);
    print_stats(w, &result);
    stretto_error json_error = {0};
    int printed =
        w->o->json ? cli_json_print(w->cx, result_json(w, &result), &w->s.lanes.host, &json_error) : STRETTO_OK;
    if (!rc && printed) st_fail(err, printed, "%s", json_error.text);
    return rc ? rc : printed;
}

static int run_run(cli *cx, const void *options, stretto_error *err) {
    const run_options *o = options;
    if (o->prompts) return run_streams(cx, o, err);
    const char *many = o->verify ? "--verify" : o->streams ? "--streams" : o->summary ? "--summary" : NULL;
    if (many) return st_fail(err, STRETTO_E_USAGE, "%s is for --prompts", many);
    run_work *w = st_alloc(1, sizeof *w); /* too large for a stack */
    if (!w) return st_fail_memory(err, "a run", sizeof *w);
    w->cx = cx;
    w->o = o;
    int rc = run(w, err);
    st_buf_free(&w->text);
    st_ids_free(&w->ids);
    st_ids_free(&w->prompt);
    st_streams_close(w->streams);
    run_setup_close(&w->setup);
    session_close(&w->s);
    st_free(w);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(run_options, field)
static const cli_option run_table[] = {
    SESSION_MODEL(run_options),
    {.name = "prompt", .letter = 'p', .kind = CLI_TEXT, .at = AT(prompt), .value = "TEXT", .help = "the prompt"},
    {.name = "file", .letter = 'f', .kind = CLI_FILE, .at = AT(file), .value = "FILE",
     .help = "a file with the prompt, byte for byte; - is standard input, which is also read when there is neither "
             "-p nor -f"},
    {.name = "ids", .kind = CLI_FILE, .at = AT(ids), .value = "FILE",
     .help = "the prompt as token ids, taken as they are"},
    {.name = "prompts", .kind = CLI_FILE, .at = AT(prompts), .value = "FILE",
     .help = "many prompts as streams: a JSON object a line, with id, prompt, n and seed (the last two may be missing); "
             "prints a JSON object for each, in order of completion"},
    {.name = "streams", .kind = CLI_COUNT, .at = AT(streams), .value = "N", .least = 1, .most = 256,
     .help = "how many of --prompts are worked on at once (4, or what the schedule says, otherwise)"},
    {.name = "schedule", .kind = CLI_FILE, .at = AT(schedule), .value = "FILE",
     .help = "which chunk of which stream runs where and when, as JSON (docs/PLAN.md); auto: measure, and take what "
             "pays most here"},
    {.name = "speculate", .kind = CLI_CHOICE, .at = AT(speculate), .value = "HOW", .choices = "none|lookup",
     .preset = "none",
     .help = "none, or lookup: guess tokens from where the last ones stood before in the text, and verify the guess in one pass; the "
             "tokens stay the same, and guessing stops where it does not pay"},
    {.name = "verify", .kind = CLI_FLAG, .at = AT(verify),
     .help = "run each of --prompts once more by itself, and fail if an id differs"},
    {.name = "summary", .kind = CLI_TARGET, .at = AT(summary), .value = "FILE",
     .help = "write what --prompts came to in all as JSON: what was measured, and, beside it, what was predicted"},
    {.name = "tokens", .letter = 'n', .kind = CLI_COUNT, .at = AT(n), .value = "N", .preset = "256", .most = 1000000,
     .help = "most tokens to generate"},
    {.name = "chat", .kind = CLI_FLAG, .at = AT(chat), .help = "wrap the prompt in the model's own chat template"},
    {.name = "system", .letter = 's', .kind = CLI_TEXT, .at = AT(system), .value = "TEXT",
     .help = "system prompt of the chat"},
    {.name = "temp", .kind = CLI_NUMBER, .at = AT(temperature), .value = "T", .preset = "0",
     .most = 1000000, .help = "temperature; 0 always takes the likeliest token"},
    {.name = "top-k", .kind = CLI_COUNT, .at = AT(top_k), .value = "K", .preset = "0",
     .help = "sample among the K likeliest; 0: all"},
    {.name = "top-p", .kind = CLI_NUMBER, .at = AT(top_p), .value = "P", .preset = "1", .most = 1,
     .above = true,
     .help = "sample among the fewest that hold probability P together"},
    {.name = "min-p", .kind = CLI_NUMBER, .at = AT(min_p), .value = "P", .preset = "0", .most = 1,
     .help = "sample among those at least P times as likely as the likeliest"},
    {.name = "repeat-penalty", .kind = CLI_NUMBER, .at = AT(repeat_penalty), .value = "X", .preset = "1",
     .most = 1000000, .above = true,
     .help = "make recent tokens less likely; 1: do not"},
    {.name = "repeat-last", .kind = CLI_COUNT, .at = AT(repeat_last), .value = "N", .preset = "64",
     .help = "how many tokens count as recent"},
    {.name = "seed", .kind = CLI_SEED, .at = AT(seed), .value = "N", .preset = "1", .help = "of the sampling"},
    {.name = "special", .kind = CLI_FLAG, .at = AT(special),
     .help = "read special tokens in the prompt as such, show generated ones"},
    {.name = "ignore-eos", .kind = CLI_FLAG, .at = AT(ignore_end), .help = "go on after the end of the turn"},
    {.name = "dump-ids", .kind = CLI_FLAG, .at = AT(dump_ids),
     .help = "print the generated ids on one line instead of the text"},
    SESSION_CHUNKS(run_options),
    SESSION_PLACEMENT(run_options),
    SESSION_MEMORY(run_options),
    {.name = "quiet", .letter = 'q', .kind = CLI_FLAG, .at = AT(quiet), .help = "no speeds on standard error"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON at the end: ids, text, times"},
    {0},
};
static const char *const run_usages[] = {"-m MODEL (-p TEXT | -f FILE | --ids FILE) [-n N] [--chat] [options]",
                                         "-m MODEL --prompts FILE.jsonl [--streams N] [--verify] [options]", NULL};
static const cli_example run_examples[] = {
    {"stretto run -m smollm2 --chat -p \"Why is the sky blue?\"", "ask, in the model's own chat form"},
    {"stretto run -m smollm2 -p \"Once upon a time\" --temp 0.8 --top-p 0.95", "continue a text, sampled"},
    {"git log -5 | stretto run -m gemma3-270m -n 100", "the prompt from standard input"},
    {"stretto run -m smollm2 --prompts jobs.jsonl --streams 8 >results.jsonl", "many prompts, eight at a time"},
    {"CHUNK_PIPELINE_SPIKE=1 stretto run -m smollm2 -p hi", "probe chunks 1 and 3 once before decoding"},
    {0},
};

const cli_command cmd_run = {
    .name = "run",
    .summary = "generate text",
    .usages = run_usages,
    .about = "Continues the prompt, and prints the text as it comes. The likeliest token is taken unless --temp "
             "says otherwise. Ends after -n tokens, when the model ends its turn, or when the context is full. The "
             "speeds on standard error: prompt tokens over the time to read them; tokens after the first over the "
             "time from the first to the last; and the time from handing over the prompt to the first token.\n\nThe "
             "split into chunks, their placement and the number of threads never change the tokens.\n\nWith --prompts many "
             "prompts run as streams, and a line of JSON is printed for each as it ends: id, ids, text, finish_reason "
             "and times. A schedule says how they share the units; all of them give the tokens that each prompt has "
             "alone. Ctrl-C keeps what is finished and prints the others as cancelled. docs/RUN.md has the formats.",
    .options = run_table,
    .examples = run_examples,
    .options_size = sizeof(run_options),
    .run = run_run,
};
