/* SPDX-License-Identifier: MIT */
#include "gguf/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_numbers(void **state) {
    (void)state;
    assert_string_equal(ST_NUMBER(0), "0");
    assert_string_equal(ST_NUMBER(999), "999");
    assert_string_equal(ST_NUMBER(1000), "1,000");
    assert_string_equal(ST_NUMBER(113246208), "113,246,208");
    assert_string_equal(ST_NUMBER(UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(ST_BYTES(0), "0 bytes");
    assert_string_equal(ST_BYTES(1), "1 byte");
    assert_string_equal(ST_BYTES(UINT64_MAX), "18,446,744,073,709,551,615 bytes");
}

static void test_names(void **state) {
    (void)state;
    char bytes[300];
    assert_string_equal(ST_NAME(((st_str){"blk.0.attn_q.weight", 19})), "blk.0.attn_q.weight");
    assert_string_equal(ST_NAME(((st_str){NULL, 0})), "");
    assert_string_equal(ST_NAME(((st_str){"a\0b\x7f", 4})), "a\\x00b\\x7f");
    for (int fill = 0; fill < 256; fill++) { /* any bytes of any length fit, and what does not is marked */
        memset(bytes, fill, sizeof bytes);
        for (size_t len = 0; len <= sizeof bytes; len++) {
            char out[ST_NAME_SIZE];
            size_t shown = strlen(st_printable(out, (st_str){bytes, len}));
            assert_true(shown < ST_NAME_SIZE);
            for (size_t i = 0; i < shown; i++) assert_true(out[i] >= 0x20 && out[i] < 0x7f);
            if (len > ST_NAME_SIZE) assert_string_equal(out + shown - 3, "...");
        }
    }
}

static void test_dims(void **state) {
    (void)state;
    uint64_t huge[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    assert_string_equal(ST_DIMS(((uint64_t[]){2560, 262144}), 2), "[2,560 x 262,144]");
    assert_string_equal(ST_DIMS(huge, 0), "[]");
    assert_string_equal(ST_DIMS(huge, 4),
                        "[18,446,744,073,709,551,615 x 18,446,744,073,709,551,615 x 18,446,744,073,709,551,615 x "
                        "18,446,744,073,709,551,615]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
