/* SPDX-License-Identifier: MIT
 * The choice of a kernel table and what packing refuses. What kernels compute is checked by checkkern. */
#include "kern/kern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void best_is_last_of_the_list(void **state) {
    (void)state;
    const st_kern *tables[8], *best;
    const size_t n = st_kern_list(tables, 8);
    assert_true(n >= 1);
    assert_string_equal(tables[0]->name, "scalar");
    assert_int_equal(st_kern_select(&best, NULL, NULL), STRETTO_OK);
    assert_ptr_equal(best, tables[n - 1]);
    assert_int_equal(st_kern_select(&best, "", NULL), STRETTO_OK);
    assert_ptr_equal(best, tables[n - 1]);
    assert_int_equal(st_kern_list(tables, 1), 1);
}

static void every_table_by_its_name(void **state) {
    (void)state;
    const st_kern *tables[8], *found;
    const size_t n = st_kern_list(tables, 8);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(st_kern_select(&found, tables[i]->name, NULL), STRETTO_OK);
        assert_ptr_equal(found, tables[i]);
    }
    assert_int_equal(st_kern_select(&found, "SCALAR", NULL), STRETTO_OK);
    assert_ptr_equal(found, tables[0]);
}

static void unknown_name_lists_the_known(void **state) {
    (void)state;
    const st_kern *found;
    stretto_error err;
    assert_int_equal(st_kern_select(&found, "mmx", &err), STRETTO_E_USAGE);
    assert_null(found);
    assert_non_null(strstr(err.text, "\"mmx\""));
    assert_non_null(strstr(err.text, "scalar"));
}

/* Where a table of this build cannot run, it says what it needs. */
static void refused_table_says_what_it_needs(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const char *const names[] = {"avxvnni", "avx512"};
    for (size_t i = 0; i < 2; i++) {
        const st_kern *found;
        stretto_error err;
        if (st_kern_select(&found, names[i], &err) == STRETTO_OK)
            assert_string_equal(found->name, names[i]);
        else
            assert_non_null(strstr(err.text, "VNNI"));
    }
#else
    skip();
#endif
}

static void every_table_covers_every_readable_type(void **state) {
    (void)state;
    const st_kern *tables[8];
    const size_t n = st_kern_list(tables, 8);
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_type_info *info = st_type_find(type);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(tables[i]->formats[type] != NULL, info && info->readable);
            assert_int_equal(tables[i]->matmul[type] != NULL, tables[i]->formats[type] != NULL);
            assert_ptr_equal(tables[i]->formats[type], tables[0]->formats[type]);
        }
    }
}

static void broken_rows_have_no_strip(void **state) {
    (void)state;
    const st_kern *kern;
    assert_int_equal(st_kern_select(&kern, "scalar", NULL), STRETTO_OK);
    assert_int_equal(st_strip_bytes(kern->formats[ST_Q4_K], 128), 0);
    assert_int_equal(st_strip_bytes(kern->formats[ST_F32], 0), 0);
    assert_int_equal(st_strip_bytes(kern->formats[ST_Q8_0], 32) % 64, 0);
}

typedef struct heard {
    unsigned n;
    char text[256];
} heard;

static void hear(void *arg, enum st_log_level level, const char *text) {
    heard *h = arg;
    assert_int_equal(level, ST_LOG_WARN);
    snprintf(h->text, sizeof h->text, "%s", text);
    h->n++;
}

static void slow_tables_say_so(void **state) {
    (void)state;
    const st_kern *tables[8];
    const size_t n = st_kern_list(tables, 8);
    for (size_t i = 0; i < n; i++) {
        const bool slow = strcmp(tables[i]->name, "scalar") == 0 || strcmp(tables[i]->name, "neon") == 0;
        heard h = {0};
        st_kern_warn_slow(tables[i], &(st_log){hear, &h});
        assert_int_equal(h.n, slow);
        if (!slow) continue;
        assert_non_null(strstr(h.text, tables[i]->name));
        assert_non_null(strstr(h.text, i + 1 < n ? tables[n - 1]->name : "has no"));
    }
    st_kern_warn_slow(tables[0], NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_last_of_the_list),
        cmocka_unit_test(every_table_by_its_name),
        cmocka_unit_test(unknown_name_lists_the_known),
        cmocka_unit_test(refused_table_says_what_it_needs),
        cmocka_unit_test(every_table_covers_every_readable_type),
        cmocka_unit_test(broken_rows_have_no_strip),
        cmocka_unit_test(slow_tables_say_so),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
