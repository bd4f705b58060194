/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void keeps_code_and_reason(void **state) {
    (void)state;
    stretto_error err = {0};
    assert_int_equal(st_fail(&err, STRETTO_E_INPUT, "key %s at %d", "a.b", 7), STRETTO_E_INPUT);
    assert_int_equal(err.code, STRETTO_E_INPUT);
    assert_string_equal(err.text, "key a.b at 7");
    assert_int_equal(st_fail_prefix(&err, "m.gguf"), STRETTO_E_INPUT);
    assert_string_equal(err.text, "m.gguf: key a.b at 7");
    assert_int_equal(st_fail_memory(&err, "KV", 12), STRETTO_E_MEMORY);
    assert_non_null(strstr(err.text, "KV"));
    assert_non_null(strstr(err.text, "12 bytes"));
}

static void needs_no_error_to_fill(void **state) {
    (void)state;
    assert_int_equal(st_fail(NULL, STRETTO_E_IO, "x"), STRETTO_E_IO);
}

static void may_quote_itself(void **state) {
    (void)state;
    stretto_error err = {0};
    st_fail(&err, STRETTO_E_IO, "inner");
    st_fail(&err, STRETTO_E_UNIT, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

static void cuts_what_is_too_long(void **state) {
    (void)state;
    struct {
        stretto_error err;
        char after[8];
    } box = {.after = "after"};
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    st_fail(&box.err, STRETTO_E_INPUT, "%s", text);
    assert_int_equal(strlen(box.err.text), sizeof box.err.text - 1);
    assert_string_equal(box.after, "after");
}

/* A character that straddles the end is dropped whole, wherever it starts. */
static void cuts_between_characters(void **state) {
    (void)state;
    const char *const letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (int l = 0; l < 3; l++)
        for (size_t shift = 0; shift < 4; shift++) {
            char text[1200] = "";
            memset(text, 'a', shift);
            while (strlen(text) < 700) strcat(text, letters[l]);
            stretto_error err;
            st_fail(&err, STRETTO_E_INPUT, "%s", text);
            size_t len = strlen(err.text), size = strlen(letters[l]);
            assert_int_equal((len - shift) % size, 0);
            assert_true(len > sizeof err.text - 1 - size);
            assert_memory_equal(err.text, text, len);
        }
}

static void has_no_control_bytes(void **state) {
    (void)state;
    stretto_error err;
    st_fail(&err, STRETTO_E_INPUT, "tensor %s",
            "a\x1b[2J\nb\x7f"
            "c\xc3\xa9\xc2\x9b");
    assert_string_equal(err.text, "tensor a?[2J?b?c\xc3\xa9??");
}

static void remember(void *arg, enum st_log_level level, const char *text) {
    assert_int_equal(level, ST_LOG_WARN);
    strcpy(arg, text);
}

static void log_goes_to_its_sink(void **state) {
    (void)state;
    char got[2048] = "";
    const st_log log = {.fn = remember, .arg = got};
    st_warn(&log, "%u threads asked", 8u);
    assert_string_equal(got, "8 threads asked");
    char text[1500];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    st_warn(&log, "%s", text);
    assert_int_equal(strlen(got), 1023);
    memcpy(text + 1022, "\xc3\xa9", 2);
    st_warn(&log, "%s", text);
    assert_int_equal(strlen(got), 1022);
    st_warn(NULL, "nobody");
    st_warn(&(st_log){0}, "nobody");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_code_and_reason),   cmocka_unit_test(needs_no_error_to_fill),
        cmocka_unit_test(may_quote_itself),        cmocka_unit_test(cuts_what_is_too_long),
        cmocka_unit_test(cuts_between_characters), cmocka_unit_test(has_no_control_bytes),
        cmocka_unit_test(log_goes_to_its_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
