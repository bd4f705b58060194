/* SPDX-License-Identifier: MIT
 * What the tests of the public interface share. Sees public headers only. */
#ifndef TEST_API_SUPPORT_H
#define TEST_API_SUPPORT_H

#include "stretto/chain.h"
#include "stretto/model.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN(name) ST_GOLDEN "/" name

static inline void must(int code, const stretto_error *err) {
    if (code) fail_msg("code %d: %s", code, err->text);
}

/* A call that must fail with `wanted` and a reason that has `text` in it. */
static inline void must_fail(int code, int wanted, const stretto_error *err, const char *text) {
    if (code != wanted || err->code != wanted)
        fail_msg("code %d (in err: %d), wanted %d: %s", code, err->code, wanted, err->text);
    if (!strstr(err->text, text)) fail_msg("\"%s\" does not say \"%s\"", err->text, text);
}

static inline json_t *golden_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

/* The ids in a JSON array; the caller frees. */
static inline int32_t *golden_ids(const json_t *list, size_t *n) {
    *n = json_array_size(list);
    int32_t *ids = calloc(*n + 1, sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < *n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return ids;
}

static inline stretto_model *open_model(const char *path) {
    stretto_error err = {0};
    stretto_model *model = NULL;
    stretto_model_options options = {.kernels = "scalar", .threads = 1};
    must(stretto_model_open(&model, path, &options, &err), &err);
    return model;
}

#endif
