/* SPDX-License-Identifier: MIT
 * Special tokens in text: found as llama.cpp finds them, and only when asked. */
#include "token/special.h"

#include "base/rng.h"
#include "token/toy.h"

static const char *const tokens[] = {"a", "b", "<a>", "<b", "b>", "aab", "ab", "aaaa", "<ab>", "ba", "bb", "<"};
static const int32_t types[] = {NORMAL,  NORMAL, CONTROL, USER, USER,    USER,
                                CONTROL, USER,   CONTROL, USER, UNKNOWN, NORMAL};

typedef struct fixture {
    st_gguf *gguf;
    st_buf file;
    st_vocab vocab;
    st_special special;
} fixture;

static void fixture_make(fixture *f) {
    toy t = {0};
    stretto_error err = {0};
    memset(f, 0, sizeof *f);
    toy_strings(&t, "tokenizer.ggml.tokens", tokens, LENGTH(tokens));
    toy_types(&t, types, LENGTH(types));
    put_header(&f->file, 3, 0, t.n_values);
    st_buf_add(&f->file, t.values.data, t.values.len);
    st_buf_free(&t.values);
    if (st_gguf_parse(&f->gguf, f->file.data, f->file.len, "toy.gguf", NULL, &err)) fail_msg("%s", err.text);
    if (st_vocab_create(&f->vocab, f->gguf, NULL, &err)) fail_msg("%s", err.text);
    if (st_special_create(&f->special, &f->vocab, &err)) fail_msg("%s", err.text);
}

static void fixture_free(fixture *f) {
    st_special_free(&f->special);
    st_vocab_free(&f->vocab);
    st_gguf_close(f->gguf);
    st_buf_free(&f->file);
}

static bool is_special(size_t id, bool parse_special) {
    return types[id] == USER || (parse_special && (types[id] == CONTROL || types[id] == UNKNOWN));
}

/* By the definition: for each length from the longest, the leftmost free place of any token of that length, again and
 * again. owner[i] is the token that byte i belongs to, or -1; first[i] says where one starts. */
static void split_plainly(const char *text, size_t n, bool parse_special, int *owner, bool *first) {
    for (size_t i = 0; i < n; i++) {
        owner[i] = -1;
        first[i] = false;
    }
    for (size_t len = 8; len > 0; len--)
        for (size_t at = 0; at + len <= n; at++)
            for (size_t id = 0; id < LENGTH(tokens); id++) {
                bool free = strlen(tokens[id]) == len && is_special(id, parse_special) &&
                            memcmp(text + at, tokens[id], len) == 0;
                for (size_t i = at; i < at + len; i++) free = free && owner[i] < 0;
                if (!free) continue;
                for (size_t i = at; i < at + len; i++) owner[i] = (int)id;
                first[at] = true;
            }
}

static void check_split(const fixture *f, const char *text, size_t n, bool parse_special) {
    int owner[64];
    bool first[64];
    st_piece *pieces = NULL;
    size_t n_pieces = 0, end = 0;
    stretto_error err = {0};
    assert_int_equal(st_special_split(&f->special, text, n, parse_special, &pieces, &n_pieces, &err), 0);
    split_plainly(text, n, parse_special, owner, first);
    for (size_t i = 0; i < n_pieces; i++) {
        assert_int_equal(pieces[i].start, end);
        assert_true(pieces[i].len > 0);
        if (pieces[i].id >= 0) assert_true(first[end]);
        for (size_t k = end; k < end + pieces[i].len; k++) {
            assert_int_equal(owner[k], pieces[i].id);
            if (k > end) assert_false(first[k]);
        }
        end += pieces[i].len;
    }
    assert_int_equal(end, n);
    free(pieces);
}

static void splits_as_defined(void **state) {
    (void)state;
    fixture f;
    st_rng rng;
    fixture_make(&f);
    st_rng_seed(&rng, 5);
    for (int round = 0; round < 20000; round++) {
        char text[40];
        size_t n = st_rng_below(&rng, sizeof text);
        for (size_t i = 0; i < n; i++) text[i] = "ab<> "[st_rng_below(&rng, 5)];
        check_split(&f, text, n, round % 2);
    }
    fixture_free(&f);
}

static void longer_tokens_win_over_those_before_them(void **state) {
    (void)state;
    fixture f;
    st_piece *pieces = NULL;
    size_t n = 0;
    stretto_error err = {0};
    fixture_make(&f);
    assert_int_equal(st_special_split(&f.special, "<b>aaaaab", 9, false, &pieces, &n, &err), 0);
    const int32_t wanted[] = {3, -1, 7, -1}; /* "<b" ">" "aaaa" "ab", which is a control token and so text here */
    assert_int_equal(n, LENGTH(wanted));
    for (size_t i = 0; i < n; i++) assert_int_equal(pieces[i].id, wanted[i]);
    free(pieces);
    fixture_free(&f);
}

/* A million places where tokens start cost no more than the places times the longest token. */
static void many_places_are_no_trouble(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    fixture_make(&f);
    size_t n = 1000000, n_pieces = 0;
    st_piece *pieces = NULL;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    assert_int_equal(st_special_split(&f.special, text, n, true, &pieces, &n_pieces, &err), 0);
    assert_int_equal(n_pieces, n / 4);
    free(pieces);
    free(text);
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_as_defined),
        cmocka_unit_test(longer_tokens_win_over_those_before_them),
        cmocka_unit_test(many_places_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
