/* SPDX-License-Identifier: MIT
 * Break-evens against closed forms. */
#include "plan/break_even.h"
#include "support.h"

static st_break_even_result ask(const st_costs *costs, enum st_use use, uint32_t streams, uint32_t joined) {
    st_break_even_question question = {.x = 0, .y = 1, .joined = joined, .streams = streams};
    st_break_even_result out;
    stretto_error err = {0};
    if (st_break_even(&out, costs, &question, use, &err)) fail_msg("%s", err.text);
    assert_true(out.reason[0] != '\0');
    return out;
}

static void one_stream_is_impossible(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){1, 1, 1, 1, 1, 1, 1, 1});
    st_break_even_result r = ask(&costs, ST_USE_ONE_STREAM, 0, ST_COST_NONE);
    assert_int_equal(r.answer, ST_BREAK_EVEN_IMPOSSIBLE);
    assert_string_equal(r.reason, "token, 1, 2, 3, 4, token is a chain, nothing can run beside it");
    st_costs_free(&costs);
}

/* Each of two equal units does a token in 2T; the joined one in J. Both together do two tokens in s 2T, so they win
 * when s 2T < 2J, that is when 2 - f < J / T: at J = 1.5 T, f = 0.5. */
static void streams_break_even_where_the_rates_are_equal(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 3, (double[]){1000, 1000, 750, 1000, 1000, 750});
    st_break_even_result r = ask(&costs, ST_USE_STREAMS, 4, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_AT);
    assert_float_equal(r.overlap, 0.5, 0.02);
    st_costs_free(&costs);
    table_make(&costs, 2, 3, (double[]){1000, 1000, 490, 1000, 1000, 490});
    r = ask(&costs, ST_USE_STREAMS, 4, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_NEVER);
    assert_non_null(strstr(r.reason, "even with perfect overlap"));
    assert_non_null(strstr(r.reason, "would be 2 % slower"));
    r = ask(&costs, ST_USE_STREAMS, 4, ST_COST_NONE); /* against one of the two alone any overlap pays */
    assert_int_equal(r.answer, ST_BREAK_EVEN_AT);
    assert_float_equal(r.overlap, 0, 0.02);
    st_costs_free(&costs);
}

/* A difference that would be shown as 0 % is one all the same. */
static void a_small_difference_is_not_told_as_none(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 3, (double[]){1000, 1000, 499, 1000, 1000, 499});
    st_break_even_result r = ask(&costs, ST_USE_STREAMS, 4, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_NEVER);
    assert_non_null(strstr(r.reason, "would be less than 1 % slower"));
    st_costs_free(&costs);
}

/* One call of four costs little more than one of one: two units cannot make up for it unless they batch, too. */
static void batching_moves_the_break_even(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 3, (double[]){1000, 1000, 500, 1000, 1000, 500});
    for (uint32_t c = 0; c < 2; c++) st_cost_curve_add(st_costs_curve(&costs, c, 2, ST_WORK_DECODE), 4, 520);
    st_break_even_result r = ask(&costs, ST_USE_STREAMS, 4, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_NEVER);
    st_costs_free(&costs);
}

/* A pipeline of two equal stages reads n micro-batches in (n + 1) steps, slowed by s while both work. */
static void a_prompt_breaks_even_later_than_streams(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 3, (double[]){100, 100, 75, 100, 100, 75});
    st_break_even_result r = ask(&costs, ST_USE_PREFILL, 0, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_AT);
    /* 32 micro-batches of 16: one step alone, 31 slowed by s, one alone: 2 + 31 s = 32 * 1.5 / 1 */
    assert_float_equal(r.overlap, 2.0f - (32 * 1.5f - 2) / 31, 0.02);
    st_costs_free(&costs);
}

static void what_is_not_known_is_said(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err;
    table_make(&costs, 2, 3, (double[]){1000, 1000, 750, 1000, 1000, 750});
    for (unsigned u = 0; u < 3; u++) *st_costs_curve(&costs, 1, u, ST_WORK_DECODE) = (st_cost_curve){0};
    st_break_even_result r = ask(&costs, ST_USE_STREAMS, 4, 2);
    assert_int_equal(r.answer, ST_BREAK_EVEN_UNKNOWN);
    assert_non_null(strstr(r.reason, "no cost is known of chunk 2"));
    st_break_even_question question = {.x = 0, .y = 0, .joined = 2};
    assert_int_equal(st_break_even(&r, &costs, &question, ST_USE_STREAMS, &err), STRETTO_E_USAGE);
    st_costs_free(&costs);
}

static void a_difference_never_rounds_to_nothing(void **state) {
    (void)state;
    char text[ST_PERCENT_TEXT];
    assert_string_equal(st_percent_text(text, 0.0004), "less than 1 %");
    assert_string_equal(st_percent_text(text, 0.006), "1 %");
    assert_string_equal(st_percent_text(text, 0.123), "12 %");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_is_impossible),
        cmocka_unit_test(streams_break_even_where_the_rates_are_equal),
        cmocka_unit_test(a_small_difference_is_not_told_as_none),
        cmocka_unit_test(batching_moves_the_break_even),
        cmocka_unit_test(a_prompt_breaks_even_later_than_streams),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(a_difference_never_rounds_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
