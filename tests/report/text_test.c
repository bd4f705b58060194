/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void figures_are_three(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.9241, "0.924"},   {1.8149, "1.81"}, {41, "41.0"},      {123.4, "123"}, {1234, "1230"},  {56789, "56800"},
        {0.01234, "0.0123"}, {0.1, "0.100"},   {9.996, "10.0"},   {99.96, "100"}, {999.6, "1000"}, {0.99951, "1.00"},
        {0.09996, "0.100"},  {0, "0.00"},      {-1.234, "-1.23"}, {1, "1.00"},    {10, "10.0"},    {100, "100"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_figure figure;
        assert_string_equal(st_figure_of(figure, cases[i].value), cases[i].text);
    }
    st_figure ms;
    assert_string_equal(st_figure_ms(ms, 5120000), "5.12");
    assert_string_equal(st_figure_ratio(ms, -0.001), "0.00");
    assert_string_equal(st_figure_ratio(ms, 9.994), "9.99");
    assert_string_equal(st_figure_ratio(ms, -14.27), "-14.3");
    assert_string_equal(st_figure_ratio(ms, 1234.5), "1234");
    assert_true(st_hundredths(-0.004) == 0 && st_hundredths(-0.006) == -0.006);
}

static void lines_break_at_spaces(void **state) {
    (void)state;
    st_buf out = {0};
    st_text_wrap(&out, "one two three  four \xc3\xbc\xc3\xbc\xc3\xbc five", 4, 2, 12);
    assert_string_equal(out.data, "one two\n  three four\n  \xc3\xbc\xc3\xbc\xc3\xbc five");
    st_buf_free(&out);
    st_text_wrap(&out, "averyveryverylongword x", 0, 0, 10); /* a word is never cut */
    assert_string_equal(out.data, "averyveryverylongword\nx");
    st_buf_free(&out);
}

static void names_are_no_markup(void **state) {
    (void)state;
    st_buf out = {0};
    st_text_markdown(&out, "<img src=x> [a](b) *c* _d_ e_f `g` \\ &lt; 1 || 3, Q4_1");
    assert_string_equal(out.data, "\\<img src=x> \\[a](b) \\*c\\* \\_d\\_ e_f \\`g\\` \\\\ \\&lt; 1 || 3, Q4_1");
    st_buf_free(&out);
    st_text_cell(&out, "a|<b");
    assert_string_equal(out.data, "a\\|\\<b");
    st_buf_free(&out);
    st_text_code(&out, "a.json");
    st_text_code(&out, "`a``b");
    assert_string_equal(out.data, "`a.json```` `a``b ```");
    st_buf_free(&out);
}

static void commands_can_be_pasted_into_a_shell(void **state) {
    (void)state;
    st_buf out = {0};
    char *argv[] = {"stretto", "probe", "--pairs", "1,3 2,4", "-p", "it's", ""};
    st_text_command(&out, 7, argv);
    assert_string_equal(out.data, "stretto probe --pairs '1,3 2,4' -p 'it'\\''s' ''");
    st_buf_free(&out);
}

static void a_host_is_told_in_a_line(void **state) {
    (void)state;
    st_buf out = {0};
    st_text_host(&out, &(st_host){.n_cores = 2, .isa = "AVX2", .quota_cpus = 1.5}, 0.1);
    assert_string_equal(out.data, "2 cores, AVX2, quota 1.5 CPUs; quiet");
    st_buf_free(&out);
    st_text_host(&out, &(st_host){.n_cores = 2, .isa = "AVX2"}, 1.5);
    assert_string_equal(out.data, "2 cores, AVX2; busy (other programs use 1.50 CPUs)");
    st_buf_free(&out);
    st_text_host(&out, &(st_host){.n_cores = 1, .isa = "scalar"}, -1);
    assert_string_equal(out.data, "1 core, scalar");
    st_buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_three),        cmocka_unit_test(lines_break_at_spaces),
        cmocka_unit_test(names_are_no_markup),      cmocka_unit_test(commands_can_be_pasted_into_a_shell),
        cmocka_unit_test(a_host_is_told_in_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
