/* SPDX-License-Identifier: MIT */
#include "gguf/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_readable_types(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        const char *name;
        uint32_t len, bytes;
    } wanted[] = {
        {0, "F32", 1, 4},       {1, "F16", 1, 2},       {30, "BF16", 1, 2},       {8, "Q8_0", 32, 34},
        {2, "Q4_0", 32, 18},    {3, "Q4_1", 32, 20},    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
        {10, "Q2_K", 256, 84},  {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
        {14, "Q6_K", 256, 210}, {20, "IQ4_NL", 32, 18}, {23, "IQ4_XS", 256, 136},
    };
    size_t n = 0;
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) n += st_type_find(type) && st_type_find(type)->readable;
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < n; i++) {
        const st_type_info *info = st_type_find(wanted[i].type);
        assert_string_equal(info->name, wanted[i].name);
        assert_int_equal(info->block_len, wanted[i].len);
        assert_int_equal(info->block_bytes, wanted[i].bytes);
        assert_true(info->readable);
    }
}

static void test_known_types(void **state) {
    (void)state;
    for (uint32_t type = 0; type <= 41; type++) {
        const st_type_info *info = st_type_find(type);
        assert_non_null(info);
        assert_true(info->block_len > 0 && info->block_bytes > 0);
        assert_int_equal(st_type_by_name(info->name), type);
    }
    assert_string_equal(st_type_find(16)->name, "IQ2_XXS");
    assert_string_equal(st_type_find(34)->name, "TQ1_0");
    assert_string_equal(st_type_find(39)->name, "MXFP4");
}

static void test_unknown_types(void **state) {
    (void)state;
    assert_null(st_type_find(42));
    assert_null(st_type_find(ST_TYPE_COUNT));
    assert_null(st_type_find(UINT32_MAX));
}

static void test_names(void **state) {
    (void)state;
    assert_int_equal(st_type_by_name("q4_k"), ST_Q4_K);
    assert_int_equal(st_type_by_name("iq4_nl"), ST_IQ4_NL);
    assert_int_equal(st_type_by_name("bf16"), ST_BF16);
    assert_int_equal(st_type_by_name("Q4"), -1);
    assert_int_equal(st_type_by_name(""), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readable_types),
        cmocka_unit_test(test_known_types),
        cmocka_unit_test(test_unknown_types),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
