/* SPDX-License-Identifier: MIT
 * What the controls in a row's rounds account for: shared memory, late submissions, and what a batch gains. */
#include "probe/account.h"
#include "probe/verdict.h"
#include "rig.h"

static const st_mock_unit_options fifo = {.name = "mock:0"};
static const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

static void memory_bandwidth_is_found(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 200000, .a_bytes = 90000, .b_bytes = 120000});
    rig_controls(&r, 0.9);
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->cause, ST_CAUSE_BANDWIDTH);
    assert_string_equal(row->evidence,
                        "together they read 1.0 of the 1.0 GB/s that streaming on both gives; reading takes 1.80 and "
                        "1.80 times as long beside reading, and they read for 100 and 67 % of their time: that would "
                        "leave an overlap of 0.47, measured 0.50; arithmetic alone overlaps 1.00");
    assert_int_equal(r.record.n_unit_pairs, 1);
    assert_memory_equal(r.record.unit_pairs[0].controls, row->controls, sizeof row->controls);
    const st_control_result *bandwidth = &row->controls[ST_CONTROL_BANDWIDTH];
    assert_int_equal(bandwidth->n_rounds, row->n_rounds);
    assert_near(bandwidth->solo_rate[0], 0.9, 1e-9);
    assert_near(bandwidth->parallel_rate, 1, 1e-9);
    assert_near(bandwidth->overlap.value, 0.2, 1e-9); /* 2 - 1.8 */
    assert_near(row->controls[ST_CONTROL_CLOCK].parallel_rate, 3, 1e-9);
    rig_close(&r);
}

/* Steps that read for three fifths of their time, in turns, never reach the bandwidth, and are stretched by nothing but
 * memory. */
static void memory_that_is_read_in_turns_is_found(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS, .a_bytes = 54 * MS / 10, .b_bytes = 648 * MS / 100});
    rig_read_in_turns(&r, 0.6);
    rig_controls(&r, 0.9);
    st_probe_row *row = rig_run(&r);
    assert_in_range(row->overlap.value * 1000, 650, 750);
    assert_near(row->memory.factor.value, row->overlap.value, 0.03);
    assert_near(row->memory.margin.value, 0.5 * (1 - row->overlap.value), 0.03);
    assert_int_equal(row->cause, ST_CAUSE_BANDWIDTH);
    assert_non_null(strstr(row->evidence, "together they read 0.8 of the 1.0 GB/s that streaming on both gives"));
    assert_non_null(strstr(row->evidence, "they read for 60 and 60 % of their time"));
    rig_close(&r);
}

/* The same steps with memory for both, and a cache that they fill together: the loss is as large, and not memory's. */
static void a_loss_that_memory_does_not_account_for_is_not_blamed_on_it(void **state) {
    (void)state;
    for (int some = 0; some < 2; some++) {
        rig r;
        rig_open(&r, (st_mock_options){.bytes_per_ns = some ? 1.6 : 2, .cold = 0.5}, two, 2,
                 (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS, .a_bytes = 54 * MS / 10, .b_bytes = 648 * MS / 100});
        rig_read_in_turns(&r, 0.6);
        rig_controls(&r, 0.9);
        rig_chill(&r);
        st_probe_row *row = rig_run(&r);
        assert_near(row->memory.factor.value, some ? 0.94 : 1, 0.02);
        assert_true(row->memory.margin.hi < 0);
        assert_int_equal(row->cause, ST_CAUSE_SHARED_CACHE);
        assert_true(row->warm_gain.lo > 0.3);
        rig_close(&r);
    }
}

/* What the memory gives is measured when the row is: half of it goes to a neighbour before. */
static void a_bandwidth_that_changes_is_that_of_the_rows_own_time(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 2, .bytes_per_ns_later = 1, .later_ns = 2000 * (uint64_t)MS}, two, 2,
             (rig_pair){.a_ns = 10 * MS, .b_ns = 20 * MS, .a_bytes = 9 * MS, .b_bytes = 12 * MS});
    rig_controls(&r, 0.9);
    r.jobs[1] = r.jobs[0];
    r.jobs[1].arrangement = st_arrangement_find("async", NULL);
    r.setup.n_jobs = 2;
    r.setup.limits.rounds = 25; /* of 76 ms */
    st_probe_row *rows = rig_run(&r);
    assert_int_equal(rows[0].cause, ST_CAUSE_TRUE_OVERLAP);
    assert_near(rows[0].controls[ST_CONTROL_BANDWIDTH].parallel_rate, 1.8, 1e-6);
    assert_near(rows[1].overlap.value, 0.5, 0.01);
    assert_near(rows[1].controls[ST_CONTROL_BANDWIDTH].parallel_rate, 1, 1e-6);
    assert_int_equal(rows[1].cause, ST_CAUSE_BANDWIDTH);
    rig_close(&r);
}

static void the_memory_model_is_exact_at_its_ends(void **state) {
    (void)state;
    static const struct {
        double solo[2], reading[2], slow[2], behind[2], factor;
    } cases[] = {
        {{100, 120}, {0, 0}, {2, 2}, {0, 0}, 1}, /* nothing is read */
        {{100, 120}, {1, 1}, {1, 1}, {0, 0}, 1}, /* reading does not mind reading */
        {{100, 100}, {1, 1}, {2, 2}, {0, 0}, 0}, /* all is reading, at half the speed */
        {{100, 100}, {1, 1}, {1.5, 1.5}, {0, 0}, 0.5},
        {{100, 300}, {1, 1}, {2, 2}, {0, 0}, 0},    /* the longer goes on alone */
        {{100, 100}, {1, 0}, {2, 2}, {0, 0}, 1},    /* one side only reads */
        {{100, 100}, {0, 0}, {1, 1}, {0, 30}, 0.7}, /* late by 30 */
        {{100, 100}, {0, 0}, {1, 1}, {30, 0}, 0.7},
        {{100, 100}, {0, 0}, {1, 1}, {0, 100}, 0}, /* when the other is done */
        {{100, 300}, {0, 0}, {1, 1}, {100, 0}, 1}, /* with time to spare */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(st_account_memory(cases[i].solo, cases[i].reading, cases[i].slow, cases[i].behind, 0),
                    cases[i].factor, 1e-6);
}

/* One thread submits both, and gets to the second when the first is nearly done: a queue by its shape. */
static void a_side_that_is_submitted_late_is_no_queue(void **state) {
    (void)state;
    const st_mock_unit_options units[2] = {{.name = "mock:0", .submit_ns = 49 * MS / 10}, {.name = "mock:1"}};
    rig r;
    rig_open(&r, (st_mock_options){0}, units, 2, (rig_pair){.a_ns = MS / 10, .b_ns = 5 * MS});
    r.jobs[0].arrangement = st_arrangement_find("async", NULL);
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->classes[ST_CLASS_A_FIRST], row->n_rounds);
    assert_near(row->overlap.value, 0.02, 1e-9); /* 5 + 5 - 9.9 */
    assert_int_equal(row->cause, ST_CAUSE_LATE);
    assert_string_equal(row->evidence,
                        "in 100 % of rounds one side is submitted more than 5 % of the shorter later than the other "
                        "(median of all 4.9 ms): that alone would leave them an overlap of 0.02, measured 0.02");
    rig_close(&r);
}

/* Rounds of two sides of 100 ns that read 0.7 of it beside memory that makes reading 1.6 times as long; in the first
 * `late` of 20 the second is submitted when the first is nearly done. */
static void late_rounds(st_probe_row *row, st_round rounds[20], unsigned late) {
    *row = (st_probe_row){.arrangement = st_arrangement_find("async", NULL),
                          .name = {"1", "3"},
                          .bytes = {700, 700},
                          .beside = 1u << ST_CONTROL_COMPUTE | 1u << ST_CONTROL_BANDWIDTH,
                          .work = {[ST_CONTROL_COMPUTE] = {50, 50}, [ST_CONTROL_BANDWIDTH] = {500, 500}},
                          .rounds = rounds,
                          .n_rounds = 20,
                          .steady = true};
    row->arms = st_pair_arms(false);
    for (unsigned i = 0; i < 20; i++) {
        const uint64_t end = i < late ? 195 : 128 + i % 3;
        rounds[i] = (st_round){.flags = 0};
        for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) rounds[i].arms[arm].wall_ns = 100;
        rounds[i].arms[ST_ARM_SERIAL].wall_ns = 200;
        rounds[i].arms[ST_ARM_PARALLEL] = (st_sample){
            .wall_ns = end, .end_ns = {i < late ? 100 : end, end}, .skew_ns = i < late ? 95 : 1, .second = 1};
        rounds[i].beside[ST_CONTROL_COMPUTE] = (st_beside_sample){{50, 50}, {50, 50}};
        rounds[i].beside[ST_CONTROL_BANDWIDTH] = (st_beside_sample){{50, 50}, {80, 80}};
    }
    const st_estimate_options options = {.level = 0.95, .resamples = 1000, .seed = 1};
    assert_int_equal(st_estimate_row(row, &options, NULL), 0);
    assert_int_equal(st_account_row(row, &options, NULL), 0);
    st_cause_set(row, &(st_probe_record){.rows = row, .n_rows = 1});
}

static void rounds_that_start_late_are_told_from_those_that_do_not(void **state) {
    (void)state;
    st_round rounds[20];
    st_probe_row row;
    late_rounds(&row, rounds, 12);
    assert_near(row.overlap.value, 0.05, 1e-9);
    assert_int_equal(row.cause, ST_CAUSE_LATE);
    assert_string_equal(
        row.evidence,
        "in 60 % of rounds one side is submitted more than 5 % of the shorter later than the other "
        "(median of all 9.5e-05 ms): that alone would leave them an overlap of 0.05, measured 0.05; where "
        "both start together it is 0.71");
    late_rounds(&row, rounds, 6);
    assert_near(row.memory.seen.value, 0.71, 1e-9);
    assert_near(row.memory.factor.value, 0.71, 0.03);
    assert_int_equal(row.cause, ST_CAUSE_BANDWIDTH);
}

/* 10 ms a token, of which 4 are reading: with arithmetic for each, k tokens take 4 + 6 k. Measured in the same rounds
 * by a step that only reads. */
static void a_batch_gains_the_share_that_reading_has(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes, one, four;
        enum st_cause cause;
    } cases[] = {
        {36 * MS / 10, 10 * MS, 28 * MS, ST_CAUSE_READ_ONCE},
        {36 * MS / 10, 10 * MS, 19 * MS, ST_CAUSE_READ_ONCE},  /* and gains a bit less than as much elsewhere */
        {9 * MS / 10, 10 * MS, 28 * MS, ST_CAUSE_UNEXPLAINED}, /* where reading is a quarter of the gain */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rig_open(&r, (st_mock_options){0}, &fifo, 1,
                 (rig_pair){.a_ns = cases[i].one, .b_ns = cases[i].four, .a_bytes = cases[i].bytes});
        rig_controls(&r, 0.9);
        r.jobs[0].arrangement = st_arrangement_find("batch-4", NULL);
        st_probe_row *row = rig_run(&r);
        assert_near(row->memory.factor.value, (double)cases[i].bytes / 0.9 / (double)cases[i].one, 1e-6);
        assert_int_equal(row->cause, cases[i].cause);
        assert_int_equal(row->controls[ST_CONTROL_BANDWIDTH].n_rounds, row->n_rounds);
        assert_int_equal(row->controls[ST_CONTROL_COMPUTE].n_rounds, 0);
        assert_int_equal(r.record.n_unit_pairs, 0);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_bandwidth_is_found),
        cmocka_unit_test(memory_that_is_read_in_turns_is_found),
        cmocka_unit_test(a_loss_that_memory_does_not_account_for_is_not_blamed_on_it),
        cmocka_unit_test(a_bandwidth_that_changes_is_that_of_the_rows_own_time),
        cmocka_unit_test(the_memory_model_is_exact_at_its_ends),
        cmocka_unit_test(a_side_that_is_submitted_late_is_no_queue),
        cmocka_unit_test(rounds_that_start_late_are_told_from_those_that_do_not),
        cmocka_unit_test(a_batch_gains_the_share_that_reading_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
