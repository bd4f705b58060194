/* SPDX-License-Identifier: MIT
 * Metadata of every type in files of both versions, and the typed getters. */
#include "gguf/refuse.h"

#include <stdio.h>

static void put_bytes(st_buf *b, const void *bytes, size_t n) {
    st_buf_add(b, bytes, n);
}

static void expect_reason(const stretto_error *err, int code, const char *reason) {
    assert_int_equal(code, STRETTO_E_INPUT);
    assert_int_equal(err->code, STRETTO_E_INPUT);
    assert_string_equal(err->text, reason);
}

/* ---- the parser's view ---- */

static void put_every_number(st_buf *b) {
    put_key(b, "k.u8", ST_V_U8), put_bytes(b, &(uint8_t){200}, 1);
    put_key(b, "k.i8", ST_V_I8), put_bytes(b, &(int8_t){-100}, 1);
    put_key(b, "k.u16", ST_V_U16), put_bytes(b, &(uint16_t){60000}, 2);
    put_key(b, "k.i16", ST_V_I16), put_bytes(b, &(int16_t){-30000}, 2);
    put_key(b, "k.u32", ST_V_U32), put_bytes(b, &(uint32_t){4000000000}, 4);
    put_key(b, "k.i32", ST_V_I32), put_bytes(b, &(int32_t){-2000000000}, 4);
    put_key(b, "k.u64", ST_V_U64), put_bytes(b, &(uint64_t){10000000000000000000u}, 8);
    put_key(b, "k.i64", ST_V_I64), put_bytes(b, &(int64_t){-9000000000000000000}, 8);
    put_key(b, "k.f32", ST_V_F32), put_bytes(b, &(float){1.5f}, 4);
    put_key(b, "k.f64", ST_V_F64), put_bytes(b, &(double){-2.25}, 8);
    put_key(b, "k.bool", ST_V_BOOL), put_bytes(b, &(uint8_t){1}, 1);
}

static void check_every_number(const st_gguf *g) {
    assert_int_equal(st_value_int(st_gguf_find(g, "k.u8"), 0), 200);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.i8"), 0), -100);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.u16"), 0), 60000);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.i16"), 0), -30000);
    assert_true(st_value_int(st_gguf_find(g, "k.u32"), 0) == 4000000000);
    assert_true(st_value_int(st_gguf_find(g, "k.i32"), 0) == -2000000000);
    assert_true((uint64_t)st_value_int(st_gguf_find(g, "k.u64"), 0) == 10000000000000000000u);
    assert_true(st_value_float(st_gguf_find(g, "k.u64"), 0) == 1e19);
    assert_true(st_value_int(st_gguf_find(g, "k.i64"), 0) == -9000000000000000000);
    assert_true(st_value_float(st_gguf_find(g, "k.i64"), 0) == -9e18);
    assert_true(st_value_float(st_gguf_find(g, "k.f32"), 0) == 1.5);
    assert_true(st_value_float(st_gguf_find(g, "k.f64"), 0) == -2.25);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.f64"), 0), 0);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.bool"), 0), 1);
}

static void test_every_type_in_both_versions(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        st_buf b = {0};
        put_header(&b, version, 0, 13);
        put_every_number(&b);
        put_key(&b, "k.string", ST_V_STRING), put_str(&b, "some text");
        put_key(&b, "k.empty", ST_V_STRING), put_str(&b, "");
        st_gguf *g = expect_parsed(&b, NULL);
        assert_int_equal(g->version, version);
        assert_int_equal(g->alignment, 32);
        assert_int_equal(g->n_values, 13);
        assert_string_equal(g->path, "good.gguf");
        check_every_number(g);
        const st_value *text = st_gguf_find(g, "k.string");
        assert_true(st_str_equal((st_str){(const char *)text->data, text->bytes}, "some text"));
        assert_int_equal(st_gguf_find(g, "k.empty")->bytes, 0);
        assert_true(st_str_equal(g->values[12].key, "k.empty")); /* in file order */
        assert_null(st_gguf_find(g, "k.strin"));
        assert_null(st_gguf_find(g, ""));
        st_gguf_close(g);
        st_buf_free(&b);
    }
}

static void test_arrays(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 4);
    put_key(&b, "words", ST_V_ARRAY), put_array(&b, ST_V_STRING, 3);
    put_str(&b, "one"), put_str(&b, ""), put_str(&b, "three");
    put_key(&b, "scores", ST_V_ARRAY), put_array(&b, ST_V_F32, 3);
    put_bytes(&b, (float[]){0.5f, -1.0f, 2.0f}, 12);
    put_key(&b, "none", ST_V_ARRAY), put_array(&b, ST_V_STRING, 0);
    put_key(&b, "last", ST_V_ARRAY), put_array(&b, ST_V_I16, 2), put_bytes(&b, (int16_t[]){-1, 2}, 4);
    st_gguf *g = expect_parsed(&b, NULL);
    const st_value *words, *scores, *none, *last;
    assert_int_equal(st_gguf_array(g, "words", true, ST_V_STRING, &words, NULL), 0);
    assert_int_equal(words->count, 3);
    size_t cursor = 0;
    assert_true(st_str_equal(st_value_next_string(words, &cursor), "one"));
    assert_true(st_str_equal(st_value_next_string(words, &cursor), ""));
    assert_true(st_str_equal(st_value_next_string(words, &cursor), "three"));
    assert_int_equal(cursor, words->bytes);
    assert_true(st_str_equal(st_value_next_string(words, &cursor), "")); /* one too many */
    assert_int_equal(st_gguf_array(g, "scores", true, ST_V_F32, &scores, NULL), 0);
    assert_true(st_value_float(scores, 1) == -1.0 && st_value_float(scores, 2) == 2.0);
    assert_int_equal(st_gguf_array(g, "none", true, ST_V_STRING, &none, NULL), 0);
    assert_int_equal(none->count, 0);
    assert_int_equal(st_gguf_array(g, "last", true, ST_V_I16, &last, NULL), 0);
    assert_int_equal(st_value_int(last, 0), -1);
    st_gguf_close(g);
    st_buf_free(&b);
}

/* Keys that nobody asks for may hold anything that can be passed over, arrays of arrays too. */
static void test_unneeded_keys(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 3);
    put_key(&b, "seven deep", ST_V_ARRAY);
    for (int i = 0; i < 7; i++) put_array(&b, ST_V_ARRAY, 1);
    put_array(&b, ST_V_U8, 5), put_zeros(&b, 5);
    put_key(&b, "uneven", ST_V_ARRAY), put_array(&b, ST_V_ARRAY, 3);
    put_array(&b, ST_V_STRING, 2), put_str(&b, "a"), put_str(&b, "bc");
    put_array(&b, ST_V_ARRAY, 0);
    put_array(&b, ST_V_F64, 1), put_zeros(&b, 8);
    put_key_u32(&b, "after", 77);
    st_gguf *g = expect_parsed(&b, NULL);
    uint32_t after = 0;
    assert_int_equal(st_gguf_u32(g, "after", true, &after, NULL), 0);
    assert_int_equal(after, 77);
    assert_int_equal(st_gguf_find(g, "uneven")->count, 3);
    assert_int_equal(st_gguf_find(g, "uneven")->item_type, ST_V_ARRAY);
    st_gguf_close(g);
    st_buf_free(&b);
}

/* The size of a real vocabulary: found at once, and every string comes back. */
static void test_large_vocabulary(void **state) {
    (void)state;
    enum { N = 262144 };
    st_buf b = {0};
    char word[16];
    put_header(&b, 3, 0, 1);
    put_key(&b, "tokenizer.ggml.tokens", ST_V_ARRAY), put_array(&b, ST_V_STRING, N);
    for (int i = 0; i < N; i++) {
        snprintf(word, sizeof word, "%d", i);
        put_str(&b, word);
    }
    st_gguf *g = expect_parsed(&b, NULL);
    const st_value *tokens;
    assert_int_equal(st_gguf_array(g, "tokenizer.ggml.tokens", true, ST_V_STRING, &tokens, NULL), 0);
    size_t cursor = 0;
    for (int i = 0; i < N; i++) {
        snprintf(word, sizeof word, "%d", i);
        assert_true(st_str_equal(st_value_next_string(tokens, &cursor), word));
    }
    st_gguf_close(g);
    st_buf_free(&b);
}

static void test_many_keys(void **state) {
    (void)state;
    enum { N = 3000 };
    st_buf b = {0};
    char key[32];
    put_header(&b, 3, 0, N);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key.%u", i * 7919 % N);
        put_key_u32(&b, key, i);
    }
    st_gguf *g = expect_parsed(&b, NULL);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t value = N;
        snprintf(key, sizeof key, "key.%u", i * 7919 % N);
        assert_int_equal(st_gguf_u32(g, key, true, &value, NULL), 0);
        assert_int_equal(value, i);
    }
    st_gguf_close(g);
    st_buf_free(&b);
}

/* ---- getters ---- */

static st_buf getters_file;
static st_gguf *getters;

static int getters_open(void **state) {
    (void)state;
    st_buf *b = &getters_file;
    put_header(b, 3, 0, 19);
    put_every_number(b);
    put_key(b, "arch", ST_V_STRING), put_str(b, "llama");
    put_key(b, "tokenizer.ggml.scores", ST_V_ARRAY), put_array(b, ST_V_U8, 4), put_zeros(b, 4);
    put_key(b, "heads", ST_V_ARRAY), put_array(b, ST_V_I32, 3), put_bytes(b, (int32_t[]){4, 8, 4}, 12);
    put_key(b, "below", ST_V_ARRAY), put_array(b, ST_V_I32, 3), put_bytes(b, (int32_t[]){4, -8, 4}, 12);
    put_key(b, "sliding", ST_V_ARRAY), put_array(b, ST_V_BOOL, 3), put_bytes(b, (uint8_t[]){1, 0, 1}, 3);
    put_key(b, "floats", ST_V_ARRAY), put_array(b, ST_V_F32, 3), put_zeros(b, 12);
    put_key(b, "odd bool", ST_V_BOOL), put_u8(b, 2);
    put_key(b, "one", ST_V_U64), put_u64(b, 1);
    getters = expect_parsed(b, NULL);
    return 0;
}

static int getters_close(void **state) {
    (void)state;
    st_gguf_close(getters);
    st_buf_free(&getters_file);
    return 0;
}

static void test_u32(void **state) {
    (void)state;
    stretto_error err = {0};
    uint32_t value = 5;
    static const char *const fits[] = {"k.u8", "k.u16", "k.u32", "one"};
    static const uint32_t wanted[] = {200, 60000, 4000000000, 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(st_gguf_u32(getters, fits[i], true, &value, &err), 0);
        assert_int_equal(value, wanted[i]);
    }
    value = 5;
    assert_int_equal(st_gguf_u32(getters, "missing", false, &value, &err), 0);
    expect_reason(&err, st_gguf_u32(getters, "missing", true, &value, &err), "good.gguf: key missing is missing");
    expect_reason(&err, st_gguf_u32(getters, "k.i8", true, &value, &err),
                  "good.gguf: key k.i8 is -100, wanted 0 to 4294967295");
    expect_reason(&err, st_gguf_u32(getters, "k.u64", false, &value, &err),
                  "good.gguf: key k.u64 is 10000000000000000000, wanted 0 to 4294967295");
    expect_reason(&err, st_gguf_u32(getters, "k.f32", true, &value, &err),
                  "good.gguf: key k.f32 is f32, wanted an integer");
    expect_reason(&err, st_gguf_u32(getters, "heads", true, &value, &err),
                  "good.gguf: key heads is array of i32, wanted an integer");
    expect_reason(&err, st_gguf_u32(getters, "k.bool", true, &value, &err),
                  "good.gguf: key k.bool is bool, wanted an integer");
    assert_int_equal(value, 5);
    assert_int_equal(st_gguf_u32(getters, "missing", true, &value, NULL),
                     STRETTO_E_INPUT); /* nobody wants the reason */
}

static void test_f32_bool_str(void **state) {
    (void)state;
    stretto_error err = {0};
    float number = 7;
    bool flag = false;
    st_str text = {0};
    assert_int_equal(st_gguf_f32(getters, "k.f32", true, &number, &err), 0);
    assert_true(number == 1.5f);
    assert_int_equal(st_gguf_f32(getters, "k.f64", true, &number, &err), 0);
    assert_true(number == -2.25f);
    expect_reason(&err, st_gguf_f32(getters, "k.u8", true, &number, &err), "good.gguf: key k.u8 is u8, wanted f32");
    expect_reason(&err, st_gguf_f32(getters, "gone", true, &number, &err), "good.gguf: key gone is missing");
    assert_int_equal(st_gguf_bool(getters, "k.bool", true, &flag, &err), 0);
    assert_true(flag);
    expect_reason(&err, st_gguf_bool(getters, "one", true, &flag, &err), "good.gguf: key one is u64, wanted bool");
    expect_reason(&err, st_gguf_bool(getters, "odd bool", true, &flag, &err),
                  "good.gguf: key odd bool is the bool 2, wanted 0 or 1");
    assert_int_equal(st_gguf_str(getters, "arch", true, &text, &err), 0);
    assert_true(st_str_equal(text, "llama"));
    assert_false(st_str_equal(text, "llam"));
    expect_reason(&err, st_gguf_str(getters, "heads", true, &text, &err),
                  "good.gguf: key heads is array of i32, wanted string");
}

/* Scores stored as bytes were read as floats, past the end, by others. */
static void test_array_of_another_type(void **state) {
    (void)state;
    stretto_error err = {0};
    const st_value *value = getters->values;
    expect_reason(&err, st_gguf_array(getters, "tokenizer.ggml.scores", true, ST_V_F32, &value, &err),
                  "good.gguf: key tokenizer.ggml.scores is array of u8, wanted array of f32");
    assert_null(value);
    expect_reason(&err, st_gguf_array(getters, "arch", true, ST_V_STRING, &value, &err),
                  "good.gguf: key arch is string, wanted array of string");
    value = getters->values;
    assert_int_equal(st_gguf_array(getters, "missing", false, ST_V_F32, &value, &err), 0);
    assert_null(value);
    expect_reason(&err, st_gguf_array(getters, "missing", true, ST_V_F32, &value, &err),
                  "good.gguf: key missing is missing");
    size_t cursor = 0;
    assert_int_equal(st_value_next_string(st_gguf_find(getters, "arch"), &cursor).len, 0); /* not an array */
}

static void test_per_layer(void **state) {
    (void)state;
    stretto_error err = {0};
    uint32_t values[3] = {9, 9, 9};
    assert_int_equal(st_gguf_u32_per_layer(getters, "missing", false, 3, values, &err), 0);
    assert_int_equal(values[1], 9);
    assert_int_equal(st_gguf_u32_per_layer(getters, "heads", true, 3, values, &err), 0);
    assert_true(values[0] == 4 && values[1] == 8 && values[2] == 4);
    assert_int_equal(st_gguf_u32_per_layer(getters, "sliding", true, 3, values, &err), 0);
    assert_true(values[0] == 1 && values[1] == 0 && values[2] == 1);
    assert_int_equal(st_gguf_u32_per_layer(getters, "k.u8", true, 3, values, &err), 0);
    assert_true(values[0] == 200 && values[1] == 200 && values[2] == 200);
    expect_reason(&err, st_gguf_u32_per_layer(getters, "heads", true, 2, values, &err),
                  "good.gguf: key heads has 3 items, wanted 2, one a layer");
    expect_reason(&err, st_gguf_u32_per_layer(getters, "below", true, 3, values, &err),
                  "good.gguf: item 1 of key below is -8, wanted 0 to 4294967295");
    expect_reason(&err, st_gguf_u32_per_layer(getters, "floats", true, 3, values, &err),
                  "good.gguf: key floats is array of f32, wanted an integer, or an array of them");
    expect_reason(&err, st_gguf_u32_per_layer(getters, "missing", true, 3, values, &err),
                  "good.gguf: key missing is missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_in_both_versions),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_unneeded_keys),
        cmocka_unit_test(test_large_vocabulary),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_u32),
        cmocka_unit_test(test_f32_bool_str),
        cmocka_unit_test(test_array_of_another_type),
        cmocka_unit_test(test_per_layer),
    };
    return cmocka_run_group_tests(tests, getters_open, getters_close);
}
