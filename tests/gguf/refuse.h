/* SPDX-License-Identifier: MIT
 * Checks that a made-up file is refused with a given reason, or read. */
#ifndef ST_TESTS_GGUF_REFUSE_H
#define ST_TESTS_GGUF_REFUSE_H

#include "gguf/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Expects STRETTO_E_INPUT with exactly this reason. Frees b. */
static inline void expect_refused(st_buf *b, const char *reason) {
    st_gguf *g = NULL;
    stretto_error err = {0};
    assert_false(b->failed);
    void *copy = exact_copy(b->data, b->len);
    int code = st_gguf_parse(&g, copy, b->len, "broken.gguf", NULL, &err);
    assert_string_equal(err.text, reason);
    assert_int_equal(code, STRETTO_E_INPUT);
    assert_int_equal(err.code, STRETTO_E_INPUT);
    assert_null(g);
    free(copy);
    st_buf_free(b);
}

/* Parses b, which must stay until the result is closed. */
static inline st_gguf *expect_parsed(const st_buf *b, const st_log *log) {
    st_gguf *g = NULL;
    stretto_error err = {0};
    assert_false(b->failed);
    if (st_gguf_parse(&g, b->data, b->len, "good.gguf", log, &err)) fail_msg("%s", err.text);
    return g;
}

#endif
