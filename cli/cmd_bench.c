/* SPDX-License-Identifier: MIT
 * What is timed: ppN, reading a prompt of N tokens until the last one's logits are there; tgN, N decode steps, each
 * with its argmax, fed back. @dD: after D tokens of context, which are not timed. Not timed: loading, tokenizing,
 * sampling, text. */
#include "commands.h"

#include "base/clock.h"
#include "base/error.h"
#include "bench.h"
#include "json_out.h"
#include "roofline.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench_options {
    session_options session;
    cli_counts prompts, decodes, depths, threads;
    uint32_t repetitions;
    const char *format;
    bool json, roofline;
} bench_options;

typedef struct bench_work {
    cli *cx;
    const bench_options *o;
    session_options session; /* with the number of threads of the moment */
    session s;
    bench_list list;
    roofline roof;
    uint64_t *busy_ns; /* [n_chunks] of the sample of the moment */
    int32_t *ids;      /* [context] what prompts are made of */
} bench_work;

static const char *format_of(const bench_options *o) {
    return o->json ? "json" : o->format;
}

/* Adds what the chunks took in the last forward. */
static void note_busy(bench_work *w) {
    for (uint32_t i = 0; i < w->s.n_chunks; i++) w->busy_ns[i] += st_chain_busy_ns(w->s.chain, i);
}

static int feed(bench_work *w, uint32_t n, stretto_error *err) {
    int rc = n ? st_chain_forward(w->s.chain, w->ids, n, ST_WANT_LAST, NULL, NULL, err) : STRETTO_OK;
    note_busy(w);
    return rc;
}

/* What a test begins with, in parts as the chain would read it, so that progress can be told. */
static int read_depth(bench_work *w, const bench_test *t, stretto_error *err) {
    const uint32_t most = st_chain_batch(w->s.chain);
    int rc = STRETTO_OK;
    for (uint32_t done = 0; done < t->depth && !rc; done += most) {
        const uint32_t left = t->depth - done, n = left < most ? left : most;
        if (done > 0) cli_progress(w->cx, "%s: %u of %u tokens of context", t->name, done, t->depth);
        rc = st_chain_forward(w->s.chain, w->ids + done, n, ST_WANT_NONE, NULL, NULL, err);
    }
    return rc;
}

static int look_at_id(void *arg, int32_t id) {
    (void)id;
    return cli_stopped(arg);
}

static int decode(bench_work *w, uint32_t n, stretto_error *err) {
    st_decoding steps = {.first = w->ids[0], .n = n, .on_id = look_at_id, .arg = w->cx};
    int rc = st_chain_decode(w->s.chain, &steps, err);
    note_busy(w);
    if (!rc && cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted in the benchmark");
    return rc;
}

static int time_once(bench_work *w, const bench_test *t, uint64_t *ns, stretto_error *err) {
    st_chain_reset(w->s.chain);
    int rc = read_depth(w, t, err);
    if (rc) return rc;
    if (cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted in the benchmark");
    memset(w->busy_ns, 0, w->s.n_chunks * sizeof *w->busy_ns);
    uint64_t start = st_now_ns();
    rc = t->decode ? decode(w, t->tokens, err) : feed(w, t->tokens, err);
    *ns = st_now_ns() - start;
    return rc;
}

static int run_test(bench_work *w, bench_test *t, stretto_error *err) {
    uint64_t ns;
    bench_test warm_up = *t;
    if (t->decode && warm_up.tokens > 8) warm_up.tokens = 8;
    const bool reads = w->o->roofline && t->decode;
    int rc = time_once(w, &warm_up, &ns, err);
    while (!rc && t->n_samples < w->o->repetitions) {
        cli_progress(w->cx, "%s, %u thread%s: repetition %u of %u", t->name, t->threads, t->threads == 1 ? "" : "s",
                     t->n_samples + 1, w->o->repetitions);
        if (reads) rc = roofline_read(&w->roof, &w->s, &t->reads[t->n_samples], err);
        if (!rc) rc = time_once(w, t, &ns, err);
        if (rc) break;
        memcpy(t->chunks_ns + (size_t)t->n_samples * t->n_chunks, w->busy_ns, t->n_chunks * sizeof *w->busy_ns);
        t->samples_ns[t->n_samples++] = ns ? ns : 1;
    }
    cli_progress_end(w->cx);
    if (reads && !rc) rc = roofline_read(&w->roof, &w->s, &t->reads[t->n_samples], err);
    return rc;
}

static uint32_t largest(const cli_counts *counts) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < counts->n; i++) {
        if (counts->items[i] > most) most = counts->items[i];
    }
    return most;
}

static bool has_tests(const bench_options *o) {
    return largest(&o->prompts) > 0 || largest(&o->decodes) > 0;
}

static int open_threads(bench_work *w, uint32_t threads, stretto_error *err) {
    uint32_t longest =
        largest(&w->o->prompts) > largest(&w->o->decodes) ? largest(&w->o->prompts) : largest(&w->o->decodes);
    w->session.threads = threads;
    int rc = w->s.model ? session_reopen_units(&w->s, err) : session_open_model(&w->s, err);
    if (!rc) rc = session_open_chain(&w->s, largest(&w->o->depths) + longest, 0, 0, err);
    free(w->busy_ns);
    w->busy_ns = calloc(rc ? 1 : w->s.n_chunks, sizeof *w->busy_ns);
    return rc || w->busy_ns ? rc : st_fail_memory(err, "times of chunks", w->s.n_chunks * sizeof *w->busy_ns);
}

static uint32_t threads_now(const session *s) {
    uint32_t most = 0;
    for (unsigned i = 0; i < s->lanes.n; i++) {
        st_unit_info info;
        st_unit_info_get(s->lanes.units[i], &info);
        most = info.n_threads > most ? info.n_threads : most;
    }
    return most;
}

static int run_kind(bench_work *w, const cli_counts *tokens, bool is_decode, stretto_error *err) {
    const bool shown = !(w->o->roofline && strcmp(format_of(w->o), "csv") == 0);
    for (uint32_t d = 0; d < w->o->depths.n; d++) {
        for (uint32_t i = 0; i < tokens->n; i++) {
            if (tokens->items[i] == 0) continue;
            const bench_test like = {.decode = is_decode,
                                     .tokens = tokens->items[i],
                                     .depth = w->o->depths.items[d],
                                     .threads = threads_now(&w->s),
                                     .n_chunks = w->s.n_chunks};
            bench_test *t = bench_add(&w->list, &like, w->o->repetitions, err);
            if (!t) return err->code;
            int rc = run_test(w, t, err);
            if (t->n_samples > 0 && shown) bench_row(w->cx, format_of(w->o), t);
            if (!rc && w->o->roofline) rc = roofline_test(&w->roof, &w->s, t, err);
            int flushed = cli_flush(w->cx, rc ? NULL : err);
            if (rc || flushed) return rc ? rc : flushed;
        }
    }
    return STRETTO_OK;
}

/* Kernels and units without a model. */
static int open_lanes(bench_work *w, uint32_t threads, stretto_error *err) {
    cli_lanes_close(&w->s.lanes);
    int rc = cli_kernels_select(&w->s.kern, err);
    return rc ? rc : cli_lanes_open(&w->s.lanes, w->session.units, w->session.place, threads, &w->cx->log, err);
}

/* All that is measured with one number of threads. */
static int run_threads(bench_work *w, uint32_t threads, bool first, stretto_error *err) {
    const bool model = w->s.gguf != NULL, csv = strcmp(format_of(w->o), "csv") == 0;
    int rc = model ? open_threads(w, threads, err) : open_lanes(w, threads, err);
    if (!rc && w->o->roofline) rc = roofline_lanes(&w->roof, w->cx, &w->s.lanes, w->s.kern, w->s.model, err);
    if (rc || !model) return rc;
    if (first && has_tests(w->o) && !(w->o->roofline && csv)) bench_head(w->cx, format_of(w->o), &w->s);
    if (w->o->roofline) rc = roofline_parts(&w->roof, &w->s, err);
    if (!rc) rc = run_kind(w, &w->o->prompts, false, err);
    return rc ? rc : run_kind(w, &w->o->decodes, true, err);
}

static int run_all(bench_work *w, stretto_error *err) {
    uint32_t n_threads = w->o->threads.n ? w->o->threads.n : 1;
    int rc = STRETTO_OK;
    for (uint32_t i = 0; i < n_threads && !rc; i++)
        rc = run_threads(w, w->o->threads.n ? w->o->threads.items[i] : 0, i == 0, err);
    if (!rc && w->o->roofline) rc = roofline_scaling(&w->roof, err);
    if (w->roof.n > 0 && w->list.n && strcmp(format_of(w->o), "md") == 0) cli_printf(w->cx, "\n");
    roofline_show(&w->roof, w->cx, format_of(w->o));
    roofline_warn(&w->roof, &w->cx->log);
    return rc;
}

/* Prompts of many different tokens, as far as the vocabulary goes: embeddings are read a row at a time. */
static int make_ids(bench_work *w, stretto_error *err) {
    uint32_t n = largest(&w->o->prompts) + largest(&w->o->depths) + 1, n_vocab = 0;
    const st_tensor *embed = st_gguf_tensor(w->s.gguf, "token_embd.weight");
    if (embed) n_vocab = (uint32_t)(embed->dims[1] < UINT32_MAX ? embed->dims[1] : UINT32_MAX);
    w->ids = calloc(n, sizeof *w->ids);
    if (!w->ids) return st_fail_memory(err, "the prompt", (unsigned long long)n * sizeof *w->ids);
    for (uint32_t i = 0; i < n && n_vocab; i++) w->ids[i] = (int32_t)((i * 7919u + 17u) % n_vocab);
    return STRETTO_OK;
}

static json_t *whole_json(const bench_work *w) {
    json_t *root = bench_json(&w->list, &w->s, w->o->repetitions);
    if (w->o->roofline) st_json_set(&root, "roofline", roofline_json(&w->roof));
    return root;
}

static int bench_run(cli *cx, const void *options, stretto_error *err) {
    const bench_options *o = options;
    bench_work w = {.cx = cx, .o = o, .session = o->session};
    if (!has_tests(o) && !o->roofline) return st_fail(err, STRETTO_E_USAGE, "nothing to measure: -p and -n are both 0");
    int rc = STRETTO_OK;
    if (o->session.model || o->session.like || !o->roofline) rc = session_open_file(&w.s, cx, &w.session, err);
    if (!rc && w.s.gguf) rc = make_ids(&w, err);
    if (!rc) rc = run_all(&w, err);
    bool json = strcmp(format_of(o), "json") == 0;
    if (json && w.list.n + w.roof.n > 0 && (!rc || rc == STRETTO_E_STOPPED)) {
        stretto_error json_error = {0};
        int printed = cli_json_print(cx, whole_json(&w), &w.s.lanes.host, &json_error);
        if (!rc && printed) rc = st_fail(err, printed, "%s", json_error.text);
    }
    bench_free(&w.list);
    roofline_free(&w.roof);
    free(w.ids);
    free(w.busy_ns);
    session_close(&w.s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(bench_options, field)
static const cli_option bench_table[] = {
    SESSION_MODEL(bench_options),
    SESSION_LIKE(bench_options),
    {.name = "prefill", .letter = 'p', .kind = CLI_COUNTS, .at = AT(prompts), .value = "P", .preset = "512",
     .most = 1000000,
     .help = "prompt tokens to read: a row ppP each; 0: none"},
    {.name = "decode", .letter = 'n', .kind = CLI_COUNTS, .at = AT(decodes), .value = "N", .preset = "128",
     .most = 1000000,
     .help = "tokens to generate: a row tgN each; 0: none"},
    {.name = "depth", .letter = 'd', .kind = CLI_COUNTS, .at = AT(depths), .value = "D", .preset = "0", .most = 1000000,
     .help = "tokens in the context before (not timed)"},
    {.name = "repetitions", .letter = 'r', .kind = CLI_COUNT, .at = AT(repetitions), .value = "R", .preset = "5",
     .least = 1,
     .most = 10000, .help = "how often each is measured, after one warm-up"},
    {.name = "threads", .letter = 't', .kind = CLI_COUNTS, .at = AT(threads), .value = "T", .least = 1,
     .help = "threads of each unit, one set of rows each (one a core otherwise)"},
    SESSION_CHUNKS(bench_options),
    SESSION_UNITS(bench_options),
    SESSION_MEMORY(bench_options),
    {.name = "format", .kind = CLI_CHOICE, .at = AT(format), .value = "FORM", .choices = "text|md|csv|json",
     .preset = "text",
     .help = "text, md (a Markdown table), csv (one line a sample) or json"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "the same as --format json"},
    {.name = "roofline", .kind = CLI_FLAG, .at = AT(roofline),
     .help = "measure what the units give at most, and how near to it kernels, chunks and tests come"},
    {0},
};
static const char *const bench_usages[] = {"-m MODEL [-p P] [-n N] [-d D] [-r R] [--threads T] [--json]",
                                           "--roofline [-m MODEL] [--threads T] [--json]", NULL};
static const cli_example bench_examples[] = {
    {"stretto bench -m smollm2", "prefill of 512 tokens, decode of 128"},
    {"stretto bench -m smollm2 -p 0 -n 64 -d 0,1024 --threads 1,2 --format md",
     "decode alone, short and long context, 1 and 2 threads"},
    {"stretto bench --roofline --threads 1,2", "the machine's limits, and every kernel's share of them"},
    {0},
};

const cli_command cmd_bench = {
    .name = "bench",
    .summary = "prefill and decode speed",
    .usages = bench_usages,
    .about = "Measures tokens per second of reading a prompt (ppP) and of generating (tgN), with as many samples as "
             "-r says. The values of -p, -n, -d and --threads may be lists like 1,2. Rows are named as in "
             "llama-bench; tg128@d1024 is decode after 1,024 tokens. Tokens per second are the median of the samples, "
             "beside the least and the most; every sample is in csv and json, what each chunk took of it in json.\n\n"
             "With --roofline it first measures each unit's peaks: bytes read from memory, and multiply-adds on "
             "registers, as integer dot products and in f32 (macs/ns: multiply-adds a nanosecond). Then it shows what "
             "share of a peak each kernel reaches, and with a model the parts of a decode step, its chunks and the "
             "tests: decode as bytes of weights and KV over time, reading a prompt as multiply-adds over time. "
             "A kernel, a part and a decode test are compared with plain reads or plain arithmetic in turns with "
             "their own runs, since what the machine gives changes with time; where these give less than half of the peak, "
             "because something else takes the cores, a warning says so. "
             "Without a model it measures the kernels of all types. In csv the tests are rows among the others.",
    .options = bench_table,
    .examples = bench_examples,
    .options_size = sizeof(bench_options),
    .run = bench_run,
};
