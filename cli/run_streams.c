/* SPDX-License-Identifier: MIT
 * Many prompts as streams: results as JSON, one line each, in order of completion. */
#include "run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "input.h"
#include "json_out.h"
#include "prompts.h"
#include "report/sink.h"
#include "run_setup.h"

#include <inttypes.h>
#include <stdlib.h>

/* What --verify compares with, of one prompt. */
typedef struct kept {
    int32_t *ids;
    uint32_t n;
    enum st_finish finish;
    bool there; /* it was run to its end, or to where it was cancelled */
} kept;

typedef struct streams_work {
    cli *cx;
    const run_options *o;
    run_setup setup;
    session s;
    cli_prompts prompts;
    st_ids *ids;         /* [prompts.n] */
    st_job *jobs;        /* [prompts.n] those that can run first, n_jobs of them */
    uint32_t *prompt_of; /* [prompts.n] of each job */
    uint32_t n_jobs;
    st_sampler_options *sampling; /* [prompts.n] */
    kept *kept;                   /* [prompts.n] of each job; NULL without --verify */
    run_span *spans;              /* [prompts.n] of those that have a first token */
    uint32_t n_spans, n_done, n_cancelled, n_failed;
    run_load load;
    uint32_t n_ctx;
    st_streams *streams;
    run_account account;  /* of the run, if it gave any token */
    st_sink *summary;     /* NULL: not asked for */
    stretto_error failed; /* inside a callback */
} streams_work;

/* ---- prompts ---- */

static int read_prompts(streams_work *w, stretto_error *err) {
    st_buf text = {0};
    int rc = cli_read_file(w->cx, w->o->prompts, &text, err);
    if (!rc) rc = cli_prompts_parse(&w->prompts, w->o->prompts, &text, w->o->n, w->o->seed, err);
    st_buf_free(&text);
    return rc;
}

static int encode_prompt(streams_work *w, size_t i, stretto_error *err) {
    const cli_prompt *p = &w->prompts.list[i];
    int rc = run_encode(&w->s, w->o, &p->text, &w->ids[i], err);
    if (!rc && w->ids[i].len > INT32_MAX / 2)
        rc = st_fail(err, STRETTO_E_INPUT, "%.*s line %u: \"prompt\" has %zu tokens",
                     ST_CUT(cli_shown_path(w->o->prompts), 200), p->line, w->ids[i].len);
    w->sampling[i] = run_sampling(w->o);
    w->sampling[i].seed = p->seed;
    return rc;
}

static int encode_prompts(streams_work *w, stretto_error *err) {
    size_t n = w->prompts.n;
    w->ids = calloc(n, sizeof *w->ids);
    w->jobs = calloc(n, sizeof *w->jobs);
    w->prompt_of = calloc(n, sizeof *w->prompt_of);
    w->sampling = calloc(n, sizeof *w->sampling);
    w->spans = calloc(n, sizeof *w->spans);
    w->kept = w->o->verify ? calloc(n, sizeof *w->kept) : NULL;
    if (!w->ids || !w->jobs || !w->prompt_of || !w->sampling || !w->spans || (w->o->verify && !w->kept))
        return st_fail_memory(err, "the prompts", n * sizeof *w->jobs);
    int rc = STRETTO_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        if (cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while reading the prompts");
        rc = encode_prompt(w, i, err);
    }
    return rc;
}

static void add_job(streams_work *w, uint32_t at, uint32_t prompt) {
    w->prompt_of[at] = prompt;
    w->jobs[at] = (st_job){.prompt = w->ids[prompt].data,
                           .n_prompt = (uint32_t)w->ids[prompt].len,
                           .n_max = w->prompts.list[prompt].n,
                           .sampler = &w->sampling[prompt]};
}

/* Whether a prompt of so many tokens can run: it has some, and they fit into the context. */
static int can_run(const streams_work *w, uint32_t n_tokens, stretto_error *why) {
    if (n_tokens == 0) return st_fail(why, STRETTO_E_INPUT, "an empty prompt has no tokens to go on from");
    return session_fits_ctx(&w->s, n_tokens, why);
}

/* A job for each prompt, in the order of the file: first those that can run, then the others. */
static void order_jobs(streams_work *w) {
    uint32_t n = (uint32_t)w->prompts.n, at = 0;
    for (unsigned good = 2; good-- > 0;) {
        for (uint32_t i = 0; i < n; i++) {
            stretto_error why;
            if ((can_run(w, (uint32_t)w->ids[i].len, &why) == STRETTO_OK) == (good == 1)) add_job(w, at++, i);
        }
        if (good) w->n_jobs = at;
    }
}

/* Of a job that cannot run: its line, and why. */
static int fail_job(const streams_work *w, uint32_t job, stretto_error *err) {
    stretto_error why = {0};
    int rc = can_run(w, w->jobs[job].n_prompt, &why);
    return st_fail(err, rc, "%.*s line %u: \"prompt\": %.*s", ST_CUT(cli_shown_path(w->o->prompts), 200),
                   w->prompts.list[w->prompt_of[job]].line, ST_CUT(why.text, 250));
}

/* The context of every stream: room for the longest prompt that can run and what is to follow it. */
static int choose_ctx(streams_work *w, stretto_error *err) {
    uint32_t wanted = 0, longest = 0;
    order_jobs(w);
    uint32_t n = w->n_jobs ? w->n_jobs : (uint32_t)w->prompts.n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t all = w->jobs[i].n_prompt + w->jobs[i].n_max;
        if (all > wanted) wanted = all;
        if (w->jobs[i].n_prompt > w->jobs[longest].n_prompt) longest = i;
    }
    if (w->n_jobs == 0) return fail_job(w, longest, err);
    return session_choose_ctx(&w->s, w->jobs[longest].n_prompt, wanted, &w->n_ctx, err);
}

/* ---- results ---- */

static int result_text(const streams_work *w, const st_job_result *r, st_buf *text, stretto_error *err) {
    st_utf8_stream stream = {0};
    int rc = STRETTO_OK;
    for (uint32_t i = 0; i < r->n_ids && !rc; i++)
        rc = run_decode(w->s.tok, w->o, r->ids[i], i == 0, &stream, text, err);
    st_utf8_finish(&stream, text);
    return rc;
}

static int print_result(streams_work *w, const st_job_result *r, stretto_error *err) {
    st_buf text = {0}, line = {0};
    int rc = result_text(w, r, &text, err);
    json_t *root =
        json_pack("{s:O, s:o, s:o, s:s, s:i}", "id", w->prompts.list[w->prompt_of[r->job]].id, "ids",
                  cli_json_ids(r->ids, r->n_ids), "text", cli_json_text(text.data, text.len), "finish_reason",
                  st_finish_name(r->finish), "prompt_tokens", (int)w->jobs[r->job].n_prompt);
    st_json_set(&root, "prefill_ms", st_json_real((double)r->prefill_ns / 1e6));
    st_json_set(&root, "decode_ms", st_json_real((double)r->decode_ns / 1e6));
    st_json_set(&root, "ttft_ms", st_json_real((double)r->first_token_ns / 1e6));
    st_json_set(&root, "wait_ms", st_json_real((double)r->wait_ns / 1e6));
    if (r->error) st_json_set(&root, "error", st_json_text(r->error->text));
    st_json_write(&line, root, true);
    if (!rc && (text.failed || line.failed)) rc = st_fail_memory(err, "a result", text.len);
    if (!rc) cli_write(w->cx, line.data, line.len);
    if (!rc) rc = cli_flush(w->cx, err);
    st_buf_free(&line);
    st_buf_free(&text);
    return rc;
}

static int keep(streams_work *w, const st_job_result *r, stretto_error *err) {
    kept *k = &w->kept[r->job];
    k->ids = calloc((size_t)r->n_ids + 1, sizeof *k->ids);
    if (!k->ids) return st_fail_memory(err, "a result", r->n_ids * sizeof *k->ids);
    for (uint32_t i = 0; i < r->n_ids; i++) k->ids[i] = r->ids[i];
    k->n = r->n_ids;
    k->finish = r->finish;
    k->there = r->finish != ST_FINISH_ERROR;
    return STRETTO_OK;
}

static int take_result(void *arg, const st_job_result *r) {
    streams_work *w = arg;
    w->n_cancelled += r->finish == ST_FINISH_STOPPED;
    w->n_failed += r->finish == ST_FINISH_ERROR;
    if (r->n_ids > 0) w->spans[w->n_spans++] = run_span_of(r, w->jobs[r->job].n_prompt);
    if (r->job < w->n_jobs) run_load_add(&w->load, w->jobs[r->job].n_prompt, r->n_ids);
    int rc = print_result(w, r, &w->failed);
    if (!rc && w->kept) rc = keep(w, r, &w->failed);
    cli_progress(w->cx, "%u of %zu prompts", ++w->n_done, w->prompts.n);
    return rc;
}

/* Prompts that cannot run fail by themselves. *why: what the first of them did. */
static int refuse_others(streams_work *w, stretto_error *why) {
    int rc = STRETTO_OK;
    for (uint32_t i = w->n_jobs; i < w->prompts.n && !rc; i++) {
        stretto_error own;
        can_run(w, w->jobs[i].n_prompt, &own);
        rc = take_result(w, &(st_job_result){.job = i, .finish = ST_FINISH_ERROR, .error = &own});
    }
    if (w->n_jobs < w->prompts.n) fail_job(w, w->n_jobs, why);
    return rc;
}

/* ---- the same once more, one after the other ---- */

typedef struct serial {
    const kept *expected;
    uint32_t n;
} serial;

static int compare_id(void *arg, int32_t id) {
    serial *v = arg;
    if (v->n == v->expected->n || v->expected->ids[v->n] != id) return 1;
    v->n++;
    return v->n == v->expected->n && v->expected->finish == ST_FINISH_STOPPED;
}

static int verify_one(streams_work *w, uint32_t i, stretto_error *err) {
    const kept *k = &w->kept[i];
    st_sampler *sampler = NULL;
    serial v = {.expected = k};
    st_generate_result r;
    stretto_error stopped = {0};
    if (!k->there || (k->n == 0 && k->finish == ST_FINISH_STOPPED)) return STRETTO_OK;
    int rc = st_sampler_create(&sampler, w->jobs[i].sampler, w->s.model->n_vocab, err);
    if (rc) return rc;
    st_generate_options options = {.prompt = w->jobs[i].prompt,
                                   .n_prompt = w->jobs[i].n_prompt,
                                   .n_max = w->jobs[i].n_max,
                                   .sampler = sampler,
                                   .tok = w->o->ignore_end ? NULL : w->s.tok,
                                   .on_id = compare_id,
                                   .arg = &v};
    st_chain_reset(w->s.chain);
    rc = st_generate(w->s.chain, &options, &r, &stopped);
    st_sampler_free(sampler);
    bool same = v.n == k->n && r.finish == k->finish;
    if (rc && rc != STRETTO_E_STOPPED) return st_fail(err, rc, "%s", stopped.text);
    if (same) return STRETTO_OK;
    if (cli_stopped(w->cx)) /* the chain looks at that, too, and its run may have ended early */
        return st_fail(err, STRETTO_E_STOPPED, "interrupted while verifying");
    return st_fail(err, STRETTO_E_INTERNAL,
                   "%.*s line %u: not the ids of a serial run: id %u of %u differs, or the end",
                   ST_CUT(cli_shown_path(w->o->prompts), 200), w->prompts.list[w->prompt_of[i]].line, v.n + 1, k->n);
}

static int verify(streams_work *w, stretto_error *err) {
    uint32_t n = 0;
    int rc = session_open_chain(&w->s, w->n_ctx, w->n_ctx, 0, err);
    for (uint32_t i = 0; i < w->n_jobs && !rc; i++) {
        if (cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while verifying");
        cli_progress(w->cx, "verifying %u of %u prompts", i + 1, w->n_jobs);
        rc = verify_one(w, i, err);
        n += w->kept[i].there;
    }
    cli_progress_end(w->cx);
    if (!rc && !w->o->quiet) cli_note(w->cx, "verified: the ids of %u prompts are those of serial runs", n);
    return rc;
}

/* ---- the run ---- */

static void see_pass(void *arg, const st_pass_seen *pass) {
    run_setup_see(&((streams_work *)arg)->setup, pass);
}

static void print_stats(streams_work *w) {
    st_streams_stats stats = st_streams_stats_get(w->streams);
    char ended[96] = "";
    if (w->n_cancelled || w->n_failed)
        snprintf(ended, sizeof ended, ", %u cancelled, %u failed", w->n_cancelled, w->n_failed);
    uint32_t streams = run_setup_streams(&w->setup);
    cli_note(w->cx, "%zu prompt%s in %u stream%s%s: %.2f s, %" PRIu64 " tokens generated, KV %.1f MB", w->prompts.n,
             w->prompts.n == 1 ? "" : "s", streams, streams == 1 ? "" : "s", ended, (double)stats.wall_ns / 1e9,
             stats.n_decoded, (double)st_streams_kv_bytes(w->streams) / 1e6);
    if (w->n_spans > 0) run_account_print(w->cx, &w->account);
}

static json_t *summary_json(const streams_work *w) {
    st_streams_stats stats = st_streams_stats_get(w->streams);
    st_origin origin = cli_origin(w->cx, &w->s.lanes.host);
    json_t *root = json_pack("{s:s, s:I, s:i, s:i, s:i}", "schema", "stretto-run/1", "prompts",
                             (json_int_t)w->prompts.n, "streams", (int)run_setup_streams(&w->setup), "cancelled",
                             (int)w->n_cancelled, "failed", (int)w->n_failed);
    origin.seed = &w->o->seed;
    st_json_set(&root, "wall_ns", st_json_count(stats.wall_ns));
    st_json_set(&root, "passes", st_json_count(stats.n_passes));
    st_json_set(&root, "prompt_tokens", st_json_count(stats.n_prompt));
    st_json_set(&root, "generated_tokens", st_json_count(stats.n_decoded));
    st_json_set(&root, "kv_bytes", st_json_count(st_streams_kv_bytes(w->streams)));
    if (w->setup.scheduled) st_json_set(&root, "schedule", st_schedule_json(&w->setup.schedule));
    if (w->n_spans > 0) st_json_set(&root, "rates", run_account_json(&w->account));
    st_json_origin(&root, &origin);
    return root;
}

static int write_summary(streams_work *w, stretto_error *err) {
    st_buf text = {0};
    if (!w->summary) return STRETTO_OK;
    st_json_write(&text, summary_json(w), false);
    int rc = st_sink_put(w->summary, &text, err);
    st_buf_free(&text);
    return rc;
}

/* What the run came to. */
static int tell(streams_work *w, stretto_error *err) {
    run_rates measured = run_rates_of(w->spans, w->n_spans);
    if (w->n_spans > 0) run_account_of(&w->account, &w->setup.expected, &w->setup.schedule, &measured, &w->load);
    if (!w->o->quiet) print_stats(w);
    return write_summary(w, err);
}

/* All prompts at once, each as long as they are on average. */
static st_workload workload_of(const streams_work *w) {
    uint64_t prompt = 0, generate = 0, n = w->n_jobs;
    for (size_t i = 0; i < n; i++) {
        prompt += w->jobs[i].n_prompt;
        generate += w->jobs[i].n_max;
    }
    return (st_workload){.streams = (uint32_t)n,
                         .prompt = (uint32_t)(prompt / n > 0 ? prompt / n : 1),
                         .generate = (uint32_t)(generate / n > 0 ? generate / n : 1)};
}

/* How the run ended: what the engine says, and of how many prompts. */
static int outcome(const streams_work *w, int rc, stretto_error *err) {
    if (rc == STRETTO_E_STOPPED)
        return st_fail(err, rc, "interrupted: %zu prompts finished, %u cancelled",
                       w->prompts.n - w->n_cancelled - w->n_failed, w->n_cancelled);
    if (rc && w->n_failed > 0)
        return st_fail(err, rc, "%u of %zu prompts failed: %.*s", w->n_failed, w->prompts.n, ST_CUT(err->text, 400));
    return rc;
}

static int run_all(streams_work *w, stretto_error *err) {
    st_streams_events events = {.on_result = take_result, .on_pass = see_pass, .arg = w};
    stretto_error differs = {0}, untold = {0}, refused = {0};
    int verified = STRETTO_OK, rc = refuse_others(w, &refused);
    if (!rc) rc = st_streams_run(w->streams, w->jobs, w->n_jobs, &events, err);
    cli_progress_end(w->cx);
    if (w->failed.code) return st_fail(err, w->failed.code, "%s", w->failed.text);
    if (!rc && refused.code) rc = st_fail(err, refused.code, "%s", refused.text);
    int told = tell(w, &untold);
    rc = outcome(w, rc, err);
    if (!rc && told) rc = st_fail(err, told, "%s", untold.text);
    st_streams_close(w->streams);
    w->streams = NULL;
    /* Without the prompts that failed; on units that have not. */
    if (w->o->verify && (!rc || rc == STRETTO_E_INPUT)) verified = verify(w, &differs);
    return verified ? st_fail(err, verified, "%s", differs.text) : rc;
}

static int check_options(const run_options *o, stretto_error *err) {
    if (o->prompt || o->file || o->ids)
        return st_fail(err, STRETTO_E_USAGE, "--prompts has the prompts: no -p, -f or --ids beside it");
    if (o->dump_ids || o->json)
        return st_fail(err, STRETTO_E_USAGE, "--prompts prints JSON lines with text and ids: no --json or --dump-ids");
    return o->system && !o->chat ? st_fail(err, STRETTO_E_USAGE, "--system is for --chat") : STRETTO_OK;
}

static int run(streams_work *w, stretto_error *err) {
    int rc = check_options(w->o, err);
    if (!rc && w->o->summary) rc = st_sink_open(&w->summary, w->o->summary, err);
    if (!rc) rc = run_setup_read(&w->setup, w->cx, w->o, err);
    if (!rc) rc = read_prompts(w, err);
    if (!rc) rc = session_open_file(&w->s, w->cx, &w->setup.session, err);
    if (!rc) rc = session_open_tokenizer(&w->s, err);
    if (!rc) rc = encode_prompts(w, err);
    if (!rc) rc = session_open_model(&w->s, err);
    if (!rc) rc = run_setup_place(&w->setup, &w->s, err);
    if (!rc) rc = choose_ctx(w, err);
    if (rc) return rc;
    st_workload workload = workload_of(w);
    rc = run_setup_choose(&w->setup, &w->s, &workload, err);
    if (!rc) rc = run_setup_open(&w->setup, &w->s, w->n_ctx, &w->streams, err);
    return rc ? rc : run_all(w, err);
}

int run_streams(cli *cx, const run_options *o, stretto_error *err) {
    streams_work *w = st_alloc(1, sizeof *w); /* too large for a stack */
    if (!w) return st_fail_memory(err, "a run of prompts", sizeof *w);
    w->cx = cx;
    w->o = o;
    int rc = run(w, err);
    st_streams_close(w->streams);
    for (size_t i = 0; i < w->prompts.n; i++) {
        if (w->ids) st_ids_free(&w->ids[i]);
        if (w->kept) free(w->kept[i].ids);
    }
    free(w->ids);
    free(w->jobs);
    free(w->prompt_of);
    free(w->sampling);
    free(w->kept);
    free(w->spans);
    cli_prompts_free(&w->prompts);
    st_sink_close(w->summary);
    run_setup_close(&w->setup);
    session_close(&w->s);
    st_free(w);
    return rc;
}
