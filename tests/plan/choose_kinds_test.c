/* SPDX-License-Identifier: MIT
 * Schedules of units that are unlike each other: on tables whose best schedule is known. */
#include "base/utf8.h"
#include "choosing.h"

/* The unit cannot run the chunk. */
static void forbid(const st_costs *costs, uint32_t chunk, uint32_t unit) {
    for (unsigned w = 0; w < ST_WORKS; w++) *st_costs_curve(costs, chunk, unit, w) = (st_cost_curve){0};
}

static uint32_t rows_beginning(const st_choice *choice, const char *title) {
    uint32_t n = 0;
    for (size_t i = 0; i < choice->n_rows; i++) n += strncmp(choice->rows[i].title, title, strlen(title)) == 0;
    return n;
}

/* A quick unit that lacks the last chunk runs the others: 3 * 50 + 100 a token, against 400. */
static void a_unit_that_cannot_run_all_runs_what_it_can(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){100, 50, 100, 50, 100, 50, 100, 50});
    forbid(&costs, 3, 1);
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_non_null(strstr(choice.rows[0].title, "placed on u1 (chunks 1-3) and u0 (4)"));
    assert_float_equal(choice.rows[0].score, 250, 1e-9);
    assert_non_null(strstr(row_named(&choice, "one thread on u1")->why, "chunk 4 on u1"));
    st_choice_free(&choice);
    forbid(&costs, 0, 1); /* no cut is left, but a chain there and back */
    choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_non_null(strstr(choice.rows[0].title, "placed on u0 (chunk 1), u1 (2-3) and u0 (4)"));
    assert_float_equal(choice.rows[0].score, 300, 1e-9);
    assert_non_null(strstr(row_named(&choice, "chunks on u0 and u1")->why, "one that it cannot run"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Chunks 1 and 3 are quick on u0, 2 and 4 on u1: 4 * 10, three ways of 5 each, against 200 on either; where the ways
 * take longer than they save, there is none of it. */
static void a_chain_goes_where_each_chunk_is_quick(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){10, 90, 90, 10, 10, 90, 90, 10});
    for (uint32_t i = 0; i < 4; i++) costs.transfers[i] = (st_cost_transfer){5, 0, 0};
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_non_null(strstr(choice.rows[0].title, "placed on u0 (chunk 1), u1 (2), u0 (3) and u1 (4)"));
    assert_float_equal(choice.rows[0].score, 55, 1e-9);
    assert_int_equal(rows_beginning(&choice, "placed on u0 (chunk 1), u1 (2), u0 (3) and u1 (4)"), 2);
    st_choice_free(&choice);
    for (uint32_t i = 0; i < 4; i++) costs.transfers[i].fixed_ns = 100;
    choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_int_equal(rows_beginning(&choice, "placed on u0 (chunk 1), u1 (2), u0"), 0);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* What costs differ in by a hundredth may be how well they are known. */
static void units_that_are_alike_make_no_chain(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){100, 99, 99, 100, 100, 99, 99, 100});
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_int_equal(rows_beginning(&choice, "placed on u1 (chunk 1), u0"), 0);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Calls of four cost what calls of one do: 50 * 3 + 100 for four tokens, against 400 in one call on u0. */
static void streams_go_through_a_chain_in_one_call(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){100, 50, 100, 50, 100, 50, 100, 50});
    for (uint32_t c = 0; c < 4; c++) {
        for (uint32_t u = 0; u < 2; u++) {
            for (unsigned w = 0; w < ST_WORKS; w++)
                st_cost_curve_add(st_costs_curve(&costs, c, u, w), 4, u == 0 ? 100 : 50);
        }
    }
    forbid(&costs, 3, 1);
    table_slow(&costs, 3);
    st_choice choice = choose(&costs, (st_workload){4, 1, 16}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "staged on u1 (chunks 1-3) and u0 (4), 4 streams, 4 in a call");
    assert_float_equal(choice.rows[0].score, 16 * 250, 1e-6);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* A quick unit whose memory is for one chunk of four is given that one: 3.1 a step, 4 without it. */
static void a_unit_is_given_what_fits(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){1, 0.1, 1, 0.1, 1, 0.1, 1, 0.1});
    costs.n_memories = 2;
    for (uint32_t u = 0; u < 2; u++) {
        snprintf(costs.memories[u].name, ST_PLAN_NAME, "of%u", u);
        costs.units[u].memory = u;
    }
    for (uint32_t c = 0; c < 4; c++) costs.chunks[c] = (st_cost_chunk){.name = {(char)('1' + c)}, .weight_bytes = 100};
    costs.memories[0].bytes = 1000;
    costs.memories[1].bytes = 150;
    for (enum st_goal goal = ST_GOAL_LATENCY; goal <= ST_GOAL_TTFT; goal++) {
        st_choice choice = choose(&costs, (st_workload){1, 1, 10}, goal);
        assert_ptr_equal(strstr(choice.rows[0].title, "placed on u0 (chunks 1-3) and u1 (4)"), choice.rows[0].title);
        st_choice_free(&choice);
    }
    st_choice choice = choose(&costs, (st_workload){4, 1, 10}, ST_GOAL_THROUGHPUT);
    assert_true(rows_beginning(&choice, "staged on u0 (chunks 1-3) and u1 (4), 4 streams") > 0);
    st_choice_free(&choice);
    costs.memories[1].bytes = 99;
    choice = choose(&costs, (st_workload){1, 1, 10}, ST_GOAL_LATENCY);
    assert_string_equal(choice.rows[0].title, "one thread on u0");
    assert_non_null(strstr(row_named(&choice, "one thread on u1")->why, "too little memory"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Room for one chunk of eight streams, or for three of two: two in flight are three times as quick. */
static void fewer_streams_may_leave_room_for_a_quicker_cut(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){1, 0.1, 1, 0.1, 1, 0.1, 1, 0.1});
    costs.n_memories = 1;
    snprintf(costs.memories[0].name, ST_PLAN_NAME, "small");
    costs.memories[0].bytes = 190;
    costs.units[1].memory = 0;
    for (uint32_t c = 0; c < 4; c++) costs.chunks[c].weight_bytes = 40, costs.chunks[c].kv_bytes = 1;
    st_choice choice = choose(&costs, (st_workload){8, 1, 10}, ST_GOAL_THROUGHPUT);
    const st_choice_row *all = row_named(&choice, "staged on u0 (chunks 1-3) and u1 (4), 8 streams, 4 in a call");
    assert_ptr_equal(strstr(choice.rows[0].title, "staged on u0 (chunk 1) and u1 (2-4), 2 streams"),
                     choice.rows[0].title);
    assert_true(all->possible && all->score > 2 * choice.rows[0].score);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Memory for two of four streams: calls of one stream and of two become the same, which stands there once, and with
 * parts of prompts that follow each other, which is quicker as soon as they are small. */
static void fewer_streams_stand_there_once(void **state) {
    (void)state;
    const char *title = "staged on u0 (chunks 1-2) and u1 (3-4), 2 streams";
    st_costs costs;
    table_make(&costs, 4, 2, (double[]){1, 1, 1, 1, 1, 1, 1, 1});
    costs.n_memories = 1;
    snprintf(costs.memories[0].name, ST_PLAN_NAME, "host");
    for (uint32_t u = 0; u < 2; u++) costs.units[u].memory = 0;
    for (uint32_t c = 0; c < 4; c++) costs.chunks[c].kv_bytes = 1;
    costs.memories[0].bytes = 3 * 4 * 522 - 1;
    st_choice choice = choose(&costs, (st_workload){4, 512, 10}, ST_GOAL_THROUGHPUT);
    assert_int_equal(rows_beginning(&choice, title), 1);
    assert_true(row_named(&choice, title)->schedule.pipelined);
    assert_true(row_named(&choice, title)->schedule.micro_batch < 256);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* A schedule of many long names is named as far as there is room, in whole characters. */
static void long_titles_end_between_characters(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 3, 3, (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    for (uint32_t u = 0; u < 3; u++) {
        char *name = costs.units[u].name;
        for (size_t i = 0; i + 3 < ST_PLAN_NAME; i += 2) memcpy(name + i, "\xc3\xa9", 3);
        name[0] = name[1] = (char)('a' + u);
    }
    st_choice choice = choose(&costs, (st_workload){3, 64, 10}, ST_GOAL_THROUGHPUT);
    for (size_t i = 0; i < choice.n_rows; i++) {
        st_buf clean = {0};
        st_utf8_clean(&clean, choice.rows[i].title);
        assert_string_equal(clean.data, choice.rows[i].title);
        st_buf_free(&clean);
    }
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Three units are alike, the fourth is so slow that it is best left alone. */
static void the_slowest_unit_may_be_left_out(void **state) {
    (void)state;
    st_costs costs;
    double ns[6 * 4];
    for (unsigned i = 0; i < 6 * 4; i++) ns[i] = i % 4 == 1 ? 5000 : 100;
    table_make(&costs, 6, 4, ns);
    st_choice choice = choose(&costs, (st_workload){6, 1, 64}, ST_GOAL_THROUGHPUT);
    assert_non_null(strstr(choice.rows[0].title, "on u0"));
    assert_non_null(strstr(choice.rows[0].title, "u2"));
    assert_non_null(strstr(choice.rows[0].title, "u3"));
    assert_null(strstr(choice.rows[0].title, "u1"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* u0 has the cores of u1 and u2: five of six units are apart. */
static void as_many_units_as_fit_work_together(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 6, (double[]){10, 10, 10, 10, 10, 10});
    for (uint16_t core = 0; core < 2; core++) {
        costs.units[0].cores[costs.units[0].n_cores++] = core;
        costs.units[1 + core].cores[costs.units[1 + core].n_cores++] = core;
    }
    st_choice choice = choose(&costs, (st_workload){5, 1, 8}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "the whole model on u1, u2, u3, u4 and u5, 5 streams");
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Prompts are read where they are quick; that decoding goes on there, and not on the slow unit, changes nothing of the
 * first token, but what comes after it. */
static void of_two_that_are_equal_the_one_that_ends_first_wins(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){500, 100, 500, 100});
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_TTFT);
    assert_string_equal(choice.rows[0].title, "one thread on u1");
    for (size_t i = 1; i < choice.n_possible; i++)
        assert_true(choice.rows[i].score > choice.rows[0].score ||
                    choice.rows[i].result.end_ns >= choice.rows[0].result.end_ns);
    assert_string_equal(choice.reason,
                        "one thread on u1 needs as much time to the first token as prompts on u1, decode on u0");
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* What the table has of prompts beside prompts, where first tokens are compared. */
static void the_overlap_here_is_that_of_the_goal(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){100, 100, 100, 100});
    for (uint32_t x = 0; x < 2; x++) *st_cost_unit_slowdown(&costs, x, ST_WORK_PREFILL, 1 - x, ST_WORK_PREFILL) = 1.5;
    st_choice choice = choose(&costs, (st_workload){1, 512, 1}, ST_GOAL_TTFT);
    assert_float_equal(choice.measured, 0.5, 1e-9);
    st_choice_free(&choice);
    choice = choose(&costs, (st_workload){4, 1, 16}, ST_GOAL_THROUGHPUT);
    assert_float_equal(choice.measured, 1, 1e-9);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Three streams on two units, of which one takes two of them: 16 calls of 100 on both, or, were the slow one first, of
 * 200 there. */
static void replicas_give_the_quick_unit_more(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){50, 25, 50, 25});
    st_choice choice = choose(&costs, (st_workload){3, 1, 16}, ST_GOAL_THROUGHPUT);
    assert_float_equal(row_named(&choice, "the whole model on u1 and u0")->result.end_ns, 1600, 1e-9);
    st_choice_free(&choice);
    for (uint32_t c = 0; c < 2; c++) { /* u1 decodes quickly, and is slow with prompts */
        st_cost_curve_add(st_costs_curve(&costs, c, 1, ST_WORK_PREFILL), 1, 200);
        st_cost_curve_add(st_costs_curve(&costs, c, 1, ST_WORK_DECODE), 1, 25);
    }
    choice = choose(&costs, (st_workload){3, 100, 2}, ST_GOAL_THROUGHPUT);
    assert_non_null(row_named(&choice, "the whole model on u0 and u1"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Four schedules of two units that are alike need the same time for a token; the best three have the host beside. */
static void equal_schedules_have_the_host_beside_too(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 2, (double[]){100, 100});
    costs.host.choose_ns = 10;
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    uint32_t n = 0;
    for (size_t i = 0; i < choice.n_possible; i++) n += choice.rows[i].schedule.host_beside;
    assert_int_equal(n, 3);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_that_cannot_run_all_runs_what_it_can),
        cmocka_unit_test(a_chain_goes_where_each_chunk_is_quick),
        cmocka_unit_test(units_that_are_alike_make_no_chain),
        cmocka_unit_test(streams_go_through_a_chain_in_one_call),
        cmocka_unit_test(a_unit_is_given_what_fits),
        cmocka_unit_test(fewer_streams_may_leave_room_for_a_quicker_cut),
        cmocka_unit_test(fewer_streams_stand_there_once),
        cmocka_unit_test(long_titles_end_between_characters),
        cmocka_unit_test(the_slowest_unit_may_be_left_out),
        cmocka_unit_test(as_many_units_as_fit_work_together),
        cmocka_unit_test(of_two_that_are_equal_the_one_that_ends_first_wins),
        cmocka_unit_test(the_overlap_here_is_that_of_the_goal),
        cmocka_unit_test(replicas_give_the_quick_unit_more),
        cmocka_unit_test(equal_schedules_have_the_host_beside_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
