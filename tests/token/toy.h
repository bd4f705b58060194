/* SPDX-License-Identifier: MIT
 * Small vocabularies made on the spot, and what tests do with tokenizers. */
#ifndef ST_TEST_TOY_H
#define ST_TEST_TOY_H

#include "gguf/bytes.h"
#include "token/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, BYTE = 6 };

/* A file under way: values are appended, then it is opened. */
typedef struct toy {
    st_buf values, file;
    uint64_t n_values;
    st_gguf *gguf;
    st_tokenizer *tok;
    st_log log;
    char warnings[2000]; /* what was said while it was opened, a line each */
} toy;

static inline void toy_key(toy *t, const char *key, uint32_t type) {
    put_key(&t->values, key, type);
    t->n_values++;
}

static inline void toy_string(toy *t, const char *key, const char *value) {
    toy_key(t, key, ST_V_STRING);
    put_str(&t->values, value);
}

static inline void toy_u32(toy *t, const char *key, uint32_t value) {
    toy_key(t, key, ST_V_U32);
    put_u32(&t->values, value);
}

static inline void toy_bool(toy *t, const char *key, bool value) {
    toy_key(t, key, ST_V_BOOL);
    put_u8(&t->values, value);
}

static inline void toy_strings(toy *t, const char *key, const char *const *values, size_t n) {
    toy_key(t, key, ST_V_ARRAY);
    put_array(&t->values, ST_V_STRING, n);
    for (size_t i = 0; i < n; i++) put_str(&t->values, values[i]);
}

static inline void toy_numbers(toy *t, const char *key, uint32_t type, const void *values, size_t size, size_t n) {
    toy_key(t, key, ST_V_ARRAY);
    put_array(&t->values, type, n);
    st_buf_add(&t->values, values, size * n);
}

static inline void toy_types(toy *t, const int32_t *types, size_t n) {
    toy_numbers(t, "tokenizer.ggml.token_type", ST_V_I32, types, sizeof *types, n);
}

static inline void toy_scores(toy *t, const float *scores, size_t n) {
    toy_numbers(t, "tokenizer.ggml.scores", ST_V_F32, scores, sizeof *scores, n);
}

static inline void toy_note(void *arg, enum st_log_level level, const char *text) {
    toy *t = arg;
    size_t len = strlen(t->warnings);
    if (level == ST_LOG_WARN) snprintf(t->warnings + len, sizeof t->warnings - len, "%s\n", text);
}

/* Opens the file and makes the tokenizer; returns its code. */
static inline int toy_try(toy *t, stretto_error *err) {
    put_header(&t->file, 3, 0, t->n_values);
    st_buf_add(&t->file, t->values.data, t->values.len);
    t->log = (st_log){toy_note, t};
    if (st_gguf_parse(&t->gguf, t->file.data, t->file.len, "toy.gguf", &t->log, err)) fail_msg("%s", err->text);
    return st_tokenizer_create(&t->tok, t->gguf, &t->log, err);
}

static inline st_tokenizer *toy_open(toy *t) {
    stretto_error err = {0};
    if (toy_try(t, &err)) fail_msg("%s", err.text);
    return t->tok;
}

static inline void toy_close(toy *t) {
    st_tokenizer_destroy(t->tok);
    st_gguf_close(t->gguf);
    st_buf_free(&t->values);
    st_buf_free(&t->file);
}

/* Opens the file, expecting it to be refused for a reason that holds `why`. Closes it. */
static inline void toy_refused(toy *t, const char *why) {
    stretto_error err = {0};
    assert_int_equal(toy_try(t, &err), STRETTO_E_INPUT);
    assert_int_equal(err.code, STRETTO_E_INPUT);
    assert_null(t->tok);
    if (!strstr(err.text, why) || strncmp(err.text, "toy.gguf: ", 10) != 0)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    toy_close(t);
}

/* The 256 byte tokens of a vocabulary that falls back to bytes, in names[]. */
static inline void byte_names(const char *names[256], char room[256][8]) {
    for (int i = 0; i < 256; i++) {
        snprintf(room[i], sizeof room[i], "<0x%02X>", i);
        names[i] = room[i];
    }
}

/* Encodes and compares; `what` stands in the message. */
static inline void expect_ids_of(const st_tokenizer *tok, const char *text, size_t n, bool special, bool bos,
                                 const int32_t *ids, size_t n_ids, const char *what) {
    stretto_error err = {0};
    st_ids got = {0};
    if (st_tokenizer_encode(tok, text, n, special, bos, &got, &err)) fail_msg("%s: %s", what, err.text);
    bool same = got.len == n_ids && (n_ids == 0 || memcmp(got.data, ids, n_ids * sizeof *ids) == 0);
    if (!same) {
        char line[400] = "";
        for (size_t i = 0; i < got.len && strlen(line) < 380; i++)
            snprintf(line + strlen(line), sizeof line - strlen(line), " %d", got.data[i]);
        fail_msg("%s: %zu ids, wanted %zu; got%s", what, got.len, n_ids, line);
    }
    st_ids_free(&got);
}

#define EXPECT_IDS(tok, text, special, ...)                                                                            \
    expect_ids_of((tok), (text), strlen(text), (special), false, (const int32_t[]){__VA_ARGS__},                       \
                  LENGTH(((const int32_t[]){__VA_ARGS__})), (text))

static inline void decode_all(const st_tokenizer *tok, const st_ids *ids, bool special, st_buf *out) {
    stretto_error err = {0};
    for (size_t i = 0; i < ids->len; i++)
        if (st_tokenizer_decode(tok, ids->data[i], special, i == 0, out, &err)) fail_msg("%s", err.text);
}

/* Text to ids to text gives the same bytes. */
static inline void expect_round_trip(const st_tokenizer *tok, const char *text, size_t n) {
    stretto_error err = {0};
    st_ids ids = {0};
    st_buf back = {0};
    if (st_tokenizer_encode(tok, text, n, false, false, &ids, &err)) fail_msg("%s", err.text);
    decode_all(tok, &ids, false, &back);
    if (back.len != n || (n > 0 && memcmp(back.data, text, n) != 0))
        fail_msg("%zu bytes that start with \"%.*s\" came back as %zu that start with \"%.*s\"", n,
                 n < 40 ? (int)n : 40, text, back.len, back.len < 40 ? (int)back.len : 40, back.data ? back.data : "");
    st_buf_free(&back);
    st_ids_free(&ids);
}

/* The tokenizer of a file in tests/golden. */
typedef struct golden {
    st_gguf *gguf;
    st_tokenizer *tok;
} golden;

static inline golden golden_open(const char *path) {
    stretto_error err = {0};
    golden g = {0};
    if (st_gguf_open(&g.gguf, path, NULL, &err)) fail_msg("%s", err.text);
    if (st_tokenizer_create(&g.tok, g.gguf, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

static inline void golden_close(golden *g) {
    st_tokenizer_destroy(g->tok);
    st_gguf_close(g->gguf);
}

#endif
