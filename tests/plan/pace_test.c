/* SPDX-License-Identifier: MIT
 * How fast a run's steps were, from stamps that are known: those of a simulation with other costs. */
#include "plan/pace.h"
#include "plan/simulate.h"
#include "support.h"

#include <stdlib.h>

#define N_CHUNKS 4
#define PROMPT 32

static const double decode_factor[3] = {1.5, 0.75, 2}, prefill_factor[3] = {0.5, 3, 1.25}; /* of the units */

static const double base_ns[N_CHUNKS][3] = {{200, 100, 80}, {100, 150, 70}, {120, 90, 60}, {80, 300, 90}};

/* Three units; rows cost nothing more, up to eight; prompts are read in parts of 16 tokens. `factors`: as slow as they
 * are in the run. One token of a prompt is as slow as decoding. */
static void make_table(st_costs *costs, bool factors) {
    stretto_error err;
    assert_int_equal(st_costs_create(costs, N_CHUNKS, 3, &err), STRETTO_OK);
    for (uint32_t u = 0; u < 3; u++) {
        double d = factors ? decode_factor[u] : 1, p = factors ? prefill_factor[u] : 1;
        snprintf(costs->units[u].name, ST_PLAN_NAME, "u%u", u);
        for (uint32_t c = 0; c < N_CHUNKS; c++) {
            double ns = 1000 * base_ns[c][u];
            st_cost_curve *decode = st_costs_curve(costs, c, u, ST_WORK_DECODE);
            st_cost_curve *prefill = st_costs_curve(costs, c, u, ST_WORK_PREFILL);
            snprintf(costs->chunks[c].name, ST_PLAN_NAME, "%u", c + 1);
            st_cost_curve_add(decode, 1, ns * d);
            st_cost_curve_add(decode, 8, ns * d);
            st_cost_curve_add(prefill, 1, ns * d);
            st_cost_curve_add(prefill, 16, 6 * ns * p);
            st_cost_curve_add(prefill, 32, 10 * ns * p);
        }
    }
    costs->host.choose_ns = 7000;
    costs->transfers[1].fixed_ns = 3000;
    table_slow(costs, 1.4);
    *st_cost_unit_slowdown(costs, 0, ST_WORK_DECODE, 1, ST_WORK_PREFILL) = 2.5;
    *st_cost_unit_slowdown(costs, 1, ST_WORK_BATCH, 0, ST_WORK_BATCH) = 1.1;
    assert_int_equal(st_cost_set_slowdown(costs, 1, 2, ST_WORK_DECODE, 0, 1, ST_WORK_DECODE, 1.7, &err), STRETTO_OK);
}

static st_schedule schedule_of(enum st_schedule_kind kind, const st_costs *costs, const uint32_t *place,
                               uint32_t streams, uint32_t batch) {
    st_schedule s = schedule_make(kind, costs, place);
    s.streams = streams;
    s.batch = batch;
    s.micro_batch = 16;
    s.pipelined = kind == ST_SCHEDULE_PLACED || kind == ST_SCHEDULE_STAGED;
    return s;
}

/* Steps come when their calls are done, which may be long after they have started. */
static int by_end(const void *a, const void *b) {
    double x = ((const st_sim_event *)a)->end_ns, y = ((const st_sim_event *)b)->end_ns;
    return (x > y) - (x < y);
}

static void feed(st_pace *pace, const st_schedule *s, st_sim_result *run, uint64_t clock_ns) {
    qsort(run->events, run->n_events, sizeof *run->events, by_end);
    for (size_t i = 0; i < run->n_events; i++) {
        const st_sim_event *e = &run->events[i];
        if (e->unit == s->n_units) continue; /* the host */
        bool prompt = e->what == ST_SIM_PREFILL;
        st_pace_step step = {.start_ns = clock_ns + (uint64_t)llround(e->start_ns),
                             .end_ns = clock_ns + (uint64_t)llround(e->end_ns),
                             .chunk = e->chunk,
                             .unit = e->unit,
                             .rows = {e->tokens, prompt ? e->tokens : 0, prompt ? 0 : e->tokens}};
        st_pace_add(pace, &step);
    }
}

static void assert_near(double a, double b) {
    if (!(fabs(a - b) <= 2e-4 * fabs(b))) fail_msg("%g, expected %g", a, b);
}

static void simulate(st_sim_result *out, const st_costs *costs, const st_schedule *s, const st_workload *w) {
    stretto_error err;
    st_sim_options options = {.record = true};
    if (st_simulate(out, costs, s, w, &options, &err)) fail_msg("%s", err.text);
}

/* What was planned, what was run with other costs: the factors are found, and a simulation with them is the run. */
static void check(const st_costs *planned, const st_costs *real, const st_schedule *s, uint32_t generate) {
    stretto_error err;
    st_workload w = {s->streams, PROMPT, generate};
    st_sim_result run, again;
    st_pace *pace;
    st_costs found;
    simulate(&run, real, s, &w);
    assert_int_equal(st_pace_open(&pace, planned, s, &err), STRETTO_OK);
    feed(pace, s, &run, 123456789012345);
    st_pace_result result = st_pace_finish(pace);
    assert_int_equal(result.n_units, s->n_units);
    for (uint32_t u = 0; u < s->n_units; u++) {
        uint32_t of = st_costs_unit(planned, s->units[u]);
        if (result.unit_decode[u] > 0) assert_near(result.unit_decode[u], decode_factor[of]);
        if (result.unit_prefill[u] > 0) assert_near(result.unit_prefill[u], prefill_factor[of]);
        assert_true(result.unit_decode[u] > 0 || result.unit_prefill[u] > 0);
    }
    assert_int_equal(st_pace_costs(pace, &result, &found, &err), STRETTO_OK);
    simulate(&again, &found, s, &w);
    assert_near(again.tokens_per_s, run.tokens_per_s);
    assert_near(again.prefill_tokens_per_s, run.prefill_tokens_per_s);
    assert_near(again.ttft_ns, run.ttft_ns);
    st_costs_free(&found);
    st_pace_close(pace);
    st_sim_result_free(&run);
    st_sim_result_free(&again);
}

static void the_speed_of_a_run_is_found(void **state) {
    (void)state;
    static const uint32_t one[N_CHUNKS] = {2, 2, 2, 2}, two[N_CHUNKS] = {0, 0, 1, 1}, back[N_CHUNKS] = {1, 0, 0, 0};
    st_costs planned, real;
    make_table(&planned, false);
    make_table(&real, true);
    st_schedule schedules[] = {
        schedule_of(ST_SCHEDULE_SERIAL, &planned, one, 1, 1),  schedule_of(ST_SCHEDULE_THREADS, &planned, one, 1, 1),
        schedule_of(ST_SCHEDULE_PLACED, &planned, two, 1, 1),  schedule_of(ST_SCHEDULE_PLACED, &planned, back, 1, 1),
        schedule_of(ST_SCHEDULE_STAGED, &planned, two, 4, 1),  schedule_of(ST_SCHEDULE_STAGED, &planned, back, 4, 2),
        schedule_of(ST_SCHEDULE_BATCHED, &planned, one, 5, 5), schedule_of(ST_SCHEDULE_REPLICAS, &planned, two, 4, 2),
        schedule_of(ST_SCHEDULE_HANDOVER, &planned, one, 4, 4)};
    st_schedule *handover = &schedules[sizeof schedules / sizeof *schedules - 1];
    handover->prompt_unit = handover->n_units++;
    snprintf(handover->units[handover->prompt_unit], ST_PLAN_NAME, "u1");
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) check(&planned, &real, &schedules[i], 20);
    check(&planned, &real, &schedules[4], 900); /* more steps than are kept */
    st_costs_free(&planned);
    st_costs_free(&real);
}

/* Where prompts have no costs of their own, decoding and prompts are measured against the same ones. */
static void one_curve_has_one_factor(void **state) {
    (void)state;
    static const double ns[] = {1000};
    static const uint32_t place[] = {0};
    stretto_error err;
    st_costs planned, found;
    st_pace *pace;
    table_make(&planned, 1, 1, ns);
    st_costs_curve(&planned, 0, 0, ST_WORK_PREFILL)->n = 0;
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &planned, place);
    assert_int_equal(st_pace_open(&pace, &planned, &s, &err), STRETTO_OK);
    st_pace_add(pace, &(st_pace_step){.start_ns = 0, .end_ns = 9000, .rows = {3, 3, 1}});
    st_pace_add(pace, &(st_pace_step){.start_ns = 9000, .end_ns = 10000, .rows = {1, 0, 1}});
    st_pace_result result = st_pace_finish(pace);
    assert_near(result.prefill, 3);
    assert_near(result.decode, 1);
    assert_int_equal(st_pace_costs(pace, &result, &found, &err), STRETTO_OK);
    assert_near(st_cost_ns(&found, 0, 0, ST_WORK_DECODE, 1), 2500);
    assert_near(st_cost_ns(&found, 0, 0, ST_WORK_PREFILL, 2), 5000);
    st_costs_free(&found);
    st_pace_close(pace);
    st_costs_free(&planned);
}

/* A step that comes when later ones have been replayed counts as alone; impossible ones do not count. */
static void late_and_impossible_steps_do_no_harm(void **state) {
    (void)state;
    static const double ns[] = {1000, 1000, 1000, 1000};
    static const uint32_t place[] = {0, 1};
    stretto_error err;
    st_costs planned;
    st_pace *pace;
    table_make(&planned, 2, 2, ns);
    table_slow(&planned, 2);
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &planned, place);
    assert_int_equal(st_pace_open(&pace, &planned, &s, &err), STRETTO_OK);
    for (uint64_t i = 0; i < 9000; i++)
        st_pace_add(pace, &(st_pace_step){1000000 + i * 2000, 1001000 + i * 2000, .rows = {1, 0, 1}});
    st_pace_add(pace, &(st_pace_step){1000000, 1003000, .chunk = 1, .unit = 1, .rows = {1, 0, 1}});
    st_pace_add(pace, &(st_pace_step){5, 4, .rows = {1, 0, 1}});
    st_pace_add(pace, &(st_pace_step){5, 500000, .unit = 2, .rows = {1, 0, 1}});
    st_pace_add(pace, &(st_pace_step){5, 500000, .chunk = 2, .rows = {1, 0, 1}});
    st_pace_result result = st_pace_finish(pace);
    assert_near(result.unit_decode[0], 1);
    assert_near(result.unit_decode[1], 3);
    assert_true(result.prefill == 0 && result.unit_prefill[0] == 0);
    st_pace_close(pace);
    snprintf(s.units[1], ST_PLAN_NAME, "u9");
    assert_int_equal(st_pace_open(&pace, &planned, &s, &err), STRETTO_E_INPUT);
    assert_null(pace);
    assert_non_null(strstr(err.text, "u9"));
    st_costs_free(&planned);
}

/* The table of some units, in another order. */
static void a_table_of_some_units(void **state) {
    (void)state;
    static const uint32_t units[] = {2, 0};
    stretto_error err;
    st_costs all, some;
    make_table(&all, false);
    all.n_memories = 2;
    snprintf(all.memories[0].name, ST_PLAN_NAME, "one");
    snprintf(all.memories[1].name, ST_PLAN_NAME, "two");
    all.memories[1].bytes = 99;
    all.units[0].memory = 1;
    assert_int_equal(st_cost_set_slowdown(&all, 2, 1, ST_WORK_DECODE, 0, 3, ST_WORK_DECODE, 1.75, &err), STRETTO_OK);
    assert_int_equal(st_costs_of(&some, &all, units, 2, &err), STRETTO_OK);
    assert_int_equal(some.n_units, 2);
    assert_string_equal(some.units[0].name, "u2");
    assert_int_equal(some.units[0].memory, ST_COST_NONE);
    assert_int_equal(some.n_memories, 1);
    assert_string_equal(some.memories[some.units[1].memory].name, "two");
    assert_int_equal(some.memories[0].bytes, 99);
    assert_float_equal(st_cost_ns(&some, 3, 1, ST_WORK_PREFILL, 16), st_cost_ns(&all, 3, 0, ST_WORK_PREFILL, 16), 0);
    assert_float_equal(st_cost_slowdown(&some, 0, 1, ST_WORK_DECODE, 1, 3, ST_WORK_DECODE), 1.75, 1e-6);
    assert_float_equal(st_cost_slowdown(&some, 1, 1, ST_WORK_DECODE, 0, 3, ST_WORK_DECODE), 1.4, 1e-6);
    assert_float_equal(some.host.choose_ns, 7000, 0);
    assert_float_equal(some.transfers[1].fixed_ns, all.transfers[6].fixed_ns, 0);
    st_costs_free(&some);
    st_costs_free(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_speed_of_a_run_is_found), cmocka_unit_test(one_curve_has_one_factor),
        cmocka_unit_test(late_and_impossible_steps_do_no_harm), cmocka_unit_test(a_table_of_some_units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
