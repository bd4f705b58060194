/* SPDX-License-Identifier: MIT
 * Which calls of a plan's table there is time for. */
#include "plan_points.h"

#include "support/fixture.h"

static plan_points points_of(uint32_t streams, uint32_t prompt, double one_ns, unsigned n_lanes) {
    plan_points points;
    plan_points_choose(&points, &(st_workload){streams, prompt, 64}, prompt < 256 ? prompt : 256, 64);
    /* each further row and token takes as long as the first */
    plan_sizes sizes = {.one_ns = one_ns, .rows = 4, .rows_ns = 4 * one_ns, .tokens = 16, .tokens_ns = 16 * one_ns};
    for (unsigned i = 0; i < n_lanes; i++) plan_points_expect(&points, &sizes);
    return points;
}

static const plan_point *point_of(const plan_points *points, enum st_work work, uint32_t tokens) {
    for (uint32_t p = 0; p < points->n; p++)
        if (points->list[p].work == work && points->list[p].tokens == tokens) return &points->list[p];
    fail_msg("no point of %u tokens", tokens);
    return NULL;
}

static void what_there_is_time_for_is_measured(void **state) {
    (void)state;
    char text[256];
    plan_points points = points_of(256, 100000, 1e6, 2); /* decoding 1, 1, 2, 4, 8, 64, prompts 16, 64, 256: of 1 ms */
    /* decoding four times: once to find what other calls left */
    const double all = 2e6 * (4 * (1 + 1 + 2 + 4 + 8 + 64) + 2 * 16 + 64 + 256);
    assert_float_equal(plan_points_fit(&points, all + 1), all, 1);
    plan_points_text(&points, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(plan_points_most(&points, ST_WORK_DECODE, 1e9), 64);
    assert_int_equal(plan_points_most(&points, ST_WORK_PREFILL, 1e9), 256);
}

static void the_longest_are_left_out_first(void **state) {
    (void)state;
    char text[256];
    plan_points points = points_of(256, 100000, 1e8, 2);
    /* 25.6 and 6.4 s a call: once each; then 8 rows, 16 and 64 tokens are left */
    double turn = plan_points_fit(&points, 2e8 * (4 * (1 + 1 + 2 + 4 + 8) + 16 + 1));
    assert_float_equal(turn, 2e8 * (4 * (1 + 1 + 2 + 4 + 8) + 16), 10);
    assert_true(point_of(&points, ST_WORK_PREFILL, 256)->left_out);
    assert_true(point_of(&points, ST_WORK_PREFILL, 64)->left_out);
    assert_true(point_of(&points, ST_WORK_DECODE, 64)->left_out);
    assert_false(point_of(&points, ST_WORK_DECODE, 8)->left_out);
    assert_int_equal(plan_points_most(&points, ST_WORK_DECODE, 1e12), 64);
    assert_int_equal(plan_points_most(&points, ST_WORK_DECODE, 5.5e8), 5); /* 8 would take 0.8 s a lane */
    assert_int_equal(plan_points_most(&points, ST_WORK_PREFILL, 5.5e8), 5);
    assert_int_equal(plan_points_most(&points, ST_WORK_PREFILL, 32.5e8), 32);
    assert_int_equal(plan_points_most(&points, ST_WORK_PREFILL, 5e7), 1);
    plan_points_text(&points, text, sizeof text);
    assert_non_null(
        strstr(text, "calls of fewer: 256 tokens of prompts (26 s), 64 tokens of prompts (6.4 s), 64 rows (6.4 s)"));
}

/* Calls of minutes in seconds, and a text that is too long ends between two characters of it. */
static void long_calls_are_told_in_seconds(void **state) {
    (void)state;
    char text[64];
    plan_points points = points_of(256, 100000, 2e9, 1);
    plan_points_fit(&points, 1);
    plan_points_text(&points, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
    char all[512];
    plan_points_text(&points, all, sizeof all);
    assert_non_null(strstr(all, "256 tokens of prompts (512 s)"));
    assert_memory_equal(text, all, sizeof text - 1);
}

static void the_least_of_each_kind_stay(void **state) {
    (void)state;
    plan_points points = points_of(4, 100000, 1e12, 1);
    plan_points_fit(&points, 1);
    for (uint32_t p = 0; p < points.n; p++) {
        const plan_point *point = &points.list[p];
        bool least = point->tokens == 1 || (!point->decodes && point->tokens == 16);
        assert_int_equal(point->left_out, !least);
        assert_int_equal(plan_point_calls(&points, p), least);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_there_is_time_for_is_measured), cmocka_unit_test(the_longest_are_left_out_first),
        cmocka_unit_test(long_calls_are_told_in_seconds), cmocka_unit_test(the_least_of_each_kind_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
