/* SPDX-License-Identifier: MIT */
#include "session.h"

#include "base/error.h"
#include "base/usage.h"
#include "base/utf8.h"
#include "report/text.h"
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int session_open_file(session *s, cli *cx, const session_options *options, stretto_error *err) {
    s->cx = cx;
    s->options = options;
    if (options->model && options->like)
        return st_fail(err, STRETTO_E_USAGE, "-m %.*s and --like %s: one model at a time", ST_CUT(options->model, 200),
                       options->like);
    int rc = options->like
                 ? cli_like_file(cx, options->like, options->type, options->scale, s->path, sizeof s->path, err)
                 : cli_resolve_model(options->model, s->path, sizeof s->path, err);
    return rc ? rc : st_gguf_open(&s->gguf, s->path, &cx->log, err);
}

int session_open_tokenizer(session *s, stretto_error *err) {
    return st_tokenizer_create(&s->tok, s->gguf, &s->cx->log, err);
}

/* Some vocabularies lack a few bytes (21 of 256 in SmolLM2's): what they lose is seen by decoding again. */
static int warn_lost(session *s, const st_buf *text, bool special, const st_ids *ids, size_t first,
                     stretto_error *err) {
    st_buf back = {0};
    int rc = STRETTO_OK;
    for (size_t i = first; i < ids->len && !rc; i++)
        rc = st_tokenizer_decode(s->tok, ids->data[i], special, i == first, &back, err);
    if (!rc && back.failed) rc = st_fail_memory(err, "the text", text->len);
    if (!rc && back.len < text->len)
        st_warn(&s->cx->log, "%zu of the text's %zu bytes have no token in this vocabulary and are lost",
                text->len - back.len, text->len);
    st_buf_free(&back);
    return rc;
}

int session_encode(session *s, const st_buf *text, bool special, bool bos, st_ids *ids, stretto_error *err) {
    int rc = st_tokenizer_encode(s->tok, text->len ? text->data : "", text->len, special, bos, ids, err);
    size_t own = bos && ids->len > 0 ? 1 : 0; /* the BOS is not of the text */
    return rc ? rc : warn_lost(s, text, special, ids, own, err);
}

int cli_kernels_select(const st_kern **kern, stretto_error *err) {
    const char *wanted = getenv("STRETTO_CPU");
    stretto_error why;
    int rc = st_kern_select(kern, wanted, &why);
    return rc ? st_fail(err, rc, "%s%s", wanted ? "STRETTO_CPU: " : "", why.text) : STRETTO_OK;
}

int session_open_shapes(session *s, stretto_error *err) {
    int rc = cli_kernels_select(&s->kern, err);
    if (rc) return rc;
    st_model_options options = {.kern = s->kern, .shapes_only = true, .log = &s->cx->log};
    return st_model_load(&s->model, s->gguf, &options, err);
}

static int load_weights(session *s, stretto_error *err) {
    st_pool *pool;
    st_pool_options pool_options = {.count = s->lanes.host.max_threads, .log = &s->cx->log};
    int rc = st_pool_create(&pool, &pool_options, err);
    if (rc) return rc;
    st_model_options options = {.kern = s->kern, .pool = pool, .log = &s->cx->log, .stop = s->cx->stop};
    cli_progress(s->cx, "loading %s", s->path);
    rc = st_model_load(&s->model, s->gguf, &options, err);
    cli_progress_end(s->cx);
    st_pool_destroy(pool);
    return rc;
}

static int open_lanes(session *s, stretto_error *err) {
    const session_options *o = s->options;
    const st_log *log = &s->cx->log;
    return o->each_threads ? cli_lanes_open_each(&s->lanes, o->units, o->each_threads, log, err)
                           : cli_lanes_open(&s->lanes, o->units, o->place, o->threads, log, err);
}

int session_open_model(session *s, stretto_error *err) {
    int rc = cli_kernels_select(&s->kern, err);
    if (!rc) st_kern_warn_slow(s->kern, &s->cx->log);
    if (!rc) rc = open_lanes(s, err);
    return rc ? rc : load_weights(s, err);
}

int session_place(session *s, bool all_used, stretto_error *err) {
    int rc = st_split_parse(s->spans, &s->n_chunks, s->options->chunks, s->model, err);
    return rc ? rc : cli_lanes_assign(&s->lanes, s->n_chunks, s->unit_of, all_used ? &s->cx->log : NULL, err);
}

/* Positions that there can be: what was asked for, or what the model was made for. */
static uint32_t ctx_limit(const session *s) {
    if (s->options->ctx) return s->options->ctx;
    return s->model->n_ctx_train ? s->model->n_ctx_train : UINT32_MAX;
}

int session_fits_ctx(const session *s, uint32_t needed, stretto_error *err) {
    uint32_t limit = ctx_limit(s);
    if (needed <= limit) return STRETTO_OK;
    return st_fail(err, STRETTO_E_INPUT, "%u tokens do not fit into the context of %u: %u too many (%s)", needed, limit,
                   needed - limit,
                   s->options->ctx ? "--ctx sets it" : "what the model was made for; --ctx can set more");
}

int session_choose_ctx(const session *s, uint32_t needed, uint32_t wanted, uint32_t *n_ctx, stretto_error *err) {
    uint32_t own = s->model->n_ctx_train, asked = s->options->ctx, limit = ctx_limit(s);
    if (own && asked > own)
        st_warn(&s->cx->log, "--ctx %u is more than the %u positions that the model was made for", asked, own);
    int rc = session_fits_ctx(s, needed, err);
    if (rc) return rc;
    if (wanted < ST_ATTN_BLOCK) wanted = ST_ATTN_BLOCK; /* what the cache is rounded up to anyway */
    *n_ctx = asked ? asked : wanted < limit ? wanted : limit;
    return STRETTO_OK;
}

enum st_kv_type session_kv_type(const session *s) {
    return s->options->kv_type && strcmp(s->options->kv_type, "f32") == 0 ? ST_KV_F32 : ST_KV_F16;
}

int session_open_chain(session *s, uint32_t needed, uint32_t wanted, uint32_t max_logits, stretto_error *err) {
    const session_options *o = s->options;
    int rc = s->n_chunks ? STRETTO_OK : session_place(s, true, err);
    uint32_t n_ctx = 0;
    if (!rc) rc = session_choose_ctx(s, needed, wanted > needed ? wanted : needed, &n_ctx, err);
    if (rc) return rc;
    st_chain_options options = {
        .model = s->model,
        .spans = s->spans,
        .n_chunks = s->n_chunks,
        .units = s->unit_of,
        .kv_type = session_kv_type(s),
        .n_ctx = n_ctx,
        .max_batch = o->batch,
        .max_logits = max_logits,
        .stop = s->cx->stop,
    };
    return st_chain_open(&s->chain, &options, err);
}

void cli_span_text(char *out, size_t size, const st_span *span, bool head) {
    const char *tail = head ? ", head" : "";
    if (span->first == span->last) {
        snprintf(out, size, "%u%s", span->first, tail);
    } else {
        snprintf(out, size, "%u-%u%s", span->first, span->last, tail);
    }
}

/* The type that most bytes have, as people name files. */
static const char *main_type(const st_gguf *gguf) {
    uint64_t bytes[ST_TYPE_COUNT] = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const st_tensor *t = &gguf->tensors[i];
        if (t->type >= ST_TYPE_COUNT) continue;
        bytes[t->type] += t->bytes;
        if (bytes[t->type] > bytes[most]) most = t->type;
    }
    const st_type_info *type = st_type_find(most);
    return type ? type->name : "";
}

void session_title(const session *s, char *out, size_t size) {
    st_buf text = {0};
    st_buf_printf(&text, "%s %s, %u chunk%s:", s->model->name, main_type(s->gguf), s->n_chunks,
                  s->n_chunks == 1 ? "" : "s");
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        char layers[40];
        cli_span_text(layers, sizeof layers, &s->spans[i], i + 1 == s->n_chunks);
        st_buf_printf(&text, " %u (%s)", i + 1, layers);
    }
    const char *title = text.failed ? s->model->name : text.data;
    snprintf(out, size, "%.*s", ST_CUT(title, size - 1));
    st_buf_free(&text);
}

void cli_host_line(cli *cx, const session *s) {
    char title[256];
    st_buf text = {0};
    session_title(s, title, sizeof title);
    st_text_wrap(&text, title, 0, 2, 80);
    st_buf_text(&text, "\n");
    st_text_host(&text, &s->lanes.host, st_usage_others_now());
    if (!text.failed) cli_printf(cx, "%s; %s kernels\n", text.data, s->kern->name);
    st_buf_free(&text);
}

int session_reopen_units(session *s, stretto_error *err) {
    st_chain_close(s->chain);
    s->chain = NULL;
    s->n_chunks = 0;
    cli_lanes_close(&s->lanes);
    return open_lanes(s, err);
}

void session_close(session *s) {
    st_chain_close(s->chain);
    st_model_free(s->model);
    cli_lanes_close(&s->lanes);
    st_tokenizer_destroy(s->tok);
    st_gguf_close(s->gguf);
}
