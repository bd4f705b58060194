/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "input.h"
#include "json_out.h"
#include "session.h"

#include <math.h>
#include <stdlib.h>

#define TOP_MAX 1000
#define TOP_DEFAULT 5

typedef struct logits_options {
    session_options session;
    const char *ids;
    cli_counts at;
    uint32_t top;
    bool last, full, json;
} logits_options;

typedef struct logits_work {
    cli *cx;
    const logits_options *options;
    session *s;
    json_t *rows;
} logits_work;

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The positions wanted, ascending, without doubles. */
static int wanted_positions(const logits_options *o, size_t n_ids, cli_counts *at, stretto_error *err) {
    if (o->at.n && o->last) return st_fail(err, STRETTO_E_USAGE, "--at and --last exclude each other");
    *at = o->at;
    if (!at->n) at->items[at->n++] = (uint32_t)n_ids - 1;
    qsort(at->items, at->n, sizeof at->items[0], by_value);
    uint32_t last = at->items[at->n - 1];
    if (last >= n_ids) {
        return st_fail(err, STRETTO_E_USAGE, "no position %u: there are %zu ids (0 to %zu)", last, n_ids, n_ids - 1);
    }
    uint32_t kept = 1;
    for (uint32_t i = 1; i < at->n; i++) {
        if (at->items[i] != at->items[kept - 1]) at->items[kept++] = at->items[i];
    }
    at->n = kept;
    return STRETTO_OK;
}

/* NaN is smaller than any number. */
static bool larger(float a, float b) {
    return a > b || (isnan(b) && !isnan(a));
}

/* Ids of the k largest logits, in order; of equals the smaller id first. */
static uint32_t largest(const float *logits, uint32_t n, uint32_t *top, uint32_t k) {
    uint32_t have = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (have == k && !larger(logits[i], logits[top[k - 1]])) continue;
        uint32_t at = have < k ? have++ : k - 1;
        for (; at > 0 && larger(logits[i], logits[top[at - 1]]); at--) top[at] = top[at - 1];
        top[at] = i;
    }
    return have;
}

static json_t *top_json(const float *logits, const uint32_t *top, uint32_t n) {
    json_t *rows = json_array();
    for (uint32_t i = 0; i < n; i++) {
        st_json_append(&rows, json_pack("[i, o]", (int)top[i], st_json_real((double)logits[top[i]])));
    }
    return rows;
}

static json_t *full_json(const float *logits, uint32_t n) {
    json_t *rows = json_array();
    for (uint32_t i = 0; i < n; i++) st_json_append(&rows, st_json_real((double)logits[i]));
    return rows;
}

/* The tokens as the bytes that they stand for, which is what tokenize --pieces shows. */
static int print_row(logits_work *w, uint32_t pos, double margin, const float *logits, const uint32_t *top, uint32_t n,
                     stretto_error *err) {
    st_buf bytes = {0};
    int rc = STRETTO_OK;
    cli_printf(w->cx, "position %u, margin %.6g\n", pos, margin);
    for (uint32_t i = 0; i < n && !rc; i++) {
        bytes.len = 0;
        if (w->s->tok) rc = st_tokenizer_decode(w->s->tok, (int32_t)top[i], true, false, &bytes, err);
        if (rc) break;
        cli_printf(w->cx, "%8u  %12.6g  ", top[i], (double)logits[top[i]]);
        cli_quoted(w->cx, bytes.data ? bytes.data : "", bytes.len);
        cli_printf(w->cx, "\n");
    }
    st_buf_free(&bytes);
    return rc;
}

static int add_row(logits_work *w, uint32_t pos, stretto_error *err) {
    const float *logits = st_chain_logits(w->s->chain);
    uint32_t n_vocab = w->s->model->n_vocab, top[TOP_MAX] = {0};
    uint32_t k = w->options->top ? w->options->top : TOP_DEFAULT;
    uint32_t n = largest(logits, n_vocab, top, k < 2 ? 2 : k);
    double margin = n > 1 ? (double)logits[top[0]] - (double)logits[top[1]] : 0;
    if (!w->options->json) return print_row(w, pos, margin, logits, top, k < n ? k : n, err);
    json_t *row =
        json_pack("{s:i, s:i, s:o}", "position", (int)pos, "argmax", (int)top[0], "margin", st_json_real(margin));
    if (w->options->full) {
        st_json_set(&row, "logits", full_json(logits, n_vocab));
    } else {
        st_json_set(&row, "top", top_json(logits, top, k < n ? k : n));
    }
    st_json_append(&w->rows, row);
    return STRETTO_OK;
}

static int forward_rows(logits_work *w, const st_ids *ids, const cli_counts *at, stretto_error *err) {
    uint32_t done = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        if (cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted at position %u", done);
        uint32_t n = at->items[i] + 1 - done;
        int rc = st_chain_forward(w->s->chain, ids->data + done, n, ST_WANT_LAST, NULL, NULL, err);
        if (!rc) rc = add_row(w, at->items[i], err);
        if (rc) return rc;
        done += n;
    }
    return STRETTO_OK;
}

static int logits_of_ids(logits_work *w, const logits_options *o, st_ids *ids, stretto_error *err) {
    session *s = w->s;
    if (!o->ids) return st_fail(err, STRETTO_E_USAGE, "no ids given: --ids FILE");
    if (o->full && o->top) return st_fail(err, STRETTO_E_USAGE, "--full and --top exclude each other");
    if (o->full && !o->json) return st_fail(err, STRETTO_E_USAGE, "--full is for --json");
    int rc = session_open_file(s, w->cx, &o->session, err);
    if (!rc && !o->json && st_gguf_find(s->gguf, "tokenizer.ggml.model")) rc = session_open_tokenizer(s, err);
    if (!rc) rc = session_open_model(s, err);
    if (!rc) rc = cli_read_ids(w->cx, o->ids, s->model->n_vocab, ids, err);
    cli_counts at = {0};
    if (!rc) rc = wanted_positions(o, ids->len, &at, err);
    if (!rc) rc = session_open_chain(s, at.items[at.n - 1] + 1, 0, 0, err);
    return rc ? rc : forward_rows(w, ids, &at, err);
}

static int logits_run(cli *cx, const void *options, stretto_error *err) {
    session s = {0};
    st_ids ids = {0};
    const logits_options *o = options;
    logits_work w = {.cx = cx, .options = o, .s = &s, .rows = json_array()};
    int rc = logits_of_ids(&w, o, &ids, err);
    bool some = !rc || (rc == STRETTO_E_STOPPED && s.chain);
    if (some && o->json) {
        int printed = cli_json_print(cx, json_pack("{s:o, s:o}", "at", w.rows, "model", cli_json_session(&s)),
                                     &s.lanes.host, err);
        rc = rc ? rc : printed;
    } else {
        json_decref(w.rows);
    }
    st_ids_free(&ids);
    session_close(&s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(logits_options, field)
static const cli_option logits_table[] = {
    SESSION_MODEL(logits_options),
    {.name = "ids", .kind = CLI_FILE, .at = AT(ids), .value = "FILE",
     .help = "token ids, apart by spaces, commas or lines; - is standard input. They are taken as they are: no BOS "
             "is added"},
    {.name = "at", .kind = CLI_COUNTS, .at = AT(at), .value = "0,15",
     .help = "positions to show (the last one otherwise)"},
    {.name = "last", .kind = CLI_FLAG, .at = AT(last), .help = "the last position only"},
    {.name = "top", .kind = CLI_COUNT, .at = AT(top), .value = "K", .least = 1, .most = TOP_MAX,
     .help = "how many of the largest logits to show (5 otherwise)"},
    {.name = "full", .kind = CLI_FLAG, .at = AT(full), .help = "all logits (with --json)"},
    SESSION_CHUNKS(logits_options),
    SESSION_PLACEMENT(logits_options),
    SESSION_MEMORY(logits_options),
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON"},
    {0},
};
static const char *const logits_usages[] = {
    "-m MODEL --ids FILE [--at 0,15 | --last] [--top K | --full] [--json]", NULL};
static const cli_example logits_examples[] = {
    {"echo 504 1296 1085 | stretto logits -m smollm2 --ids - --top 3", "the three likeliest next tokens"},
    {"stretto logits -m smollm2 --ids ids.txt --at 0,15 --json", "position p predicts id p + 1"},
    {0},
};

const cli_command cmd_logits = {
    .name = "logits",
    .summary = "the model's logits, teacher-forced on given ids",
    .usages = logits_usages,
    .about = "Runs the model over token ids exactly as they are given, and prints for each wanted position the "
             "largest logits and the margin between the first two. Position p predicts id p + 1.",
    .options = logits_table,
    .examples = logits_examples,
    .options_size = sizeof(logits_options),
    .run = logits_run,
};
