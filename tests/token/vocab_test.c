/* SPDX-License-Identifier: MIT
 * Vocabularies that are broken are refused or warned about by name; those that are only unusual work. */
#include "token/toy.h"

#include "token/hash.h"
#include "token/vocab.h"

static const char *const letters[] = {"<unk>", "<s>", "</s>", "a", "b", "ab", "▁"};
static const int32_t letter_types[] = {UNKNOWN, CONTROL, CONTROL, NORMAL, NORMAL, NORMAL, NORMAL};
static const float letter_scores[] = {0, 0, 0, -3, -4, -1, -2};

/* A SentencePiece file that lacks what the caller has still to add. */
static void spm_begin(toy *t) {
    toy_string(t, "tokenizer.ggml.model", "llama");
    toy_strings(t, "tokenizer.ggml.tokens", letters, LENGTH(letters));
}

static void spm_whole(toy *t) {
    spm_begin(t);
    toy_types(t, letter_types, LENGTH(letter_types));
    toy_scores(t, letter_scores, LENGTH(letter_scores));
}

static const char *const marks[] = {"a", "b", "ab", "Ġ", "Ġab", "<e>"};
static const int32_t mark_types[] = {NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, CONTROL};

static void bpe_begin(toy *t, const char *pre) {
    toy_string(t, "tokenizer.ggml.model", "gpt2");
    if (pre) toy_string(t, "tokenizer.ggml.pre", pre);
    toy_strings(t, "tokenizer.ggml.tokens", marks, LENGTH(marks));
    toy_types(t, mark_types, LENGTH(mark_types));
}

static void missing_keys_are_named(void **state) {
    (void)state;
    toy none = {0}, part = {0}, tokens = {0}, scores = {0}, merges = {0};
    toy_refused(&none, "key tokenizer.ggml.model is missing");
    toy_u32(&part, "split.count", 2);
    toy_u32(&part, "split.no", 1);
    toy_refused(&part, "this is part 2 of 2 of a model");
    toy_string(&tokens, "tokenizer.ggml.model", "llama");
    toy_refused(&tokens, "key tokenizer.ggml.tokens is missing");
    spm_begin(&scores);
    toy_refused(&scores, "key tokenizer.ggml.scores is missing");
    bpe_begin(&merges, "gpt-2");
    toy_refused(&merges, "key tokenizer.ggml.merges is missing");
}

static void unknown_models_are_refused_with_the_known_ones(void **state) {
    (void)state;
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "bert");
    toy_refused(&t, "key tokenizer.ggml.model is \"bert\", which is not supported; these are: gpt2, llama, gemma4");
}

static void unknown_pre_tokenizers_are_refused_with_the_known_ones(void **state) {
    (void)state;
    toy t = {0};
    bpe_begin(&t, "falcon");
    toy_refused(&t, "key tokenizer.ggml.pre is \"falcon\", which is not supported; these are: gpt-2,");
}

static void a_missing_pre_tokenizer_is_the_default_one_with_a_warning(void **state) {
    (void)state;
    toy t = {0};
    bpe_begin(&t, NULL);
    toy_strings(&t, "tokenizer.ggml.merges", (const char *[]){"a b"}, 1);
    EXPECT_IDS(toy_open(&t), "ab", false, 2);
    assert_non_null(strstr(t.warnings, "key tokenizer.ggml.pre is missing"));
    toy_close(&t);
}

static void scores_of_another_type_are_refused(void **state) {
    (void)state;
    toy t = {0};
    const uint8_t bytes[LENGTH(letters)] = {0};
    spm_begin(&t);
    toy_numbers(&t, "tokenizer.ggml.scores", ST_V_U8, bytes, 1, LENGTH(bytes));
    toy_refused(&t, "key tokenizer.ggml.scores is array of u8, wanted array of f32");
}

static void lists_of_another_length_are_refused(void **state) {
    (void)state;
    toy scores = {0}, types = {0}, more = {0};
    spm_begin(&scores);
    toy_scores(&scores, letter_scores, LENGTH(letters) - 1);
    toy_refused(&scores, "key tokenizer.ggml.scores has 6 items, but the vocabulary has 7 tokens");
    spm_begin(&types);
    toy_types(&types, letter_types, LENGTH(letters) - 2);
    toy_refused(&types, "key tokenizer.ggml.token_type has 5 items, but tokenizer.ggml.tokens has 7");
    toy_string(&more, "tokenizer.ggml.model", "llama");
    toy_strings(&more, "tokenizer.ggml.tokens", letters, 3);
    toy_types(&more, letter_types, 4);
    toy_refused(&more, "key tokenizer.ggml.token_type has 4 items, but tokenizer.ggml.tokens has 3");
}

static void token_lists_of_another_type_are_refused(void **state) {
    (void)state;
    toy tokens = {0}, types = {0}, none = {0};
    toy_string(&tokens, "tokenizer.ggml.model", "llama");
    toy_numbers(&tokens, "tokenizer.ggml.tokens", ST_V_I32, letter_types, 4, LENGTH(letter_types));
    toy_refused(&tokens, "key tokenizer.ggml.tokens is array of i32, wanted array of string");
    spm_begin(&types);
    toy_scores(&types, letter_scores, LENGTH(letters));
    toy_numbers(&types, "tokenizer.ggml.token_type", ST_V_F32, letter_scores, 4, LENGTH(letter_scores));
    toy_refused(&types, "key tokenizer.ggml.token_type is array of f32, wanted array of i32");
    toy_string(&none, "tokenizer.ggml.model", "llama");
    toy_strings(&none, "tokenizer.ggml.tokens", NULL, 0);
    toy_refused(&none, "key tokenizer.ggml.tokens has no items");
}

/* gpt2 and gemma4 have no use for scores, and nobody has one for these. */
static void keys_that_are_not_needed_may_have_any_type(void **state) {
    (void)state;
    toy t = {0};
    bpe_begin(&t, "gpt-2");
    toy_strings(&t, "tokenizer.ggml.merges", (const char *[]){"a b"}, 1);
    toy_numbers(&t, "tokenizer.ggml.scores", ST_V_U8, "x", 1, 1);
    toy_string(&t, "tokenizer.ggml.padding_token_id", "none");
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", true);
    toy_u32(&t, "tokenizer.chat_template", 5);
    EXPECT_IDS(toy_open(&t), "ab", false, 2);
    assert_non_null(strstr(t.warnings, "key tokenizer.chat_template is u32, wanted string"));
    toy_close(&t);
}

static void ids_out_of_range_are_warned_about(void **state) {
    (void)state;
    toy t = {0};
    spm_whole(&t);
    toy_u32(&t, "tokenizer.ggml.bos_token_id", 7);
    toy_u32(&t, "tokenizer.ggml.eos_token_id", UINT32_MAX);
    toy_u32(&t, "tokenizer.ggml.unknown_token_id", 100);
    st_tokenizer *tok = toy_open(&t);
    assert_int_equal(st_tokenizer_bos(tok), -1);
    assert_false(st_tokenizer_adds_bos(tok));
    assert_false(st_tokenizer_is_end(tok, -1));
    assert_non_null(strstr(t.warnings, "key tokenizer.ggml.bos_token_id is 7, but the vocabulary has 7 tokens"));
    assert_non_null(strstr(t.warnings, "key tokenizer.ggml.eos_token_id is 4,294,967,295"));
    assert_non_null(strstr(t.warnings, "key tokenizer.ggml.unknown_token_id is 100"));
    toy_close(&t);
}

static void a_wanted_bos_must_be_there(void **state) {
    (void)state;
    toy t = {0};
    spm_whole(&t);
    toy_u32(&t, "tokenizer.ggml.bos_token_id", 7);
    toy_bool(&t, "tokenizer.ggml.add_bos_token", true);
    toy_refused(&t, "key tokenizer.ggml.add_bos_token is true, but no token is named by tokenizer.ggml.bos_token_id");
}

static void ids_of_another_type_are_refused(void **state) {
    (void)state;
    toy t = {0};
    spm_whole(&t);
    toy_string(&t, "tokenizer.ggml.bos_token_id", "<s>");
    toy_refused(&t, "key tokenizer.ggml.bos_token_id is string, wanted an integer");
}

static void the_first_of_equal_tokens_counts(void **state) {
    (void)state;
    static const char *const twice[] = {"<unk>", "<s>", "</s>", "a", "b", "ab", "ab", "a"};
    static const float scores[] = {0, 0, 0, -1, -1, -1, -1, -1};
    static const int32_t types[] = {UNKNOWN, CONTROL, CONTROL, NORMAL, NORMAL, NORMAL, CONTROL, NORMAL};
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "llama");
    toy_strings(&t, "tokenizer.ggml.tokens", twice, LENGTH(twice));
    toy_types(&t, types, LENGTH(types));
    toy_scores(&t, scores, LENGTH(scores));
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "aba", false, 5, 3);
    assert_non_null(strstr(t.warnings, "key tokenizer.ggml.tokens: 2 tokens stand there twice"));
    assert_non_null(strstr(t.warnings, "\"ab\" (ids 5 and 6)"));
    toy_close(&t);
}

static void merges_lead_to_the_first_of_equal_tokens(void **state) {
    (void)state;
    static const char *const twice[] = {"a", "b", "ab", "ba", "ab"};
    static const int32_t types[] = {NORMAL, NORMAL, NORMAL, NORMAL, NORMAL};
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "gpt2");
    toy_string(&t, "tokenizer.ggml.pre", "gpt-2");
    toy_strings(&t, "tokenizer.ggml.tokens", twice, LENGTH(twice));
    toy_types(&t, types, LENGTH(types));
    toy_strings(&t, "tokenizer.ggml.merges", (const char *[]){"b a", "a b"}, 2);
    EXPECT_IDS(toy_open(&t), "ab", false, 2);
    toy_close(&t);
}

static void merges_of_unknown_tokens_are_skipped_with_a_warning(void **state) {
    (void)state;
    toy t = {0};
    bpe_begin(&t, "gpt-2");
    /* Without a space, with an empty side, of no token, to no token, to a control token, and a good one. */
    static const char *const merges[] = {"ab", "a ", " a", "", "a x", "b a", "<e> a", "a b", "a b", "Ġ ab"};
    toy_strings(&t, "tokenizer.ggml.merges", merges, LENGTH(merges));
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "ba ab", false, 1, 0, 4);
    assert_non_null(
        strstr(t.warnings, "key tokenizer.ggml.merges: 7 of 10 merges name tokens that the vocabulary lacks"));
    assert_non_null(strstr(t.warnings, "item 0 \"ab\""));
    toy_close(&t);
}

static void names_from_the_file_are_made_printable(void **state) {
    (void)state;
    toy t = {0};
    bpe_begin(&t, "gpt-2");
    toy_strings(&t, "tokenizer.ggml.merges", (const char *[]){"\x1b[31m x\n"}, 1);
    toy_open(&t);
    assert_non_null(strstr(t.warnings, "\"\\x1b[31m x\\x0a\""));
    toy_close(&t);
}

/* Without types, byte tokens are known by their looks and control tokens by the ids that the file names. */
static void types_may_be_missing(void **state) {
    (void)state;
    static const char *const names[] = {"<unk>", "<s>", "</s>", "<0x61>", "b", "▁"};
    static const float scores[LENGTH(names)] = {0};
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "llama");
    toy_strings(&t, "tokenizer.ggml.tokens", names, LENGTH(names));
    toy_scores(&t, scores, LENGTH(scores));
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "ab c", false, 3, 4, 5, 0); /* c is unknown */
    EXPECT_IDS(tok, "<s>b", true, 1, 4);
    EXPECT_IDS(tok, "<s>", false, 0, 0, 0);
    assert_int_equal(st_tokenizer_bos(tok), 1);
    assert_true(st_tokenizer_adds_bos(tok));
    assert_true(st_tokenizer_is_end(tok, 2));
    toy_close(&t);
}

/* Tokens can be made so that they share a hash. That costs bounded time and then the file is refused. */
static void tokens_made_to_collide_are_refused(void **state) {
    (void)state;
    enum { WANTED = 1200, MASK = 4096 - 1 };
    toy t = {0};
    char(*room)[24] = calloc(WANTED, sizeof *room);
    const char **names = calloc(WANTED, sizeof *names);
    assert_non_null(room);
    assert_non_null(names);
    for (uint32_t i = 0, n = 0; n < WANTED; i++) {
        int len = snprintf(room[n], sizeof room[n], "%u", i);
        if ((st_hash_bytes(room[n], (size_t)len) & MASK) != 5) continue;
        names[n] = room[n];
        n++;
    }
    toy_string(&t, "tokenizer.ggml.model", "llama");
    toy_strings(&t, "tokenizer.ggml.tokens", names, WANTED);
    toy_refused(&t, "key tokenizer.ggml.tokens: more than 1024 tokens share a hash");
    free(room);
    free(names);
}

static void ids_out_of_the_vocabulary_are_refused(void **state) {
    (void)state;
    toy t = {0};
    spm_whole(&t);
    st_tokenizer *tok = toy_open(&t);
    assert_int_equal(st_tokenizer_size(tok), LENGTH(letters));
    assert_true(st_str_equal(st_tokenizer_piece(tok, 5), "ab"));
    assert_int_equal(st_tokenizer_piece(tok, 7).len, 0);
    assert_int_equal(st_tokenizer_piece(tok, -1).len, 0);
    st_buf out = {0};
    stretto_error err = {0};
    assert_int_equal(st_tokenizer_decode(tok, 7, false, false, &out, &err), STRETTO_E_USAGE);
    assert_string_equal(err.text, "no token 7: the vocabulary has 0 to 6");
    assert_int_equal(st_tokenizer_decode(tok, -1, false, false, &out, &err), STRETTO_E_USAGE);
    st_buf_free(&out);
    toy_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_keys_are_named),
        cmocka_unit_test(unknown_models_are_refused_with_the_known_ones),
        cmocka_unit_test(unknown_pre_tokenizers_are_refused_with_the_known_ones),
        cmocka_unit_test(a_missing_pre_tokenizer_is_the_default_one_with_a_warning),
        cmocka_unit_test(scores_of_another_type_are_refused),
        cmocka_unit_test(lists_of_another_length_are_refused),
        cmocka_unit_test(token_lists_of_another_type_are_refused),
        cmocka_unit_test(keys_that_are_not_needed_may_have_any_type),
        cmocka_unit_test(ids_out_of_range_are_warned_about),
        cmocka_unit_test(a_wanted_bos_must_be_there),
        cmocka_unit_test(ids_of_another_type_are_refused),
        cmocka_unit_test(the_first_of_equal_tokens_counts),
        cmocka_unit_test(merges_lead_to_the_first_of_equal_tokens),
        cmocka_unit_test(merges_of_unknown_tokens_are_skipped_with_a_warning),
        cmocka_unit_test(names_from_the_file_are_made_printable),
        cmocka_unit_test(types_may_be_missing),
        cmocka_unit_test(tokens_made_to_collide_are_refused),
        cmocka_unit_test(ids_out_of_the_vocabulary_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
