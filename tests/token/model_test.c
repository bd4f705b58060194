/* SPDX-License-Identifier: MIT
 * What each tokenizer model does, on vocabularies small enough to work out by hand. */
#include "token/toy.h"

#include <math.h>

/* SentencePiece ---------------------------------------------------------------------------------------------------- */
static const char *const spm_tokens[] = {"<unk>", "<s>", "</s>", "a", "b", "ab", "▁", "▁a", "ba", "<t>", "s>", "<s"};
static const int32_t spm_types[] = {UNKNOWN, CONTROL, CONTROL, NORMAL, NORMAL, NORMAL,
                                    NORMAL,  NORMAL,  NORMAL,  USER,   NORMAL, NORMAL};
static const float spm_scores[] = {0, 0, 0, -9, -9, -2, -9, -3, -2, 0, -1, -1.5f};

/* With the 256 bytes behind the tokens above. */
static void spm_make(toy *t, bool bytes) {
    static char room[256][8];
    const char *names[LENGTH(spm_tokens) + 256];
    int32_t types[LENGTH(names)];
    float scores[LENGTH(names)] = {0};
    size_t n = LENGTH(spm_tokens) + (bytes ? 256 : 0);
    memcpy(names, spm_tokens, sizeof spm_tokens);
    memcpy(types, spm_types, sizeof spm_types);
    memcpy(scores, spm_scores, sizeof spm_scores);
    byte_names(names + LENGTH(spm_tokens), room);
    for (size_t i = LENGTH(spm_tokens); i < LENGTH(types); i++) types[i] = BYTE;
    toy_string(t, "tokenizer.ggml.model", "llama");
    toy_strings(t, "tokenizer.ggml.tokens", names, n);
    toy_types(t, types, n);
    toy_scores(t, scores, n);
}

enum { FIRST_BYTE = LENGTH(spm_tokens) };

static void spm_joins_by_score_then_from_the_left(void **state) {
    (void)state;
    toy t = {0};
    spm_make(&t, true);
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "aba", false, 5, 3); /* ab and ba are equal: the left one */
    EXPECT_IDS(tok, "bab", false, 8, 4);
    EXPECT_IDS(tok, " ab", false, 6, 5); /* ab before ▁a */
    EXPECT_IDS(tok, " a", false, 7);
    EXPECT_IDS(tok, "c", false, FIRST_BYTE + 'c');
    EXPECT_IDS(tok,
               "a\xe6\xad"
               "b",
               false, 3, FIRST_BYTE + 0xe6, FIRST_BYTE + 0xad, 4);
    EXPECT_IDS(tok, "<0x41>", false, FIRST_BYTE + '<', FIRST_BYTE + '0', FIRST_BYTE + 'x', FIRST_BYTE + '4',
               FIRST_BYTE + '1', FIRST_BYTE + '>');
    toy_close(&t);
}

/* "<" and "s>" would join to <s>, the best score of all. */
static void spm_text_never_joins_to_a_control_token(void **state) {
    (void)state;
    toy t = {0};
    spm_make(&t, true);
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "<s>", false, FIRST_BYTE + '<', 10);
    EXPECT_IDS(tok, "<s>", true, 1);
    toy_close(&t);
}

static void spm_puts_a_space_in_front_by_default(void **state) {
    (void)state;
    toy t = {0};
    spm_make(&t, true);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "a", false, 7);
    EXPECT_IDS(tok, " a", false, 6, 7);
    EXPECT_IDS(tok, "a</s>a", true, 7, 2, 7); /* behind a control token too */
    EXPECT_IDS(tok, "a<t>a", false, 7, 9, 3); /* but not in the middle of text */
    expect_ids_of(tok, "", 0, false, false, NULL, 0, "nothing");
    expect_ids_of(tok, "", 0, false, true, (const int32_t[]){1}, 1, "nothing but BOS");
    static const char *const texts[] = {"a", " a", "  ", "<t>a", " <t> a", "a<t>", "c c", "\n a", ""};
    for (size_t i = 0; i < LENGTH(texts); i++) expect_round_trip(tok, texts[i], strlen(texts[i]));
    toy_close(&t);
}

static void spm_without_bytes_has_the_unknown_token(void **state) {
    (void)state;
    toy t = {0};
    spm_make(&t, false);
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    EXPECT_IDS(toy_open(&t), "acb", false, 3, 0, 4);
    toy_close(&t);
}

static void spm_scores_may_be_anything(void **state) {
    (void)state;
    static const char *const tokens[] = {"<unk>", "<s>", "</s>", "a", "b", "c", "d", "ab", "bc", "cd"};
    static const int32_t types[] = {UNKNOWN, CONTROL, CONTROL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL};
    const float scores[] = {0, 0, 0, 0, 0, 0, 0, NAN, -INFINITY, -0.0f};
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "llama");
    toy_strings(&t, "tokenizer.ggml.tokens", tokens, LENGTH(tokens));
    toy_types(&t, types, LENGTH(types));
    toy_scores(&t, scores, LENGTH(scores));
    toy_bool(&t, "tokenizer.ggml.add_space_prefix", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "abcd", false, 7, 9); /* cd first, then ab, which NaN does not keep from joining */
    EXPECT_IDS(tok, "bc", false, 8);
    toy_close(&t);
}

/* Byte-level BPE --------------------------------------------------------------------------------------------------- */
static const char *const bpe_tokens[] = {"a", "b", "c", "Ġ", "ab", "bc", "abc", "<e>", "Ġa", "1", "12", "2", "x y"};
static const int32_t bpe_types[] = {NORMAL,  NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL,
                                    CONTROL, NORMAL, NORMAL, NORMAL, NORMAL, USER};
static const char *const bpe_merges[] = {"b c", "a b", "Ġ a", "1 2"};

static void bpe_make(toy *t, const char *pre) {
    toy_string(t, "tokenizer.ggml.model", "gpt2");
    toy_string(t, "tokenizer.ggml.pre", pre);
    toy_strings(t, "tokenizer.ggml.tokens", bpe_tokens, LENGTH(bpe_tokens));
    toy_types(t, bpe_types, LENGTH(bpe_types));
    toy_strings(t, "tokenizer.ggml.merges", bpe_merges, LENGTH(bpe_merges));
    toy_u32(t, "tokenizer.ggml.bos_token_id", 7);
}

static void bpe_joins_by_rank_within_words(void **state) {
    (void)state;
    toy t = {0};
    bpe_make(&t, "gpt-2");
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "abc", false, 0, 5);
    EXPECT_IDS(tok, "ab a12", false, 4, 8, 10);
    EXPECT_IDS(tok, "<e>", true, 7);
    EXPECT_IDS(tok, "ax yb", false, 0, 12, 1); /* user-defined: with its space, and not as words */
    expect_round_trip(tok, "ax yb ab", 8);
    assert_false(st_tokenizer_adds_bos(tok));
    toy_close(&t);
}

static void smollm_takes_digits_one_by_one(void **state) {
    (void)state;
    toy t = {0};
    bpe_make(&t, "smollm");
    EXPECT_IDS(toy_open(&t), "a12", false, 0, 9, 11);
    toy_close(&t);
}

/* Llama 3: a word that is a token is taken whole although no merges lead there; and BOS is wanted when nothing is said.
 */
static void llama3_takes_whole_words_first(void **state) {
    (void)state;
    toy t = {0};
    bpe_make(&t, "llama-bpe");
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "abc", false, 6);
    EXPECT_IDS(tok, "abca", false, 0, 5, 0);
    assert_true(st_tokenizer_adds_bos(tok));
    expect_ids_of(tok, "a", 1, false, true, (const int32_t[]){7, 0}, 2, "with BOS");
    toy_close(&t);
}

/* Gemma 4 ---------------------------------------------------------------------------------------------------------- */
static void gemma4_keeps_newlines_apart(void **state) {
    (void)state;
    static char room[256][8];
    const char *names[256 + 9] = {"<bos>", "<eos>", "a", "▁", "\n", "\n\n\n", "▁a", "a▁", "<|tool_response>"};
    int32_t types[LENGTH(names)] = {CONTROL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, NORMAL, USER};
    byte_names(names + 9, room);
    for (int i = 9; i < (int)LENGTH(types); i++) types[i] = BYTE;
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "gemma4");
    toy_strings(&t, "tokenizer.ggml.tokens", names, LENGTH(names));
    toy_types(&t, types, LENGTH(types));
    toy_strings(&t, "tokenizer.ggml.merges", (const char *[]){"a ▁", "▁ a"}, 2);
    toy_u32(&t, "tokenizer.ggml.bos_token_id", 0);
    toy_bool(&t, "tokenizer.ggml.add_bos_token", false);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "a a", false, 7, 2);
    EXPECT_IDS(tok, " a", false, 6);
    EXPECT_IDS(tok, "a\n\n\na", false, 2, 5, 2);
    EXPECT_IDS(tok, "\n\n", false, 4, 4);
    EXPECT_IDS(tok, "<eos>", true, 1);
    EXPECT_IDS(tok, "\xe6\xad", false, 9 + 0xe6, 9 + 0xad);
    assert_true(st_tokenizer_adds_bos(tok)); /* always */
    assert_non_null(strstr(t.warnings, "tokenizer.ggml.add_bos_token"));
    assert_true(st_tokenizer_is_end(tok, 1)); /* by name, although the file marks it as text */
    assert_true(st_tokenizer_is_end(tok, 8));
    toy_close(&t);
}

/* A vocabulary without U+2581 spells a space as the byte it is. */
static void spaces_without_a_token_are_bytes(void **state) {
    (void)state;
    static char room[256][8];
    const char *names[256];
    int32_t types[256];
    byte_names(names, room);
    for (int i = 0; i < 256; i++) types[i] = BYTE;
    toy t = {0};
    toy_string(&t, "tokenizer.ggml.model", "gemma4");
    toy_strings(&t, "tokenizer.ggml.tokens", names, 256);
    toy_types(&t, types, 256);
    toy_strings(&t, "tokenizer.ggml.merges", NULL, 0);
    st_tokenizer *tok = toy_open(&t);
    EXPECT_IDS(tok, "a b", false, 'a', ' ', 'b');
    assert_false(st_tokenizer_adds_bos(tok)); /* there is none */
    toy_close(&t);
}

/* Decoding --------------------------------------------------------------------------------------------------------- */
static void expect_decoded(const st_tokenizer *tok, int32_t id, bool special, bool first, const char *wanted) {
    stretto_error err = {0};
    st_buf out = {0};
    st_buf_text(&out, "."); /* appended, not put in place */
    assert_int_equal(st_tokenizer_decode(tok, id, special, first, &out, &err), 0);
    assert_string_equal(out.data + 1, wanted);
    st_buf_free(&out);
}

static void tokens_decode_to_their_bytes(void **state) {
    (void)state;
    toy spm = {0}, bpe = {0};
    spm_make(&spm, true);
    st_tokenizer *tok = toy_open(&spm);
    expect_decoded(tok, 7, false, false, " a");
    expect_decoded(tok, 7, false, true, "a");
    expect_decoded(tok, 1, false, false, "");
    expect_decoded(tok, 1, true, false, "<s>");
    expect_decoded(tok, 0, false, false, "");
    expect_decoded(tok, 9, false, false, "<t>");
    expect_decoded(tok, FIRST_BYTE + 0xe6, false, false, "\xe6");
    toy_close(&spm);
    bpe_make(&bpe, "gpt-2");
    tok = toy_open(&bpe);
    expect_decoded(tok, 8, false, false, " a");
    expect_decoded(tok, 8, false, true, " a"); /* nothing was put in front */
    expect_decoded(tok, 7, false, false, "");
    expect_decoded(tok, 7, true, false, "<e>");
    expect_decoded(tok, 12, false, false, "x y");
    toy_close(&bpe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spm_joins_by_score_then_from_the_left),
        cmocka_unit_test(spm_text_never_joins_to_a_control_token),
        cmocka_unit_test(spm_puts_a_space_in_front_by_default),
        cmocka_unit_test(spm_without_bytes_has_the_unknown_token),
        cmocka_unit_test(spm_scores_may_be_anything),
        cmocka_unit_test(bpe_joins_by_rank_within_words),
        cmocka_unit_test(smollm_takes_digits_one_by_one),
        cmocka_unit_test(llama3_takes_whole_words_first),
        cmocka_unit_test(gemma4_keeps_newlines_apart),
        cmocka_unit_test(spaces_without_a_token_are_bytes),
        cmocka_unit_test(tokens_decode_to_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
