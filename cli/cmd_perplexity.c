/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "input.h"
#include "json_out.h"
#include "session.h"

#include <math.h>

#define ROWS 16 /* of logits at once */

typedef struct perplexity_options {
    session_options session;
    const char *prompt, *file, *ids;
    bool json;
} perplexity_options;

typedef struct perplexity_work {
    cli *cx;
    const st_ids *ids;
    uint32_t n_vocab;
    double sum; /* of the negative log likelihoods, in nats */
    uint32_t predicted;
} perplexity_work;

/* -log softmax(logits)[id], through the largest logit so that nothing overflows. */
static double negative_log_likelihood(const float *logits, uint32_t n, int32_t id) {
    double top = (double)logits[0], sum = 0;
    for (uint32_t i = 1; i < n; i++) top = fmax(top, (double)logits[i]);
    for (uint32_t i = 0; i < n; i++) sum += exp((double)logits[i] - top);
    return log(sum) + top - (double)logits[id];
}

static int add_position(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    (void)argmax;
    perplexity_work *w = arg;
    w->sum += negative_log_likelihood(logits, w->n_vocab, w->ids->data[pos + 1]);
    w->predicted++;
    if (w->predicted % ROWS == 0) {
        cli_progress(w->cx, "token %u of %zu, perplexity %.4f", w->predicted + 1, w->ids->len,
                     exp(w->sum / w->predicted));
    }
    return cli_stopped(w->cx);
}

static int read_tokens(cli *cx, session *s, const perplexity_options *o, st_ids *ids, stretto_error *err) {
    if (o->ids && (o->file || o->prompt)) return st_fail(err, STRETTO_E_USAGE, "give either a text or --ids, not both");
    if (o->ids) return cli_read_ids(cx, o->ids, s->model->n_vocab, ids, err);
    st_buf text = {0};
    int rc = cli_read_text(cx, o->prompt, o->file, &text, err);
    if (!rc) rc = session_open_tokenizer(s, err);
    bool bos = !rc && st_tokenizer_adds_bos(s->tok);
    if (!rc) rc = session_encode(s, &text, false, bos, ids, err);
    st_buf_free(&text);
    return rc;
}

static int print_result(cli *cx, const session *s, const perplexity_work *w, bool json, stretto_error *err) {
    double mean = w->sum / w->predicted;
    if (!json) {
        cli_printf(cx, "%u tokens, mean negative log likelihood %.6f, perplexity %.4f\n", w->predicted + 1, mean,
                   exp(mean));
        return STRETTO_OK;
    }
    json_t *root = json_pack("{s:i, s:o, s:o, s:o}", "tokens", (int)w->predicted + 1, "mean_nll", st_json_real(mean),
                             "perplexity", st_json_real(exp(mean)), "model", cli_json_session(s));
    return cli_json_print(cx, root, &s->lanes.host, err);
}

static int perplexity(cli *cx, session *s, const perplexity_options *o, st_ids *ids, stretto_error *err) {
    int rc = session_open_file(s, cx, &o->session, err);
    if (!rc) rc = session_open_model(s, err);
    if (!rc) rc = read_tokens(cx, s, o, ids, err);
    if (!rc && ids->len < 2)
        rc = st_fail(err, STRETTO_E_INPUT, "perplexity needs two tokens or more, not %zu", ids->len);
    if (!rc && ids->len > INT32_MAX) rc = st_fail(err, STRETTO_E_INPUT, "%zu tokens are too many", ids->len);
    if (!rc) rc = session_open_chain(s, (uint32_t)ids->len - 1, 0, ROWS, err);
    if (rc) return rc;
    perplexity_work w = {.cx = cx, .ids = ids, .n_vocab = s->model->n_vocab};
    rc = st_chain_forward(s->chain, ids->data, (uint32_t)ids->len - 1, ST_WANT_ALL, add_position, &w, err);
    cli_progress_end(cx);
    if ((rc && rc != STRETTO_E_STOPPED) || w.predicted == 0) return rc;
    int printed = print_result(cx, s, &w, o->json, err);
    return rc ? rc : printed;
}

static int perplexity_run(cli *cx, const void *options, stretto_error *err) {
    session s = {0};
    st_ids ids = {0};
    int rc = perplexity(cx, &s, options, &ids, err);
    st_ids_free(&ids);
    session_close(&s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(perplexity_options, field)
static const cli_option perplexity_table[] = {
    SESSION_MODEL(perplexity_options),
    {.name = "prompt", .letter = 'p', .kind = CLI_TEXT, .at = AT(prompt), .value = "TEXT", .help = "the text"},
    {.name = "file", .letter = 'f', .kind = CLI_FILE, .at = AT(file), .value = "FILE",
     .help = "a file with the text; - is standard input"},
    {.name = "ids", .kind = CLI_FILE, .at = AT(ids), .value = "FILE",
     .help = "token ids instead, apart by spaces, commas or lines, taken as they are: no BOS is added"},
    SESSION_CHUNKS(perplexity_options),
    SESSION_PLACEMENT(perplexity_options),
    SESSION_MEMORY(perplexity_options),
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON: tokens, mean_nll, perplexity"},
    {0},
};
static const char *const perplexity_usages[] = {"-m MODEL (-p TEXT | -f FILE | --ids FILE) [--json]", NULL};
static const cli_example perplexity_examples[] = {
    {"stretto perplexity -m smollm2 -f README.md", "how well the model predicts a text"},
    {0},
};

const cli_command cmd_perplexity = {
    .name = "perplexity",
    .summary = "how well the model predicts a text",
    .usages = perplexity_usages,
    .about = "The mean negative log likelihood (in nats) of each token but the first, given all those before it, "
             "and its exponential, the perplexity. The whole text is one context. A text gets the model's BOS in "
             "front, ids do not.",
    .options = perplexity_table,
    .examples = perplexity_examples,
    .options_size = sizeof(perplexity_options),
    .run = perplexity_run,
};
