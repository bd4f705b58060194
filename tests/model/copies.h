/* SPDX-License-Identifier: MIT
 * Fixtures and changed copies of them, for tests of what loads and what is refused. Use make_path and remove_path as
 * the group's setup and teardown. */
#ifndef ST_TEST_COPIES_H
#define ST_TEST_COPIES_H

#include "model/model.h"
#include "support/rewrite.h"

#include <unistd.h>

static char path[64]; /* of the copy */

static inline int make_path(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/stretto-model-%d.gguf", (int)getpid());
    return 0;
}

static inline int remove_path(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static inline st_gguf *open_golden(const char *name) {
    char file[512];
    stretto_error err = {0};
    st_gguf *g = NULL;
    snprintf(file, sizeof file, "%s/%s.gguf", ST_GOLDEN, name);
    if (st_gguf_open(&g, file, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

static inline st_gguf *open_copy(const char *name, const rewrite *r) {
    st_gguf *original = open_golden(name), *g = NULL;
    stretto_error err = {0};
    rewrite_file(original, path, r);
    st_gguf_close(original);
    if (st_gguf_open(&g, path, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

static inline int load(const st_gguf *g, st_model **model, const st_log *log, stretto_error *err) {
    const st_kern *kern = NULL;
    assert_int_equal(st_kern_select(&kern, NULL, err), 0);
    st_model_options options = {.kern = kern, .log = log};
    return st_model_load(model, g, &options, err);
}

#endif
