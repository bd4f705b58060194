/* SPDX-License-Identifier: MIT
 * Tokenizers through the public interface. */
#include "support.h"

#include "stretto/tokenizer.h"

#include <stdbool.h>

static stretto_tokenizer *open_tokenizer(const char *path) {
    stretto_error err = {0};
    stretto_tokenizer *t = NULL;
    must(stretto_tokenizer_open(&t, path, NULL, &err), &err);
    return t;
}

static void check_ids(const stretto_tokenizer *t, const json_t *text, const json_t *wanted, unsigned flags) {
    int32_t ids[4096];
    size_t n = 0, n_wanted;
    stretto_error err = {0};
    int32_t *golden = golden_ids(wanted, &n_wanted);
    must(stretto_tokenizer_encode(t, json_string_value(text), json_string_length(text), flags, ids, 4096, &n, &err),
         &err);
    if (n != n_wanted || memcmp(ids, golden, n * sizeof *ids) != 0)
        fail_msg("other ids for \"%s\"", json_string_value(text));
    free(golden);
}

/* Any text comes back, but vocabularies of this kind take U+2581 for a space. */
static void check_round_trip(const stretto_tokenizer *t, const json_t *text) {
    int32_t ids[4096];
    char bytes[8192];
    size_t n = 0, n_bytes = 0;
    stretto_error err = {0};
    must(stretto_tokenizer_encode(t, json_string_value(text), json_string_length(text), 0, ids, 4096, &n, &err), &err);
    must(stretto_tokenizer_decode(t, ids, n, 0, bytes, sizeof bytes, &n_bytes, &err), &err);
    if (n_bytes != json_string_length(text) || memcmp(bytes, json_string_value(text), n_bytes) != 0)
        fail_msg("\"%s\" came back as \"%.*s\"", json_string_value(text), (int)n_bytes, bytes);
}

static void check_golden(const char *name) {
    char gguf[256], json[256];
    snprintf(gguf, sizeof gguf, ST_GOLDEN "/tiny-%s-F32.gguf", name);
    snprintf(json, sizeof json, ST_GOLDEN "/tok-tiny-%s.json", name);
    bool gemma = strncmp(name, "gemma", 5) == 0;
    stretto_tokenizer *t = open_tokenizer(gguf);
    json_t *root = golden_json(json), *item;
    size_t i;
    assert_true(json_array_size(json_object_get(root, "cases")) > 100);
    json_array_foreach(json_object_get(root, "cases"), i, item) {
        json_t *text = json_object_get(item, "text"), *special = json_object_get(item, "special");
        check_ids(t, text, json_object_get(item, "ids"), 0);
        if (special) check_ids(t, text, special, STRETTO_TOKEN_SPECIAL);
        if (!gemma || !strstr(json_string_value(text), "\xe2\x96\x81")) check_round_trip(t, text);
    }
    json_decref(root);
    stretto_tokenizer_close(t);
}

static void golden_ids_of_every_kind(void **state) {
    (void)state;
    static const char *const names[] = {"llama", "qwen2", "gemma3", "gemma4"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_golden(names[i]);
}

static void bos_is_what_the_model_wants(void **state) {
    (void)state;
    stretto_error err = {0};
    int32_t ids[8];
    size_t n = 0;
    stretto_tokenizer *gemma = open_tokenizer(GOLDEN("tiny-gemma3-F32.gguf"));
    must(stretto_tokenizer_encode(gemma, "", 0, STRETTO_TOKEN_BOS, ids, 8, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], stretto_tokenizer_bos(gemma));
    assert_int_equal(stretto_tokenizer_size(gemma), 448);
    stretto_tokenizer *llama = open_tokenizer(GOLDEN("tiny-llama-F32.gguf"));
    must(stretto_tokenizer_encode(llama, "", 0, STRETTO_TOKEN_BOS, ids, 8, &n, &err), &err);
    assert_int_equal(n, 0); /* add_bos_token is false in this file */
    assert_true(stretto_tokenizer_is_end(llama, 2));
    assert_false(stretto_tokenizer_is_end(llama, 74));
    assert_false(stretto_tokenizer_is_end(llama, -1));
    stretto_tokenizer_close(llama);
    stretto_tokenizer_close(gemma);
}

static void small_buffers_measure(void **state) {
    (void)state;
    stretto_error err = {0};
    int32_t ids[16], few[2] = {-7, -7};
    char text[16], little[3] = {'#', '#', '#'};
    size_t n = 0, n_text = 0;
    stretto_tokenizer *t = open_tokenizer(GOLDEN("tiny-llama-F32.gguf"));
    must(stretto_tokenizer_encode(t, "hello", 5, 0, NULL, 0, &n, &err), &err);
    assert_int_equal(n, 5);
    must(stretto_tokenizer_encode(t, "hello", 5, 0, few, 1, &n, &err), &err);
    assert_int_equal(n, 5);
    assert_true(few[0] == 74 && few[1] == -7);
    must(stretto_tokenizer_encode(t, "hello", 5, 0, ids, 16, &n, &err), &err);
    must(stretto_tokenizer_decode(t, ids, n, 0, NULL, 0, &n_text, &err), &err);
    assert_int_equal(n_text, 5);
    must(stretto_tokenizer_decode(t, ids, n, 0, little, 2, &n_text, &err), &err);
    assert_memory_equal(little, "he#", 3);
    must(stretto_tokenizer_decode(t, ids, n, 0, text, 16, &n_text, &err), &err);
    assert_memory_equal(text, "hello", 5);
    ids[1] = 448;
    must_fail(stretto_tokenizer_decode(t, ids, n, 0, text, 16, &n_text, &err), STRETTO_E_USAGE, &err, "448");
    assert_int_equal(n_text, 0);
    stretto_tokenizer_close(t);
}

static void control_tokens_show_when_asked(void **state) {
    (void)state;
    stretto_error err = {0};
    static const int32_t ids[] = {1, 74};
    char text[32];
    size_t n = 0;
    stretto_tokenizer *t = open_tokenizer(GOLDEN("tiny-llama-F32.gguf"));
    must(stretto_tokenizer_decode(t, ids, 2, 0, text, sizeof text, &n, &err), &err);
    assert_int_equal(n, 1);
    must(stretto_tokenizer_decode(t, ids, 2, STRETTO_TOKEN_SPECIAL, text, sizeof text, &n, &err), &err);
    assert_int_equal(n, 13);
    assert_memory_equal(text, "<|im_start|>h", 13);
    stretto_tokenizer_close(t);
}

static void a_file_without_a_chat_form_says_so(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_chat_turn turn = {.role = "user", .text = "hi", .n = 2};
    int32_t ids[64];
    size_t n = 7;
    stretto_tokenizer *t = open_tokenizer(GOLDEN("tiny-llama-F32.gguf"));
    must_fail(stretto_tokenizer_chat(t, &turn, 1, ids, 64, &n, &err), STRETTO_E_INPUT, &err, "tokenizer.chat_template");
    assert_int_equal(n, 0);
    stretto_tokenizer_close(t);
}

static void bad_files_are_refused(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_tokenizer *t = (stretto_tokenizer *)&t;
    must_fail(stretto_tokenizer_open(&t, "/no/such.gguf", NULL, &err), STRETTO_E_IO, &err, "/no/such.gguf");
    assert_null(t);
    must_fail(stretto_tokenizer_open(&t, GOLDEN("quants.gguf"), NULL, &err), STRETTO_E_INPUT, &err,
              "tokenizer.ggml.model");
    stretto_tokenizer_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_ids_of_every_kind),
        cmocka_unit_test(bos_is_what_the_model_wants),
        cmocka_unit_test(small_buffers_measure),
        cmocka_unit_test(control_tokens_show_when_asked),
        cmocka_unit_test(a_file_without_a_chat_form_says_so),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
