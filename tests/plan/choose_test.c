/* SPDX-License-Identifier: MIT
 * The decision on small tables whose answer is known. */
#include "choosing.h"

/* Two cores as units of their own and as one of both; chunks of 1000 on one core, `joined` on both. */
static void table_of_a_machine(st_costs *costs, uint32_t n_chunks, double joined) {
    double ns[8 * 3];
    for (uint32_t c = 0; c < n_chunks; c++) ns[3 * c] = ns[3 * c + 1] = 1000, ns[3 * c + 2] = joined;
    table_make(costs, n_chunks, 3, ns);
    for (uint32_t u = 0; u < 2; u++) {
        costs->units[u].cores[costs->units[u].n_cores++] = (uint16_t)u;
        costs->units[2].cores[costs->units[2].n_cores++] = (uint16_t)u;
        costs->units[u].n_threads = 1;
    }
    costs->units[2].n_threads = 2;
}

static void one_stream_wants_the_fastest_unit(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 4, 600);
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    assert_int_equal(choice.rows[0].schedule.kind, ST_SCHEDULE_THREADS);
    assert_string_equal(choice.rows[0].title, "threads of u2");
    assert_float_equal(choice.rows[0].score, 2400, 1e-6);
    assert_non_null(strstr(choice.reason, "threads of u2 needs 40 % less time for each token than"));
    assert_non_null(strstr(choice.reason, "a chain"));
    const st_choice_row *staged = row_named(&choice, "one stream staged");
    assert_false(staged->possible);
    assert_string_equal(staged->why, "token, 1, 2, 3, 4, token is a chain: nothing of one stream can run beside it");
    assert_false(choice.turns);
    assert_string_equal(choice.turn,
                        "no overlap factor would change that: no possible schedule has two units at work at once");
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Two units together need 2000 s for a token, one call on both cores 2400: equal at s = 1.2, f = 0.8. */
static void the_turning_point_is_where_both_are_equal(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 4, 600);
    st_choice choice = choose(&costs, (st_workload){4, 1, 64}, ST_GOAL_THROUGHPUT);
    assert_true(st_row_overlaps(&choice.rows[0]));
    assert_true(choice.turns);
    assert_float_equal(choice.overlap, 0.8, 0.02);
    assert_float_equal(choice.measured, 1, 1e-9);
    assert_non_null(strstr(choice.turn, "below an overlap factor of 0.8"));
    st_choice_free(&choice);
    table_slow(&costs, 1.5);
    choice = choose(&costs, (st_workload){4, 1, 64}, ST_GOAL_THROUGHPUT);
    assert_false(st_row_overlaps(&choice.rows[0]));
    assert_true(choice.turns);
    assert_float_equal(choice.overlap, 0.8, 0.02);
    assert_float_equal(choice.measured, 0.5, 1e-9);
    assert_non_null(strstr(choice.turn, "above an overlap factor of 0.8"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* A prompt of one token is never in two micro-batches, and both prompts are in one call of a handover: neither has two
 * units at work, and neither counts where replicas of 200 a token meet one call of 400, at a slowdown of 2. */
static void what_could_overlap_but_does_not_is_no_rival(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){100, 100, 100, 100});
    st_choice choice = choose(&costs, (st_workload){2, 1, 3}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "the whole model on u0 and u1, 2 streams");
    assert_float_equal(choice.rows[0].score, 600, 1e-9);
    assert_float_equal(choice.rows[0].result.beside_ns, 600, 1e-9);
    assert_false(st_row_overlaps(row_named(&choice, "placed on u0 (chunk 1) and u1 (2), prompts")));
    assert_false(st_row_overlaps(row_named(&choice, "prompts on u0, decode on u1")));
    assert_float_equal(row_named(&choice, "staged on u0")->result.beside_ns, 500, 1e-9);
    assert_true(choice.turns);
    assert_float_equal(choice.overlap, 0, 0.002);
    assert_non_null(strstr(choice.turn, "below an overlap factor of 0.00 (here 1.00) in one call on u0"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* Two rows in a call take 110 and are slowed 1.1 times, where one row would be slowed twice: 121 for four tokens on two
 * units, against 150 for four in one call on one of them. So what replicas have here is a factor of 0.9, not one of 0,
 * and they win from 2 - 150 / 110 on. */
static void the_overlap_here_is_that_of_the_work_that_is_done(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 2, (double[]){100, 100});
    for (uint32_t x = 0; x < 2; x++) {
        st_cost_curve_add(st_costs_curve(&costs, 0, x, ST_WORK_DECODE), 2, 110);
        st_cost_curve_add(st_costs_curve(&costs, 0, x, ST_WORK_DECODE), 4, 150);
        *st_cost_unit_slowdown(&costs, x, ST_WORK_DECODE, 1 - x, ST_WORK_DECODE) = 2;
        *st_cost_unit_slowdown(&costs, x, ST_WORK_BATCH, 1 - x, ST_WORK_BATCH) = 1.1;
    }
    st_choice choice = choose(&costs, (st_workload){4, 1, 1000}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "the whole model on u0 and u1, 4 streams, 2 in a call");
    assert_true(choice.turns);
    assert_float_equal(choice.overlap, 2 - 150.0 / 110, 0.01);
    assert_float_equal(choice.measured, 0.9, 0.01);
    assert_non_null(strstr(choice.turn, "below an overlap factor of 0.6"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void one_call_wins_where_it_is_cheap(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 4, 600);
    for (uint32_t c = 0; c < 4; c++) st_cost_curve_add(st_costs_curve(&costs, c, 2, ST_WORK_DECODE), 4, 700);
    st_choice choice = choose(&costs, (st_workload){4, 1, 64}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "in one call on u2, 4 streams");
    assert_non_null(strstr(choice.reason, "a call reads the weights once for 4 streams"));
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* 512 tokens: on both cores 512 * 4 * 600; pipelined with s = 1 in 32 micro-batches 33/32 * 512 * 2 * 1000. */
static void a_prompt_is_pipelined_where_that_is_faster(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 4, 600);
    st_choice choice = choose(&costs, (st_workload){1, 512, 1}, ST_GOAL_TTFT);
    assert_true(choice.rows[0].schedule.pipelined);
    assert_int_equal(choice.rows[0].schedule.micro_batch, 16);
    assert_float_equal(choice.rows[0].score, 33.0f * 16 * 2000, 1);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void drafts_pay_when_they_are_right(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 2, 600);
    for (uint32_t c = 0; c < 2; c++) st_cost_curve_add(st_costs_curve(&costs, c, 2, ST_WORK_DECODE), 9, 640);
    st_choice choice = choose(&costs, (st_workload){1, 1, 32}, ST_GOAL_LATENCY);
    assert_non_null(strstr(row_named(&choice, "drafts by lookup")->why, "not known"));
    assert_non_null(strstr(row_named(&choice, "drafts by a model")->why, "draft_ns"));
    st_choice_free(&choice);
    costs.acceptance[ST_DRAFT_LOOKUP] = 0.9;
    choice = choose(&costs, (st_workload){1, 1, 32}, ST_GOAL_LATENCY);
    assert_int_equal(choice.rows[0].schedule.draft, ST_DRAFT_LOOKUP);
    assert_int_equal(choice.rows[0].schedule.longest_draft, 8);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void host_work_beside_is_tried_for_the_best(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 2, 600);
    costs.host = (st_cost_host){.choose_ns = 100, .text_ns = 50};
    st_choice choice = choose(&costs, (st_workload){1, 1, 32}, ST_GOAL_LATENCY);
    assert_string_equal(choice.rows[0].title, "threads of u2, host work beside");
    assert_float_equal(choice.rows[0].score, (1350 + 31 * 1200) / 32.0f, 1e-2);
    assert_float_equal(choice.rows[1].score, 1350, 1e-6);
    st_choice_free(&choice);
    costs.host = (st_cost_host){0};
    costs.units[2].choose_ns = 150; /* the same, of the best unit alone */
    choice = choose(&costs, (st_workload){1, 1, 32}, ST_GOAL_LATENCY);
    assert_string_equal(choice.rows[0].title, "threads of u2, host work beside");
    assert_float_equal(choice.rows[1].score, 1350, 1e-6);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void what_does_not_fit_into_memory_is_not_chosen(void **state) {
    (void)state;
    st_costs costs;
    table_of_a_machine(&costs, 2, 600);
    costs.n_memories = 1;
    snprintf(costs.memories[0].name, ST_PLAN_NAME, "host");
    costs.memories[0].bytes = 1000;
    for (uint32_t u = 0; u < 3; u++) costs.units[u].memory = 0;
    for (uint32_t c = 0; c < 2; c++) costs.chunks[c].kv_bytes = 5, costs.chunks[c].weight_bytes = 100;
    st_choice choice = choose(&costs, (st_workload){4, 10, 10}, ST_GOAL_THROUGHPUT); /* 200, and 200 a stream: 1000 */
    assert_true(choice.n_possible > 3);
    st_choice_free(&choice);
    costs.memories[0].bytes = 999; /* three at a time still fit */
    choice = choose(&costs, (st_workload){4, 10, 10}, ST_GOAL_THROUGHPUT);
    assert_non_null(strstr(row_named(&choice, "in one call on u2, 4 streams")->why, "too little memory"));
    const st_choice_row *fewer = row_named(&choice, "in one call on u2, 3 streams");
    assert_true(fewer->possible);
    assert_int_equal(fewer->result.memory_bytes, 800);
    const st_choice_row *halves = row_named(&choice, "the whole model on u0 and u1, 3 streams, 2 in a call");
    assert_true(halves->possible);
    st_choice_free(&choice);
    costs.memories[0].bytes = 599; /* one at a time */
    choice = choose(&costs, (st_workload){4, 10, 10}, ST_GOAL_THROUGHPUT);
    assert_string_equal(choice.rows[0].title, "threads of u2");
    st_choice_free(&choice);
    costs.memories[0].bytes = 100;
    choice = choose(&costs, (st_workload){4, 10, 10}, ST_GOAL_THROUGHPUT);
    assert_int_equal(choice.n_possible, 0);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* What was measured with fewer threads than cores is to be run with as many; one a core needs no word. */
static void a_schedule_has_the_threads_of_its_costs(void **state) {
    (void)state;
    double ns[] = {10, 20, 20, 10};
    st_costs costs;
    st_choice choice;
    stretto_error err = {0};
    table_make(&costs, 2, 2, ns);
    for (uint32_t u = 0; u < 2; u++) {
        costs.units[u].n_cores = 4;
        for (uint32_t i = 0; i < 4; i++) costs.units[u].cores[i] = (uint16_t)(4 * u + i);
        costs.units[u].n_threads = 4;
    }
    st_workload workload = {4, 8, 8};
    assert_int_equal(st_choose(&choice, &costs, &workload, ST_GOAL_THROUGHPUT, 1, NULL, &err), STRETTO_OK);
    for (size_t i = 0; i < choice.n_possible; i++)
        for (uint32_t u = 0; u < 2; u++) assert_int_equal(choice.rows[i].schedule.threads[u], 0);
    st_choice_free(&choice);
    costs.units[1].n_threads = 3;
    assert_int_equal(st_choose(&choice, &costs, &workload, ST_GOAL_THROUGHPUT, 1, NULL, &err), STRETTO_OK);
    size_t n_both = 0;
    for (size_t i = 0; i < choice.n_possible; i++) {
        const st_schedule *s = &choice.rows[i].schedule;
        n_both += s->n_units == 2;
        for (uint32_t u = 0; u < s->n_units && s->n_units == 2; u++)
            assert_int_equal(s->threads[u], strcmp(s->units[u], "u1") == 0 ? 3 : 4);
    }
    assert_true(n_both > 1);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void one_unit_has_no_other_to_share_with(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 1, (double[]){1, 2});
    st_choice choice = choose(&costs, (st_workload){2, 1, 8}, ST_GOAL_THROUGHPUT);
    assert_non_null(strstr(row_named(&choice, "several units")->why, "no two units that share no core"));
    assert_true(isnan(choice.measured));
    assert_string_equal(choice.turn, "");
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* What was measured stays with its schedule while costs change their order. */
static void chosen_again_with_other_costs(void **state) {
    (void)state;
    st_costs costs, later;
    stretto_error err = {0};
    table_of_a_machine(&costs, 4, 600);
    table_of_a_machine(&later, 4, 1200);
    st_choice choice = choose(&costs, (st_workload){1, 1, 16}, ST_GOAL_LATENCY);
    st_choice_row *threads = &choice.rows[0];
    size_t n_rows = choice.n_rows, n_possible = choice.n_possible;
    assert_string_equal(threads->title, "threads of u2");
    threads->measured.tokens_per_s = 17;
    assert_int_equal(st_choose_again(&choice, &later, &err), STRETTO_OK);
    assert_int_equal(choice.n_rows, n_rows);
    assert_int_equal(choice.n_possible, n_possible);
    assert_int_equal(choice.rows[0].schedule.kind, ST_SCHEDULE_SERIAL);
    assert_float_equal(choice.rows[0].score, 4000, 1e-6);
    for (size_t i = 1; i < choice.n_possible; i++) assert_true(choice.rows[i - 1].score <= choice.rows[i].score);
    const st_choice_row *now = row_named(&choice, "threads of u2");
    assert_float_equal(now->score, 4800, 1e-6);
    assert_float_equal(now->measured.tokens_per_s, 17, 0);
    assert_non_null(strstr(choice.reason, choice.rows[0].title));
    assert_int_equal(st_choose_again(&choice, &costs, &err), STRETTO_OK);
    assert_string_equal(choice.rows[0].title, "threads of u2");
    st_choice_free(&choice);
    st_costs_free(&costs);
    st_costs_free(&later);
}

static void a_wish_to_stop_ends_it(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    stretto_error err = {0};
    atomic_bool cancel = true;
    table_of_a_machine(&costs, 4, 600);
    for (uint32_t tokens = 16; tokens < 100000; tokens *= 100) {
        st_workload workload = {4, 1, tokens};
        int rc = st_choose(&choice, &costs, &workload, ST_GOAL_THROUGHPUT, 1, &cancel, &err);
        assert_int_equal(rc, STRETTO_E_STOPPED);
        assert_null(choice.rows);
    }
    st_costs_free(&costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_wants_the_fastest_unit),
        cmocka_unit_test(the_turning_point_is_where_both_are_equal),
        cmocka_unit_test(what_could_overlap_but_does_not_is_no_rival),
        cmocka_unit_test(one_call_wins_where_it_is_cheap),
        cmocka_unit_test(the_overlap_here_is_that_of_the_work_that_is_done),
        cmocka_unit_test(a_prompt_is_pipelined_where_that_is_faster),
        cmocka_unit_test(drafts_pay_when_they_are_right),
        cmocka_unit_test(host_work_beside_is_tried_for_the_best),
        cmocka_unit_test(what_does_not_fit_into_memory_is_not_chosen),
        cmocka_unit_test(a_schedule_has_the_threads_of_its_costs),
        cmocka_unit_test(one_unit_has_no_other_to_share_with),
        cmocka_unit_test(chosen_again_with_other_costs),
        cmocka_unit_test(a_wish_to_stop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
