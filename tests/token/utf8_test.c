/* SPDX-License-Identifier: MIT
 * Whole characters only: white space and the stream. */
#include "token/utf8.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "token/toy.h"

static void spaces_are_found_at_both_ends(void **state) {
    (void)state;
    assert_int_equal(st_utf8_space_first(" a", 2), 1);
    assert_int_equal(st_utf8_space_first("a ", 2), 0);
    assert_int_equal(st_utf8_space_last("a ", 2), 1);
    assert_int_equal(st_utf8_space_last("a\xe3\x80\x80", 4), 3);
    assert_int_equal(st_utf8_space_first("\xc2\xa0", 2), 2);
    assert_int_equal(st_utf8_space_first("\xc2", 1), 0);
    assert_int_equal(st_utf8_space_first("\xe2\x80\x8b", 3), 0); /* U+200B is no white space */
}

static void expect_pushed(st_utf8_stream *stream, const char *bytes, size_t n, const char *wanted) {
    st_buf out = {0};
    st_utf8_push(stream, bytes, n, &out);
    assert_int_equal(out.len, strlen(wanted));
    if (out.len > 0) assert_memory_equal(out.data, wanted, out.len);
    st_buf_free(&out);
}

static void a_character_waits_until_it_is_whole(void **state) {
    (void)state;
    st_utf8_stream stream = {0};
    expect_pushed(&stream, "a\xf0\x9f", 3, "a");
    expect_pushed(&stream, "\x98", 1, "");
    expect_pushed(&stream,
                  "\x80"
                  "b",
                  2,
                  "\xf0\x9f\x98\x80"
                  "b");
    st_buf out = {0};
    st_utf8_finish(&stream, &out);
    assert_int_equal(out.len, 0);
    st_buf_free(&out);
}

#define FFFD "\xef\xbf\xbd"

/* Where input ends in the middle of a character, or goes on with something else, U+FFFD stands. */
static void what_cannot_become_a_character_is_replaced(void **state) {
    (void)state;
    st_utf8_stream stream = {0};
    expect_pushed(&stream, "\xe6\xad", 2, "");
    expect_pushed(&stream, "x", 1, FFFD "x");
    expect_pushed(&stream, "\xff\x80", 2, FFFD FFFD);
    expect_pushed(&stream, "\xed", 1, "");
    expect_pushed(&stream, "\xa0\x80", 2, FFFD FFFD FFFD); /* a surrogate */
    expect_pushed(&stream, "\xf0\x9f\xf0\x9f\x98\x80", 6, FFFD "\xf0\x9f\x98\x80");
    expect_pushed(&stream, "\xe6\xad", 2, "");
    st_buf out = {0};
    st_utf8_finish(&stream, &out);
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.data, FFFD, 3);
    st_buf_free(&out);
}

/* However bytes are cut into pushes, all of them come out in order, and each push ends between characters unless the
 * bytes are no characters. */
static void no_byte_is_lost_or_early(void **state) {
    (void)state;
    static const char *const parts[] = {"a", "\xc3\xa9", "\xe6\xad\xa3", "\xf0\x9f\x98\x80"};
    st_rng rng;
    st_rng_seed(&rng, 3);
    for (int round = 0; round < 500; round++) {
        st_buf text = {0}, out = {0};
        st_utf8_stream stream = {0};
        for (int i = 0; i < 20; i++) st_buf_text(&text, parts[st_rng_below(&rng, LENGTH(parts))]);
        for (size_t at = 0; at < text.len;) {
            size_t n = 1 + st_rng_below(&rng, 5);
            if (n > text.len - at) n = text.len - at;
            size_t before = out.len;
            st_utf8_push(&stream, text.data + at, n, &out);
            for (size_t i = before; i < out.len;) {
                unsigned len = st_utf8_length(out.data + i, out.len - i);
                assert_true(len > 0);
                i += len;
            }
            at += n;
        }
        assert_int_equal(stream.n_held, 0);
        assert_int_equal(out.len, text.len);
        assert_memory_equal(out.data, text.data, text.len);
        st_buf_free(&text);
        st_buf_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_are_found_at_both_ends),
        cmocka_unit_test(a_character_waits_until_it_is_whole),
        cmocka_unit_test(what_cannot_become_a_character_is_replaced),
        cmocka_unit_test(no_byte_is_lost_or_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
