/* SPDX-License-Identifier: MIT */
#include "stretto/tokenizer.h"

#include "api/api.h"
#include "base/error.h"
#include "token/token.h"

#include <stdlib.h>
#include <string.h>

struct stretto_tokenizer {
    st_gguf *gguf;
    st_tokenizer *tok;
    st_api_log log;
};

int stretto_tokenizer_open(stretto_tokenizer **out, const char *path, const stretto_log *log, stretto_error *err) {
    *out = NULL;
    stretto_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return st_fail_memory(err, "tokenizer", sizeof *t);
    const st_log *inner = st_api_log_init(&t->log, log);
    int code = st_gguf_open(&t->gguf, path, inner, err);
    if (!code) code = st_tokenizer_create(&t->tok, t->gguf, inner, err);
    if (code) {
        stretto_tokenizer_close(t);
        return code;
    }
    *out = t;
    return STRETTO_OK;
}

void stretto_tokenizer_close(stretto_tokenizer *t) {
    if (!t) return;
    st_tokenizer_destroy(t->tok);
    st_gguf_close(t->gguf);
    free(t);
}

/* What there is of the list goes to the caller, and the list away. */
static void hand_over(st_ids *list, int32_t *ids, size_t max, size_t *n_ids) {
    size_t n = list->len < max ? list->len : max;
    if (n) memcpy(ids, list->data, n * sizeof *ids);
    *n_ids = list->len;
    st_ids_free(list);
}

int stretto_tokenizer_encode(const stretto_tokenizer *t, const char *text, size_t n, unsigned flags, int32_t *ids,
                             size_t max, size_t *n_ids, stretto_error *err) {
    st_ids list = {0};
    int code = st_tokenizer_encode(t->tok, text, n, flags & STRETTO_TOKEN_SPECIAL,
                                   (flags & STRETTO_TOKEN_BOS) && st_tokenizer_adds_bos(t->tok), &list, err);
    if (code) list.len = 0;
    hand_over(&list, ids, max, n_ids);
    return code;
}

int stretto_tokenizer_decode(const stretto_tokenizer *t, const int32_t *ids, size_t n, unsigned flags, char *bytes,
                             size_t max, size_t *n_bytes, stretto_error *err) {
    st_buf text = {0};
    int code = STRETTO_OK;
    for (size_t i = 0; i < n && !code; i++)
        code = st_tokenizer_decode(t->tok, ids[i], flags & STRETTO_TOKEN_SPECIAL,
                                   i == 0 && !(flags & STRETTO_TOKEN_REST), &text, err);
    if (!code && text.failed) code = st_fail_memory(err, "text", text.len);
    *n_bytes = code ? 0 : text.len;
    size_t copied = *n_bytes < max ? *n_bytes : max;
    if (copied) memcpy(bytes, text.data, copied);
    st_buf_free(&text);
    return code;
}

uint32_t stretto_tokenizer_size(const stretto_tokenizer *t) {
    return st_tokenizer_size(t->tok);
}

int32_t stretto_tokenizer_bos(const stretto_tokenizer *t) {
    return st_tokenizer_bos(t->tok);
}

int stretto_tokenizer_is_end(const stretto_tokenizer *t, int32_t id) {
    return st_tokenizer_is_end(t->tok, id);
}

int stretto_tokenizer_chat(const stretto_tokenizer *t, const stretto_chat_turn *turns, size_t n_turns, int32_t *ids,
                           size_t max, size_t *n_ids, stretto_error *err) {
    st_ids list = {0};
    *n_ids = 0;
    st_chat_turn *inner = calloc(n_turns + 1, sizeof *inner);
    if (!inner) return st_fail_memory(err, "turns of a conversation", n_turns * sizeof *inner);
    for (size_t i = 0; i < n_turns; i++)
        inner[i] = (st_chat_turn){.role = turns[i].role, .text = turns[i].text, .len = turns[i].n};
    int code = st_chat_encode(t->tok, inner, n_turns, &list, err);
    free(inner);
    if (code) list.len = 0;
    hand_over(&list, ids, max, n_ids);
    return code;
}
