/* SPDX-License-Identifier: MIT
 * The real models' tokenizers, where the models are. */
#include "token/oracle.h"

#include "support/cpu_time.h"
#include "support/real_model.h"

static char smollm2[500], gemma3[500];
static bool has_smollm2, has_gemma3;

static void smollm2_ids_equal_the_oracle(void **state) {
    (void)state;
    if (!has_smollm2) skip();
    oracle_check("smollm2", smollm2);
}

static void gemma3_ids_equal_the_oracle(void **state) {
    (void)state;
    if (!has_gemma3) skip();
    oracle_check("gemma3-270m", gemma3);
}

/* 165 of Gemma 3's tokens are user-defined: markup and runs of white space are one token in plain text. Its </s> is
 * markup too, and ends nothing. */
static void gemma3_markup_is_one_token(void **state) {
    (void)state;
    if (!has_gemma3) skip();
    golden g = golden_open(gemma3);
    EXPECT_IDS(g.tok, "<table><td>x</td></table>", false, 168, 175, 236781, 183, 176);
    EXPECT_IDS(g.tok, "</s>", false, 212);
    EXPECT_IDS(g.tok, "\n\n\n     ", false, 109, 141);
    assert_false(st_tokenizer_is_end(g.tok, 212));
    assert_true(st_tokenizer_is_end(g.tok, 1));
    assert_true(st_tokenizer_is_end(g.tok, 106));
    assert_null(st_chat_family(g.tok)); /* a base model: no template */
    golden_close(&g);
}

static void smollm2_ends(void **state) {
    (void)state;
    if (!has_smollm2) skip();
    golden g = golden_open(smollm2);
    assert_true(st_tokenizer_is_end(g.tok, 0));
    assert_true(st_tokenizer_is_end(g.tok, 2));
    assert_false(st_tokenizer_is_end(g.tok, 1));
    assert_false(st_tokenizer_adds_bos(g.tok));
    assert_int_equal(st_tokenizer_bos(g.tok), 1);
    golden_close(&g);
}

/* Its vocabulary lacks 21 bytes. Where text has them nothing else may stand in, least of all token 0, <|endoftext|>,
 * which the file calls its unknown token. */
static void smollm2_leaves_out_bytes_that_it_lacks(void **state) {
    (void)state;
    if (!has_smollm2) skip();
    golden g = golden_open(smollm2);
    expect_ids_of(g.tok, "a\x04\xff", 3, false, false, (const int32_t[]){81}, 1, "a, 0x04, 0xff");
    golden_close(&g);
}

static void expect_chat(const st_tokenizer *tok, const st_chat_turn *turns, size_t n_turns, const int32_t *ids,
                        size_t n) {
    stretto_error err = {0};
    st_ids got = {0};
    if (st_chat_encode(tok, turns, n_turns, &got, &err)) fail_msg("%s", err.text);
    assert_int_equal(got.len, n);
    assert_memory_equal(got.data, ids, n * sizeof *ids);
    st_ids_free(&got);
}

#define TURN(role, text)                                                                                               \
    { (role), (text), sizeof(text) - 1 }

/* Ids of llama.cpp for what Jinja makes of the file's template. */
static void smollm2_chat(void **state) {
    (void)state;
    if (!has_smollm2) skip();
    golden g = golden_open(smollm2);
    const st_chat_turn alone[] = {TURN("user", "Hello there")};
    const int32_t alone_ids[] = {1,    9690,  198,   2683, 359, 253, 5356,  5646, 11173, 3365, 3511,
                                 308,  34519, 28,    7018, 411, 407, 19712, 8182, 2,     198,  1,
                                 4093, 198,   19556, 665,  2,   198, 1,     520,  9531,  198};
    expect_chat(g.tok, alone, 1, alone_ids, LENGTH(alone_ids));
    const st_chat_turn longer[] = {TURN("system", "Be brief."), TURN("user", "a\nb"), TURN("assistant", " ok, then "),
                                   TURN("user", "\n\nand now?")};
    const int32_t longer_ids[] = {1,  9690, 198,  6077, 5453, 30,   2,   198,   1,   4093, 198, 81,   198,
                                  82, 2,    198,  1,    520,  9531, 198, 10907, 28,  965,  216, 2,    198,
                                  1,  4093, 1116, 198,  397,  1209, 47,  2,     198, 1,    520, 9531, 198};
    expect_chat(g.tok, longer, 4, longer_ids, LENGTH(longer_ids));
    assert_string_equal(st_chat_family(g.tok), "chatml");
    golden_close(&g);
}

/* A start to the first token must not wait for the vocabulary: 262,144 tokens took 12 ms of one busy core when this was
 * written, against 1,200 ms in llama.cpp. The limit leaves room for slow machines and debug builds. */
static void creation_is_quick(void **state) {
    (void)state;
    if (!has_gemma3) skip();
    stretto_error err = {0};
    st_gguf *gguf = NULL;
    st_tokenizer *tok = NULL;
    assert_int_equal(st_gguf_open(&gguf, gemma3, NULL, &err), 0);
    uint64_t start = thread_cpu_ns();
    assert_int_equal(st_tokenizer_create(&tok, gguf, NULL, &err), 0);
    uint64_t ns = thread_cpu_ns() - start;
    printf("262,144 tokens in %.1f ms\n", (double)ns / 1e6);
    assert_true(ns < 200000000u);
    st_tokenizer_destroy(tok);
    st_gguf_close(gguf);
}

int main(void) {
    has_smollm2 = test_real_model(TEST_SMOLLM2, smollm2, sizeof smollm2) != NULL;
    has_gemma3 = test_real_model(TEST_GEMMA3, gemma3, sizeof gemma3) != NULL;
    if (!has_smollm2 && !has_gemma3) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smollm2_ids_equal_the_oracle),
        cmocka_unit_test(gemma3_ids_equal_the_oracle),
        cmocka_unit_test(gemma3_markup_is_one_token),
        cmocka_unit_test(smollm2_ends),
        cmocka_unit_test(smollm2_leaves_out_bytes_that_it_lacks),
        cmocka_unit_test(smollm2_chat),
        cmocka_unit_test(creation_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
