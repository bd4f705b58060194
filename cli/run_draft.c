/* SPDX-License-Identifier: MIT */
#include "run_draft.h"

#include "base/error.h"
#include "base/utf8.h"
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

static int compare_vocabulary(const st_tokenizer *ours, const st_tokenizer *theirs, const char *name,
                              stretto_error *err) {
    uint32_t n = st_tokenizer_size(ours);
    if (st_tokenizer_size(theirs) != n)
        return st_fail(err, STRETTO_E_INPUT, "draft model %.*s has a vocabulary of %u tokens, the model one of %u",
                       ST_CUT(name, 200), st_tokenizer_size(theirs), n);
    for (uint32_t i = 0; i < n; i++) {
        st_str a = st_tokenizer_piece(ours, (int32_t)i), b = st_tokenizer_piece(theirs, (int32_t)i);
        if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
            return st_fail(err, STRETTO_E_INPUT, "draft model %.*s has another vocabulary: its token %u is another one",
                           ST_CUT(name, 200), i);
    }
    return STRETTO_OK;
}

static int check_vocabulary(const run_draft *draft, session *s, const char *name, stretto_error *err) {
    st_tokenizer *theirs = NULL;
    int rc = st_tokenizer_create(&theirs, draft->gguf, &s->cx->log, err);
    if (!rc) rc = compare_vocabulary(s->tok, theirs, name, err);
    st_tokenizer_destroy(theirs);
    return rc;
}

static int load(run_draft *draft, session *s, const char *name, stretto_error *err) {
    char path[PATH_MAX];
    st_model_options options = {.kern = s->kern, .log = &s->cx->log, .stop = s->cx->stop};
    int rc = cli_resolve_model(name, path, sizeof path, err);
    if (!rc) rc = st_gguf_open(&draft->gguf, path, &s->cx->log, err);
    if (!rc) rc = check_vocabulary(draft, s, name, err);
    return rc ? rc : st_model_load(&draft->model, draft->gguf, &options, err);
}

static int open_chains(run_draft *draft, const session *s, st_unit *unit, uint32_t n_streams, uint32_t n_ctx,
                       stretto_error *err) {
    st_span all = {.first = 0, .last = draft->model->n_layers - 1};
    st_chain_options options = {.model = draft->model,
                                .spans = &all,
                                .n_chunks = 1,
                                .units = &unit,
                                .kv_type = session_kv_type(s),
                                .n_ctx = n_ctx};
    int rc = STRETTO_OK;
    draft->chains = calloc(n_streams, sizeof *draft->chains);
    if (!draft->chains) return st_fail_memory(err, "the drafts", n_streams * sizeof *draft->chains);
    for (; draft->n_chains < n_streams && !rc; draft->n_chains++)
        rc = st_chain_open(&draft->chains[draft->n_chains], &options, err);
    return rc;
}

int run_draft_open(run_draft *draft, session *s, const char *name, st_unit *unit, uint32_t n_streams, uint32_t n_ctx,
                   stretto_error *err) {
    *draft = (run_draft){0};
    if (!name[0])
        return st_fail(
            err, STRETTO_E_INPUT,
            "its drafts are by a model that it does not name: add \"model\", a GGUF file or a known name, to its "
            "\"speculation\"");
    int rc = load(draft, s, name, err);
    return rc ? rc : open_chains(draft, s, unit, n_streams, n_ctx, err);
}

void run_draft_close(run_draft *draft) {
    for (uint32_t i = 0; i < draft->n_chains; i++) st_chain_close(draft->chains[i]);
    free(draft->chains);
    st_model_free(draft->model);
    st_gguf_close(draft->gguf);
    *draft = (run_draft){0};
}
