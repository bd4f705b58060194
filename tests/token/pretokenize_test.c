/* SPDX-License-Identifier: MIT
 * Words, for each kind of pre-tokenizer. What is expected was compared with llama.cpp's words. */
#include "token/pretokenize.h"

#include "base/rng.h"
#include "token/toy.h"

static st_pretokenizer *open_pre(const char *name, bool jit) {
    st_pretokenizer *pre = NULL;
    stretto_error err = {0};
    if (st_pretokenizer_create(&pre, (st_str){name, strlen(name)}, jit, &err)) fail_msg("%s", err.text);
    return pre;
}

/* The words, each followed by '/'. */
static void words_of(const st_pretokenizer *pre, const char *text, size_t n, st_buf *out) {
    stretto_error err = {0};
    st_words *words = NULL;
    size_t start, len, end = 0;
    int more;
    if (st_words_begin(&words, pre, text, n, &err)) fail_msg("%s", err.text);
    while ((more = st_words_next(words, &start, &len, &err)) > 0) {
        assert_int_equal(start, end);
        st_buf_add(out, text + start, len);
        st_buf_text(out, "/");
        end = start + len;
    }
    if (more < 0) fail_msg("%s", err.text);
    assert_int_equal(end, n);
    st_words_end(words);
}

static void expect_words(const char *name, const char *text, const char *wanted) {
    for (int jit = 0; jit < 2; jit++) {
        st_pretokenizer *pre = open_pre(name, jit);
        st_buf got = {0};
        words_of(pre, text, strlen(text), &got);
        assert_string_equal(got.data, wanted);
        st_buf_free(&got);
        st_pretokenizer_destroy(pre);
    }
}

static void gpt2_words(void **state) {
    (void)state;
    expect_words("gpt-2", "I'll see  you're 12345 x!!\n\n  end ", "I/'ll/ see/ / you/'re/ 12345/ x/!!/\n\n / end/ /");
    expect_words("gpt-2", "I'LL", "I/'/LL/");
    expect_words("gpt-2",
                 "a\xc2\xa0"
                 "b\xe2\x80\x83"
                 "c",
                 "a/\xc2\xa0/b/\xe2\x80\x83/c/");
    expect_words("gpt-2", "\xc2\xbd x\xe2\x85\xa7", "\xc2\xbd/ x/\xe2\x85\xa7/");
}

static void smollm_words(void **state) {
    (void)state;
    expect_words("smollm", "I'll see  12345 x!!\n\n  end ", "I/'ll/ see/  /1/2/3/4/5/ x/!!/\n\n / end/ /");
    expect_words("smollm", "  1  a", "  /1/ / a/");
}

static void llama3_words(void **state) {
    (void)state;
    expect_words("llama-bpe", "I'LL see  12345 x!!\n\n  end ", "I/'LL/ see/ / /123/45/ x/!!\n\n/ / end/ /");
    expect_words("llama-bpe", "(word) \r\n\n x", "(word/)/ \r\n\n/ x/");
    expect_words("llama-bpe", "\tx", "\tx/");
}

static void qwen2_words(void **state) {
    (void)state;
    expect_words("qwen2", "I'LL see  123 x!!\n\n  end ", "I/'LL/ see/ / /1/2/3/ x/!!\n\n/ / end/ /");
}

/* As tokenizer.json of Mistral Nemo has it. llama.cpp's own form of it tells capitals from small letters in ASCII only.
 */
static void tekken_words(void **state) {
    (void)state;
    expect_words("tekken", "I'LL see  123 fooBar HTTPServer x/y a!//\n",
                 "I/'LL/ see/ / /1/2/3/ foo/Bar/ HTTPServer/ x/"
                 "/y/ a/!//\n/");
    expect_words("tekken", "(word) \r\n\n x", "(word/)/ \r\n\n/ x/");
    expect_words("tekken", "\xd0\xbc\xd0\x9c\xd0\xbc", "\xd0\xbc/\xd0\x9c\xd0\xbc/"); /* small, capital, small */
    expect_words("tekken", "\xe6\xad\xa3\xe6\xad\xa3 e\xcc\x81t\xc3\xa9",
                 "\xe6\xad\xa3\xe6\xad\xa3/ e\xcc\x81t\xc3\xa9/");
}

/* The same words as llama3's, but merges make them. */
static void smaug_words(void **state) {
    (void)state;
    expect_words("smaug-bpe", "I'LL see  12345 x!!\n\n  end ", "I/'LL/ see/ / /123/45/ x/!!\n\n/ / end/ /");
    st_pretokenizer *pre = open_pre("smaug-bpe", true);
    assert_false(st_pretokenizer_ignores_merges(pre));
    assert_false(st_pretokenizer_wants_bos(pre));
    st_pretokenizer_destroy(pre);
}

static void default_words(void **state) {
    (void)state;
    expect_words("default", "It's 12345 (x+y)", "It/'/s/ /123/45/ /(/x/+/y/)/");
    expect_words("default", "1234567\xc2\xbd 8", "123/456/7\xc2\xbd/ /8/");
}

/* U+180E is no white space in Unicode today, but PCRE2's \s still takes it. */
static void the_old_space_is_none(void **state) {
    (void)state;
    expect_words("gpt-2",
                 "a\xe1\xa0\x8e"
                 "b",
                 "a/\xe1\xa0\x8e/b/");
}

/* U+FFFD is a symbol, and so is each byte that is no UTF-8. */
static void bytes_that_are_not_utf8_are_symbols(void **state) {
    (void)state;
    expect_words("gpt-2",
                 "a\xe6\xad"
                 "b \xff\xfe",
                 "a/\xe6\xad/b/ \xff\xfe/");
    expect_words("gpt-2",
                 "\xed\xa0\x80"
                 "1",
                 "\xed\xa0\x80/1/");
}

static void the_interpreter_agrees(void **state) {
    (void)state;
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "tekken", "qwen2", "default"};
    static const char *const bits[] = {"a",
                                       "B",
                                       "'s",
                                       "'LL",
                                       " ",
                                       "  ",
                                       "\n",
                                       "\r",
                                       "7",
                                       "\xc2\xbd",
                                       "!",
                                       "$",
                                       "\xe6\xad\xa3",
                                       "\xc2\xa0",
                                       "\xff",
                                       "\xcc\x81",
                                       "\t",
                                       "'",
                                       "\xf0\x9f\x98\x80"};
    st_rng rng;
    st_rng_seed(&rng, 21);
    for (size_t i = 0; i < LENGTH(names); i++) {
        st_pretokenizer *with = open_pre(names[i], true), *without = open_pre(names[i], false);
        for (int round = 0; round < 500; round++) {
            st_buf text = {0}, a = {0}, b = {0};
            for (uint64_t k = 1 + st_rng_below(&rng, 30); k > 0; k--)
                st_buf_text(&text, bits[st_rng_below(&rng, LENGTH(bits))]);
            words_of(with, text.data, text.len, &a);
            words_of(without, text.data, text.len, &b);
            assert_string_equal(a.data, b.data);
            st_buf_free(&text);
            st_buf_free(&a);
            st_buf_free(&b);
        }
        st_pretokenizer_destroy(with);
        st_pretokenizer_destroy(without);
    }
}

/* Runs of a megabyte that a pattern tries from the far end back: neither the generated code's stack nor the
 * interpreter's limits stop them. */
static void long_runs_are_no_trouble(void **state) {
    (void)state;
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "tekken", "qwen2", "default"};
    const size_t n = 1u << 20;
    char *text = malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < 2 * LENGTH(names); i++) {
        st_pretokenizer *pre = open_pre(names[i / 2], i % 2);
        for (const char *of = " aA\n!'1\xff"; *of; of++) {
            st_buf got = {0};
            memset(text, *of, n);
            text[n] = 'x';
            words_of(pre, text, n + 1, &got);
            st_buf_free(&got);
        }
        st_pretokenizer_destroy(pre);
    }
    free(text);
}

static void unknown_names_are_refused_with_the_known_ones(void **state) {
    (void)state;
    st_pretokenizer *pre = NULL;
    stretto_error err = {0};
    assert_int_equal(st_pretokenizer_create(&pre, (st_str){"fal\ncon", 7}, true, &err), STRETTO_E_INPUT);
    assert_null(pre);
    assert_non_null(strstr(err.text, "tokenizer.ggml.pre is \"fal\\x0acon\""));
    assert_non_null(strstr(err.text, "gpt-2"));
    assert_non_null(strstr(err.text, "smollm"));
    assert_non_null(strstr(err.text, "llama-bpe"));
    assert_non_null(strstr(err.text, "qwen2"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_words),
        cmocka_unit_test(smollm_words),
        cmocka_unit_test(llama3_words),
        cmocka_unit_test(qwen2_words),
        cmocka_unit_test(tekken_words),
        cmocka_unit_test(smaug_words),
        cmocka_unit_test(default_words),
        cmocka_unit_test(the_old_space_is_none),
        cmocka_unit_test(bytes_that_are_not_utf8_are_symbols),
        cmocka_unit_test(the_interpreter_agrees),
        cmocka_unit_test(long_runs_are_no_trouble),
        cmocka_unit_test(unknown_names_are_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
