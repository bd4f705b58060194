/* SPDX-License-Identifier: MIT
 * Tensors of well-formed files: where they lie, and what happens when one is needed. */
#include "gguf/refuse.h"

#include <stdio.h>

typedef struct warnings {
    int n;
    char last[300];
} warnings;

static void note(void *arg, enum st_log_level level, const char *text) {
    warnings *w = arg;
    assert_int_equal(level, ST_LOG_WARN);
    w->n++;
    snprintf(w->last, sizeof w->last, "%s", text);
}

static void expect_required(const st_gguf *g, const char *name, const char *reason) {
    stretto_error err = {0};
    const st_tensor *t = g->tensors;
    int code = st_tensor_require(g, name, &t, &err);
    assert_int_equal(code, reason ? STRETTO_E_INPUT : 0);
    if (reason) assert_string_equal(err.text, reason);
    assert_true(t == (reason ? NULL : st_gguf_tensor(g, name)));
}

static void test_places(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        st_buf b = {0};
        put_header(&b, version, 3, 1);
        put_key_u32(&b, "general.alignment", 64);
        put_tensor(&b, "second", 2, (uint64_t[]){32, 3}, ST_Q8_0, 64);
        put_tensor(&b, "first", 4, (uint64_t[]){2, 1, 2, 2}, ST_F32, 0);
        put_tensor(&b, "scalar", 0, NULL, ST_F16, 192);
        put_padding(&b, 64);
        size_t start = b.len;
        for (int i = 0; i < 194; i++) put_u8(&b, (uint8_t)i); /* ends with the last tensor, unpadded */
        st_gguf *g = expect_parsed(&b, NULL);
        assert_int_equal(g->alignment, 64);
        const st_tensor *t = st_gguf_tensor(g, "second");
        assert_true(t == &g->tensors[0] && st_str_equal(t->name, "second"));
        assert_int_equal(t->offset, start + 64);
        assert_int_equal(t->bytes, 3 * 34);
        assert_int_equal(t->data[0], 64);
        assert_true(t->n_dims == 2 && t->dims[0] == 32 && t->dims[1] == 3 && t->dims[2] == 1 && t->dims[3] == 1);
        assert_int_equal(st_gguf_tensor(g, "first")->bytes, 32);
        assert_int_equal(st_gguf_tensor(g, "scalar")->bytes, 2);
        assert_int_equal(st_gguf_tensor(g, "scalar")->dims[0], 1);
        assert_null(st_gguf_tensor(g, "third"));
        st_gguf_close(g);
        st_buf_free(&b);
    }
}

/* A tensor that we cannot read is no reason to refuse the file, only to refuse who needs it. */
static void test_types_fail_only_when_needed(void **state) {
    (void)state;
    st_buf b = {0};
    warnings w = {0};
    st_log log = {note, &w};
    put_header(&b, 3, 5, 0);
    put_tensor(&b, "plain", 1, (uint64_t[]){8}, ST_F32, 0);
    put_tensor(&b, "future", 2, (uint64_t[]){77, 3}, 42, 32);
    put_tensor(&b, "lacking", 1, (uint64_t[]){256}, 16, 64);
    put_tensor(&b, "empty", 2, (uint64_t[]){32, 0}, ST_F32, 160);
    put_tensor(&b, "withdrawn", 1, (uint64_t[]){32}, 33, 160);
    put_padding(&b, 32);
    put_zeros(&b, 160 + 18);
    st_gguf *g = expect_parsed(&b, &log);
    assert_int_equal(w.n, 1);
    assert_string_equal(w.last,
                        "good.gguf: tensor future has the unknown type 42; a model that needs it will be refused");
    expect_required(g, "plain", NULL);
    expect_required(g, "future", "good.gguf: tensor future has the unknown type 42");
    expect_required(g, "lacking", "good.gguf: tensor lacking has type IQ2_XXS, which cannot be read yet");
    expect_required(g, "withdrawn", "good.gguf: tensor withdrawn has type Q4_0_8_8, which cannot be read yet");
    expect_required(g, "empty", "good.gguf: tensor empty has no elements: [32 x 0]");
    expect_required(g, "absent", "good.gguf: tensor absent is missing");
    assert_null(st_gguf_tensor(g, "future")->data);
    assert_int_equal(st_gguf_tensor(g, "future")->bytes, 0);
    assert_int_equal(st_gguf_tensor(g, "lacking")->bytes, 66);
    assert_null(st_gguf_tensor(g, "empty")->data);
    st_gguf_close(g);
    st_buf_free(&b);
}

static void test_many_unknown_types_warn_once(void **state) {
    (void)state;
    st_buf b = {0};
    warnings w = {0};
    st_log log = {note, &w};
    put_header(&b, 3, 3, 0);
    put_tensor(&b, "a", 1, (uint64_t[]){77}, 1000, 0);
    put_tensor(&b, "b", 1, (uint64_t[]){77}, 42, 32);
    put_tensor(&b, "c", 1, (uint64_t[]){77}, 42, 64);
    put_padding(&b, 32);
    put_zeros(&b, 96);
    st_gguf *g = expect_parsed(&b, &log);
    assert_int_equal(w.n, 1);
    assert_string_equal(w.last,
                        "good.gguf: tensor a and 2 more have unknown types (1,000); a model that needs them will be "
                        "refused");
    st_gguf_close(g);
    st_buf_free(&b);
}

/* A vocabulary without weights is a complete file. */
static void test_no_tensors(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key_u32(&b, "k", 1);
    st_gguf *g = expect_parsed(&b, NULL);
    assert_int_equal(g->n_tensors, 0);
    expect_required(g, "token_embd.weight", "good.gguf: tensor token_embd.weight is missing");
    st_gguf_close(g);
    st_buf_free(&b);
}

/* The reason survives a path of any length. */
static void test_long_path(void **state) {
    (void)state;
    char path[2000];
    stretto_error err = {0};
    st_gguf *g;
    memset(path, 'p', sizeof path);
    strcpy(path + sizeof path - sizeof "/tail.gguf", "/tail.gguf");
    assert_int_equal(st_gguf_parse(&g, "GGUF", 4, path, NULL, &err), STRETTO_E_INPUT);
    assert_true(strlen(err.text) < 300);
    assert_memory_equal(err.text, "...ppp", 6);
    assert_non_null(strstr(err.text, "ppp/tail.gguf: header: version at 4 needs 4 bytes"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_types_fail_only_when_needed),
        cmocka_unit_test(test_many_unknown_types_warn_once),
        cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
