/* SPDX-License-Identifier: MIT */
#include "json/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void any_bytes_become_valid_text(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"gr\xc3\xbc\xc3\x9f \xe6\xad\xa6 \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe6\xad\xa6 \xf0\x9f\x98\x80"},
        {"cut \xe6\xad", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                   /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                   /* surrogate */
        {"\xf5\x80\x80\x80x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"}, /* past U+10FFFF */
        {"\xf0\x9f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = st_json_text(cases[i].bytes);
        assert_string_equal(json_string_value(value), cases[i].text);
        json_decref(value);
    }
}

static void numbers_without_a_word_in_json(void **state) {
    (void)state;
    json_t *list = json_array();
    st_json_append(&list, st_json_real(NAN));
    st_json_append(&list, st_json_real(INFINITY));
    st_json_append(&list, st_json_real(0.25));
    st_json_append(&list, st_json_count(UINT64_MAX));
    st_buf out = {0};
    st_json_write(&out, list, true);
    assert_false(out.failed);
    assert_string_equal(out.data, "[null,null,0.25,9223372036854775807]\n");
    st_buf_free(&out);
}

static void a_failure_spreads_upward(void **state) {
    (void)state;
    json_t *object = json_object(), *list = json_array();
    st_json_set(&object, "fine", json_true());
    st_json_append(&list, NULL); /* a value that could not be made */
    assert_null(list);
    st_json_append(&list, json_true());
    assert_null(list);
    st_json_set(&object, "list", list);
    assert_null(object);
    st_buf out = {0};
    st_json_write(&out, object, false);
    assert_true(out.failed);
    st_buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_become_valid_text),
        cmocka_unit_test(numbers_without_a_word_in_json),
        cmocka_unit_test(a_failure_spreads_upward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
