/* SPDX-License-Identifier: MIT
 * Checks a tokenizer against a file of texts and ids that llama.cpp gave. */
#ifndef ST_TEST_ORACLE_H
#define ST_TEST_ORACLE_H

#include "token/toy.h"

#include <jansson.h>

static inline size_t oracle_ids(const json_t *list, int32_t *ids) {
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static inline void oracle_case(const st_tokenizer *tok, const json_t *one, const json_t *in_front) {
    int32_t ids[4096];
    const json_t *text = json_object_get(one, "text"), *special = json_object_get(one, "special");
    const char *bytes = json_string_value(text);
    size_t len = json_string_length(text);
    assert_true(json_array_size(json_object_get(one, "ids")) < 4000);
    size_t n = oracle_ids(json_object_get(one, "ids"), ids);
    expect_ids_of(tok, bytes, len, false, false, ids, n, bytes);
    n = oracle_ids(special ? special : json_object_get(one, "ids"), ids);
    expect_ids_of(tok, bytes, len, true, false, ids, n, bytes);
    size_t n_front = oracle_ids(in_front, ids);
    n = n_front + oracle_ids(json_object_get(one, "ids"), ids + n_front);
    expect_ids_of(tok, bytes, len, false, true, ids, n, bytes);
    /* SentencePiece and Gemma 4 write a space as U+2581 and cannot tell the two apart. */
    if (!strstr(bytes, "\xe2\x96\x81")) expect_round_trip(tok, bytes, len);
}

/* All cases of tests/golden/tok-NAME.json on the model at path. */
static inline void oracle_check(const char *name, const char *path) {
    char file[200];
    json_error_t error;
    snprintf(file, sizeof file, ST_GOLDEN "/tok-%s.json", name);
    json_t *oracle = json_load_file(file, JSON_ALLOW_NUL, &error);
    if (!oracle) fail_msg("%s: %s", file, error.text);
    golden g = golden_open(path);
    const json_t *cases = json_object_get(oracle, "cases"), *in_front = json_object_get(oracle, "add_special_prepends");
    assert_true(json_array_size(cases) >= 100);
    for (size_t i = 0; i < json_array_size(cases); i++) oracle_case(g.tok, json_array_get(cases, i), in_front);
    golden_close(&g);
    json_decref(oracle);
}

#endif
