/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The length by decoding to a code point and encoding again, which is plainly right. */
static unsigned reference_length(const unsigned char *s, size_t n) {
    unsigned want = s[0] < 0x80             ? 1
                    : (s[0] & 0xe0) == 0xc0 ? 2
                    : (s[0] & 0xf0) == 0xe0 ? 3
                    : (s[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    if (want == 0 || want > n) return 0;
    uint32_t c = want == 1 ? s[0] : s[0] & (0x7fu >> want);
    for (unsigned i = 1; i < want; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool valid = c >= least[want] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
    return valid ? want : 0;
}

static void lengths_agree_with_the_definition(void **state) {
    (void)state;
    for (uint32_t lead = 0; lead < 0x10000; lead++) {
        static const unsigned char ends[] = {0x00, 0x7f, 0x80, 0xa5, 0xbf, 0xc0};
        for (size_t i = 0; i < sizeof ends * sizeof ends; i++) {
            unsigned char s[4] = {(unsigned char)(lead >> 8), (unsigned char)lead, ends[i % 6], ends[i / 6]};
            for (size_t n = 1; n <= 4; n++) {
                unsigned wanted = reference_length(s, n);
                if (st_utf8_length((const char *)s, n) != wanted)
                    fail_msg("%02x %02x %02x %02x, %zu bytes", s[0], s[1], s[2], s[3], n);
            }
        }
    }
}

static void a_beginning_is_no_character_yet(void **state) {
    (void)state;
    assert_true(st_utf8_is_beginning("\xc3", 1));
    assert_true(st_utf8_is_beginning("\xf0\x9f\x98", 3));
    assert_false(st_utf8_is_beginning("a", 1));
    assert_false(st_utf8_is_beginning("\xc3\xa9", 2));
    assert_false(st_utf8_is_beginning("\xed\xa0", 2)); /* of a surrogate */
    assert_false(st_utf8_is_beginning("\x80", 1));
}

static void what_is_no_character_is_replaced(void **state) {
    (void)state;
    st_buf out = {0};
    st_utf8_clean(&out, "");
    assert_int_equal(out.len, 0);
    st_utf8_clean(&out, "a\xc3\xa9\xff\xe6\xadz\xf0\x9f");
    assert_string_equal(out.data, "a\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd");
    st_buf_free(&out);
}

static void control_characters_are_known_and_tamed(void **state) {
    (void)state;
    char text[] = "a\x1b[1m\x7f\xc2\x9b\xc2\xa0\xc3\x9b\x9b\n\xc2";
    assert_int_equal(st_utf8_control("\x1b", 1), 1);
    assert_int_equal(st_utf8_control("\xc2\x9b"
                                     "1",
                                     3),
                     2); /* as good as ESC [ */
    assert_int_equal(st_utf8_control("\xc2\xa0", 2), 0);
    assert_int_equal(st_utf8_control("\xc2", 1), 0);
    assert_int_equal(st_utf8_control("a", 1), 0);
    st_utf8_tame(text);
    assert_string_equal(text, "a?[1m???\xc2\xa0\xc3\x9b\x9b?\xc2");
}

/* "é" is two bytes, "€" three, the face four. */
static void texts_are_cut_between_characters(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t most, shown;
    } cases[] = {
        {"abc", 2, 2},
        {"abc", 3, 3},
        {"abc", 9, 3},
        {"", 3, 0},
        {"a\xc3\xa9", 2, 1},
        {"a\xc3\xa9", 3, 3},
        {"a\xc3\xa9z", 3, 3},
        {"a\xe2\x82\xacz", 3, 1},
        {"a\xe2\x82\xacz", 2, 1},
        {"\xf0\x9f\x98\x80z", 3, 0},
        {"\xf0\x9f\x98\x80z", 4, 4},
        {"a\xe9\xe9\xe9", 2, 2}, /* Latin-1: no characters to keep whole */
        {"a\xa9\xa9\xa9\xa9\xa9", 5, 5},
        {"\xe2\x82", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[16];
        assert_int_equal(st_utf8_cut(cases[i].text, strlen(cases[i].text), cases[i].most), cases[i].shown);
        snprintf(out, sizeof out, "%.*s", ST_CUT(cases[i].text, cases[i].most));
        assert_int_equal(strlen(out), cases[i].shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_agree_with_the_definition),      cmocka_unit_test(a_beginning_is_no_character_yet),
        cmocka_unit_test(what_is_no_character_is_replaced),       cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(control_characters_are_known_and_tamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
