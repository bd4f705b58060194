/* SPDX-License-Identifier: MIT
 * What a pair is worth: verdicts from its factor and the planner's break-even. */
#include "probe/worth.h"

#include "base/mem.h"

#include "rig.h"

/* Units cpu:0 and cpu:1, and cpu:0+1 made of both; four chunks of 10 ms on one core. Reading prompts is arithmetic: a
 * call of n tokens takes n times as long. */
typedef struct speeds {
    double both;    /* how much faster the unit of both cores is */
    double batch_4; /* what a call of four streams takes, in calls of one */
} speeds;

static void costs_open(st_costs *costs, speeds s) {
    static const char *const names[] = {"cpu:0", "cpu:1", "cpu:0+1"};
    assert_int_equal(st_costs_create(costs, 4, 3, NULL), 0);
    costs->n_memories = 1;
    strcpy(costs->memories[0].name, "host");
    for (uint32_t c = 0; c < 4; c++) snprintf(costs->chunks[c].name, ST_PLAN_NAME, "%u", c + 1);
    for (uint32_t u = 0; u < 3; u++) {
        st_cost_unit *unit = &costs->units[u];
        strcpy(unit->name, names[u]);
        unit->memory = 0;
        unit->n_cores = unit->n_threads = u < 2 ? 1 : 2;
        for (uint32_t i = 0; i < unit->n_cores; i++) unit->cores[i] = (uint16_t)(u < 2 ? u : i);
        double ns = u < 2 ? 10e6 : 10e6 / s.both;
        for (uint32_t c = 0; c < 4; c++) {
            st_cost_curve *decode = st_costs_curve(costs, c, u, ST_WORK_DECODE);
            st_cost_curve *prefill = st_costs_curve(costs, c, u, ST_WORK_PREFILL);
            st_cost_curve_add(decode, 1, ns);
            st_cost_curve_add(decode, 2, ns * (1 + (s.batch_4 - 1) / 3));
            st_cost_curve_add(decode, 4, ns * s.batch_4);
            for (uint32_t n = 16; n <= 256; n *= 4) st_cost_curve_add(prefill, n, ns * n);
        }
    }
}

static st_probe_row row_of(const char *arrangement, const char *unit_a, const char *unit_b, st_interval factor) {
    st_probe_row row = {.arrangement = st_arrangement_find(arrangement, NULL), .chain = true, .n_rounds = 20};
    strcpy(row.name[0], "1");
    strcpy(row.name[1], "3");
    strcpy(row.unit[0], unit_a);
    strcpy(row.unit[1], unit_b);
    row.one_unit = strcmp(unit_a, unit_b) == 0;
    row.overlap = row.overlap_unit = factor;
    row.verdict = factor.hi < 0.1 ? ST_OVERLAP_SERIALISES : ST_OVERLAP_OVERLAPS;
    return row;
}

static st_worth ask(speeds s, st_probe_row row, enum st_use use) {
    st_costs costs;
    st_probe_record record = {.rows = &row, .n_rows = 1};
    costs_open(&costs, s);
    assert_int_equal(st_worth_set(&record, &costs, NULL), 0);
    st_costs_free(&costs);
    assert_int_equal(record.n_costs, 4 * 3 * (3 + 3)); /* chunks, units, points of decode and of prefill */
    assert_string_equal(record.costs[0].chunk, "1");
    assert_string_equal(record.costs[0].unit, "cpu:0");
    assert_true(!record.costs[0].prefill && record.costs[0].tokens == 1 && record.costs[0].ns == 10e6);
    st_free(record.costs);
    return row.worth[use];
}

/* Batches gain nothing, and both cores as one unit are 1.5 times as fast: two stages of 20 ms that take
 * (2 - f) 20 ms together equal 40 / 1.5 ms at f = 2/3. */
static const speeds poor_team = {1.5, 4};

static void streams_pay_above_the_break_even(void **state) {
    (void)state;
    static const struct {
        st_interval factor;
        enum st_worth_verdict verdict;
    } cases[] = {{{0.8, 0.75, 0.85}, ST_WORTH_PAYS},
                 {{0.5, 0.45, 0.55}, ST_WORTH_DOES_NOT_PAY},
                 {{0.7, 0.6, 0.8}, ST_WORTH_UNDECIDED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_worth worth = ask(poor_team, row_of("two-units", "cpu:0", "cpu:1", cases[i].factor), ST_USE_STREAMS);
        assert_true(worth.has_break_even);
        assert_near(worth.break_even, 2.0 / 3, 0.03); /* the planner starts with an empty pipeline */
        assert_int_equal(worth.verdict, cases[i].verdict);
        assert_true(strlen(worth.reason) > 0);
    }
}

static void a_process_counts_as_the_lane_that_it_is_like(void **state) {
    (void)state;
    st_interval factor = {0.8, 0.75, 0.85};
    st_worth lane = ask(poor_team, row_of("two-units", "cpu:0", "cpu:1", factor), ST_USE_STREAMS);
    st_worth process = ask(poor_team, row_of("processes", "cpu:0", "process:cpu:1", factor), ST_USE_STREAMS);
    assert_true(lane.break_even == process.break_even);
    assert_int_equal(process.verdict, ST_WORTH_PAYS);
}

/* A unit of both cores that is twice as fast, or a call that serves four streams: nothing beats it. */
static void even_perfect_overlap_may_not_pay(void **state) {
    (void)state;
    st_interval factor = {1, 0.99, 1.01};
    static const speeds good[] = {{2, 4}, {1.5, 1.1}};
    for (size_t i = 0; i < 2; i++) {
        st_worth worth = ask(good[i], row_of("two-units", "cpu:0", "cpu:1", factor), ST_USE_STREAMS);
        if (worth.has_break_even) assert_true(worth.break_even > 0.95);
        if (!worth.has_break_even) assert_int_equal(worth.verdict, ST_WORTH_DOES_NOT_PAY);
    }
    st_worth prefill = ask((speeds){2, 4}, row_of("two-units", "cpu:0", "cpu:1", factor), ST_USE_PREFILL);
    assert_false(prefill.has_break_even);
    assert_int_equal(prefill.verdict, ST_WORTH_DOES_NOT_PAY);
    assert_non_null(strstr(prefill.reason, "even with perfect overlap"));
}

static void prefill_has_a_break_even_of_its_own(void **state) {
    (void)state;
    st_worth worth =
        ask(poor_team, row_of("two-units", "cpu:0", "cpu:1", (st_interval){0.9, 0.88, 0.92}), ST_USE_PREFILL);
    assert_true(worth.has_break_even);
    assert_in_range((int)(100 * worth.break_even), 67, 80); /* filling and draining the stages costs some */
    assert_int_equal(worth.verdict, ST_WORTH_PAYS);
}

/* Two queues of one unit are set against one queue, through which four streams may go in one call. */
static void one_unit_is_set_against_one_queue(void **state) {
    (void)state;
    st_probe_row fifo = row_of("one-unit", "cpu:0+1", "cpu:0+1", (st_interval){0.01, -0.02, 0.03});
    st_worth streams = ask((speeds){1.5, 2}, fifo, ST_USE_STREAMS);
    assert_near(streams.break_even, 1, 1e-9); /* half of the time saved, over half of the chain */
    assert_int_equal(streams.verdict, ST_WORTH_DOES_NOT_PAY);
    assert_string_equal(
        streams.reason,
        "two queues of cpu:0+1 against one call: 4 streams in one call are 2.0 times as fast as one by one");
    st_worth prefill = ask((speeds){1.5, 2}, fifo, ST_USE_PREFILL);
    assert_true(prefill.break_even == 0);
    assert_int_equal(prefill.verdict, ST_WORTH_DOES_NOT_PAY);
    st_probe_row wide = row_of("one-unit", "cpu:0+1", "cpu:0+1", (st_interval){0.5, 0.4, 0.6});
    assert_int_equal(ask((speeds){1.5, 4}, wide, ST_USE_STREAMS).verdict, ST_WORTH_PAYS);
}

static void a_batch_pays_when_it_saves_anything(void **state) {
    (void)state;
    st_probe_row row = row_of("batch-4", "cpu:0", "cpu:0", (st_interval){0.8, 0.7, 0.9});
    row.one_unit = false;
    row.k = 4;
    row.speedup.value = 2.5;
    st_worth worth = ask(poor_team, row, ST_USE_STREAMS);
    assert_true(worth.break_even == 0);
    assert_int_equal(worth.verdict, ST_WORTH_PAYS);
    assert_string_equal(worth.reason, "one call of 4 tokens through 1 is 2.50 times as fast as 4 calls");
}

static void what_is_not_known_is_not_said(void **state) {
    (void)state;
    st_interval factor = {0.8, 0.7, 0.9};
    assert_int_equal(ask(poor_team, row_of("two-units", "cpu:0", "gpu:0", factor), ST_USE_STREAMS).verdict,
                     ST_WORTH_UNKNOWN);
    st_probe_row wild = row_of("two-units", "cpu:0", "cpu:1", factor);
    wild.flags = ST_ROW_SPREAD;
    assert_int_equal(ask(poor_team, wild, ST_USE_STREAMS).verdict, ST_WORTH_UNDECIDED);
    st_probe_row row = row_of("two-units", "cpu:0", "cpu:1", factor);
    st_probe_record record = {.rows = &row, .n_rows = 1};
    assert_int_equal(st_worth_set(&record, NULL, NULL), 0);
    assert_int_equal(row.worth[ST_USE_STREAMS].verdict, ST_WORTH_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_pay_above_the_break_even),
        cmocka_unit_test(a_process_counts_as_the_lane_that_it_is_like),
        cmocka_unit_test(even_perfect_overlap_may_not_pay),
        cmocka_unit_test(prefill_has_a_break_even_of_its_own),
        cmocka_unit_test(one_unit_is_set_against_one_queue),
        cmocka_unit_test(a_batch_pays_when_it_saves_anything),
        cmocka_unit_test(what_is_not_known_is_not_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
