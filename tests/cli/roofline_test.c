/* SPDX-License-Identifier: MIT
 * Rows of a roofline that something else on the machine has spoilt are told of. */
#include "roofline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hear(void *arg, enum st_log_level level, const char *text) {
    assert_int_equal(level, ST_LOG_WARN);
    snprintf(arg, 400, "%s", text);
}

static void slow_plain_steps_are_warned_of(void **state) {
    (void)state;
    roof_row rows[] = {
        {.kind = "peak", .rate = 30},
        {.kind = "kernel", .rate = 20, .share = 0.9, .plain_rate = 22, .plain_peak = 30},
        {.kind = "part", .rate = 19, .share = 11.2, .plain_rate = 1.3, .plain_peak = 30},
        {.kind = "test", .rate = 15, .share = 0.5},
    };
    char heard[400] = "";
    const st_log log = {.fn = hear, .arg = heard};
    roofline roof = {.rows = rows, .n = 4};
    size_t compared = 0;
    assert_int_equal(roofline_disturbed(&roof, &compared), 1);
    assert_int_equal(compared, 2);
    roofline_warn(&roof, &log);
    assert_non_null(strstr(heard, "1 of 2 "));
    heard[0] = '\0';
    rows[2].plain_rate = 16;
    assert_int_equal(roofline_disturbed(&roof, &compared), 0);
    roofline_warn(&roof, &log);
    assert_string_equal(heard, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_plain_steps_are_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
