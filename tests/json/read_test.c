/* SPDX-License-Identifier: MIT
 * Reading JSON: the first failure stays, and says where, what was expected, and what was found. */
#include "json/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char document[] = "{\"n\": 2.5, \"i\": 7, \"yes\": true, \"text\": \"abc\", \"none\": null,"
                               " \"list\": [{\"kind\": \"staged\"}, {\"kind\": \"stagd\"}]}";
static const char *const kinds[] = {"serial", "staged", NULL};

typedef struct reading {
    st_json_in in;
    st_json_value top;
    stretto_error err;
} reading;

static void begin(reading *r, const char *text) {
    *r = (reading){0};
    r->top = st_json_begin(&r->in, text, strlen(text), &r->err);
}

static void values_within_limits_are_read(void **state) {
    (void)state;
    reading r;
    begin(&r, document);
    char text[4];
    assert_float_equal(st_json_number(&r.in, &r.top, "n", 0, 3), 2.5, 0);
    assert_float_equal(st_json_number(&r.in, &r.top, "i", 0, 10), 7, 0);
    assert_int_equal(st_json_integer(&r.in, &r.top, "i", 7, 7), 7);
    assert_true(st_json_bool(&r.in, &r.top, "yes"));
    st_json_string(&r.in, &r.top, "text", text, sizeof text);
    assert_string_equal(text, "abc");
    assert_false(st_json_has(&r.top, "none"));
    assert_null(st_json_maybe(&r.in, &r.top, "none", JSON_OBJECT).json);
    st_json_value list = st_json_list(&r.in, &r.top, "list");
    assert_int_equal(st_json_size(&r.in, &list, 2), 2);
    st_json_value item = st_json_item(&r.in, &list, 0, JSON_OBJECT);
    assert_int_equal(st_json_word(&r.in, &item, "kind", kinds), 1);
    assert_int_equal(st_json_end(&r.in), STRETTO_OK);
}

static void the_first_failure_stays(void **state) {
    (void)state;
    reading r;
    begin(&r, document);
    assert_float_equal(st_json_number(&r.in, &r.top, "n", 3, 4), 3, 0);
    assert_int_equal(st_json_integer(&r.in, &r.top, "i", 0, 9), 0); /* would be good, but nothing is read any more */
    st_json_value list = st_json_list(&r.in, &r.top, "list");
    assert_int_equal(st_json_size(&r.in, &list, 2), 0);
    assert_string_equal(r.err.text, "n: expected a number from 3 to 4, found 2.5");
    assert_int_equal(st_json_end(&r.in), STRETTO_E_INPUT);
}

/* 59 bytes of 60, and then two. */
static void a_long_key_is_cut_between_characters(void **state) {
    (void)state;
    char text[100], wanted[100];
    reading r;
    snprintf(text, sizeof text, "{\"%059d\xc3\xa9\": 1}", 0);
    snprintf(wanted, sizeof wanted, "unknown key \"%059d\"", 0);
    begin(&r, text);
    st_json_only(&r.in, &r.top, kinds);
    assert_string_equal(r.err.text, wanted);
    assert_int_equal(st_json_end(&r.in), STRETTO_E_INPUT);
}

static void a_failure_says_where(void **state) {
    (void)state;
    reading r;
    char text[3];
    begin(&r, document);
    st_json_value list = st_json_list(&r.in, &r.top, "list"), item = st_json_item(&r.in, &list, 1, JSON_OBJECT);
    st_json_word(&r.in, &item, "kind", kinds);
    assert_string_equal(r.err.text, "list[1].kind: no \"stagd\" is known; did you mean \"staged\"?");
    st_json_end(&r.in);
    begin(&r, document);
    st_json_string(&r.in, &r.top, "text", text, sizeof text);
    assert_string_equal(r.err.text, "text: expected a text of 1 to 2 bytes, found 3");
    st_json_end(&r.in);
    begin(&r, document);
    st_json_integer(&r.in, &r.top, "n", 0, 9);
    assert_string_equal(r.err.text, "n: expected an integer, found 2.5");
    st_json_end(&r.in);
    begin(&r, "{\"n\": 2e0}");
    st_json_integer(&r.in, &r.top, "n", 0, 9);
    assert_string_equal(r.err.text, "n: expected an integer, found 2.0");
    st_json_end(&r.in);
    begin(&r, document);
    st_json_object(&r.in, &r.top, "missing");
    assert_string_equal(r.err.text, "\"missing\" is missing: expected an object");
    st_json_end(&r.in);
    begin(&r, document);
    list = st_json_list(&r.in, &r.top, "list");
    st_json_size(&r.in, &list, 1);
    assert_string_equal(r.err.text, "list: expected at most 1 items, found 2");
    st_json_end(&r.in);
}

static void a_byte_order_mark_is_skipped(void **state) {
    (void)state;
    reading r;
    begin(&r, "\xef\xbb\xbf{\"n\": 3}");
    assert_int_equal(st_json_integer(&r.in, &r.top, "n", 0, 9), 3);
    assert_int_equal(st_json_end(&r.in), STRETTO_OK);
    begin(&r, "\xef\xbb\xbf");
    assert_string_equal(r.err.text, "empty; expected a JSON object");
    st_json_end(&r.in);
}

static void what_is_no_document_is_refused(void **state) {
    (void)state;
    reading r;
    begin(&r, "[1]");
    assert_string_equal(r.err.text, "expected a JSON object");
    st_json_end(&r.in);
    begin(&r, "{\"a\": 1, \"a\": 2}");
    assert_non_null(strstr(r.err.text, "duplicate"));
    assert_int_equal(st_json_end(&r.in), STRETTO_E_INPUT);
    begin(&r, " \n");
    assert_string_equal(r.err.text, "empty; expected a JSON object");
    assert_float_equal(st_json_number(&r.in, &r.top, "n", 1, 2), 1, 0); /* nothing to read, nothing happens */
    assert_int_equal(st_json_end(&r.in), STRETTO_E_INPUT);
}

static void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

/* That is no fault of the document. */
static void memory_that_is_out_is_told(void **state) {
    (void)state;
    reading r;
    json_malloc_t take;
    json_free_t give;
    json_get_alloc_funcs(&take, &give);
    json_set_alloc_funcs(no_memory, give);
    begin(&r, document);
    json_set_alloc_funcs(take, give);
    assert_int_equal(st_json_end(&r.in), STRETTO_E_MEMORY);
    assert_non_null(strstr(r.err.text, "out of memory: JSON"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_within_limits_are_read), cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(a_failure_says_where),          cmocka_unit_test(a_long_key_is_cut_between_characters),
        cmocka_unit_test(a_byte_order_mark_is_skipped),  cmocka_unit_test(what_is_no_document_is_refused),
        cmocka_unit_test(memory_that_is_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
