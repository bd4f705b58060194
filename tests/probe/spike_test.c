/* SPDX-License-Identifier: MIT */
#include "probe/spike.h"
#include "rig.h"

#include <stdio.h>

typedef struct trace {
    char text[400];
    size_t len;
} trace;

static void trace_start(void *arg, const char *unit, const st_step *step, uint64_t start_ns) {
    (void)unit, (void)start_ns;
    trace *t = arg;
    if (t->len + 1 < sizeof t->text) t->text[t->len++] = step->name[6]; /* "chunk 1" */
}

typedef struct spiked {
    rig r;
    st_queue *queue[2];
    st_spike_setup setup;
    st_spike_record record;
} spiked;

static void spiked_open(spiked *s, st_mock_options machine, const st_mock_unit_options *units, unsigned n_units,
                        rig_pair pair) {
    rig_open(&s->r, machine, units, n_units, pair);
    s->setup = (st_spike_setup){.clock = s->r.setup.clock, .virtual_time = true};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(st_queue_open(s->r.units[n_units == 2 ? i : 0], &s->queue[i], NULL), 0);
        s->setup.name[i] = s->r.sides[i].name;
        s->setup.step[i] = &s->r.step[i];
        s->setup.queue[i] = s->queue[i];
    }
}

static void spiked_close(spiked *s) {
    for (unsigned i = 0; i < 2; i++) st_queue_close(s->queue[i]);
    rig_close(&s->r);
}

static const st_mock_unit_options fifo = {.name = "mock:0"};

/* The times of the published table's first row, on a device with its dispatch: (12.51 - 12.26) / 5.12. */
static void the_published_row_gives_the_published_factor(void **state) {
    (void)state;
    spiked s;
    const st_mock_unit_options device = {.name = "mock:0", .latency_ns = 250000};
    spiked_open(&s, (st_mock_options){0}, &device, 1, (rig_pair){.a_ns = 4870000, .b_ns = 7140000});
    assert_int_equal(st_spike_run(&s.setup, &s.record, NULL), 0);
    assert_true(s.record.complete);
    assert_true(s.record.median_ns[ST_SPIKE_A] == 5120000 && s.record.median_ns[ST_SPIKE_B] == 7390000);
    assert_true(s.record.median_ns[ST_SPIKE_SERIAL] == 12510000 && s.record.median_ns[ST_SPIKE_PARALLEL] == 12260000);
    assert_near(s.record.factor.value, 0.0488, 0.0001);
    assert_near(s.record.factor_serial.value, 0.0488, 0.0001);
    assert_string_equal(s.record.name[1], "3");
    assert_string_equal(s.record.unit[0], "mock:0");
    spiked_close(&s);
}

static void the_order_is_the_original_one(void **state) {
    (void)state;
    trace t = {0};
    spiked s;
    spiked_open(&s, (st_mock_options){.trace = trace_start, .trace_arg = &t}, &fifo, 1,
                (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    assert_int_equal(st_spike_run(&s.setup, &s.record, NULL), 0);
    assert_string_equal(t.text, "1111111111"
                                "3333333333"
                                "13131313131313131313"
                                "13131313131313131313");
    spiked_close(&s);
}

static void two_units_overlap_in_the_spike_too(void **state) {
    (void)state;
    spiked s;
    const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};
    spiked_open(&s, (st_mock_options){.seed = 3, .sigma = 0.01}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    assert_int_equal(st_spike_run(&s.setup, &s.record, NULL), 0);
    assert_near(s.record.factor.value, 1, 0.05);
    assert_true(s.record.factor.lo < s.record.factor.value && s.record.factor.value < s.record.factor.hi);
    assert_true(s.record.factor.hi - s.record.factor.lo < 0.1);
    spiked_close(&s);
}

/* Over many spikes of a device of factor 0, about 95 of 100 intervals hold 0. */
static void intervals_hold_the_true_factor(void **state) {
    (void)state;
    unsigned held = 0;
    enum { N = 400 };
    for (uint64_t seed = 1; seed <= N; seed++) {
        spiked s;
        spiked_open(&s, (st_mock_options){.seed = seed, .sigma = 0.02}, &fifo, 1,
                    (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
        assert_int_equal(st_spike_run(&s.setup, &s.record, NULL), 0);
        held += s.record.factor.lo <= 0 && 0 <= s.record.factor.hi;
        spiked_close(&s);
    }
    assert_in_range(held, N * 92 / 100, N);
}

static void a_dying_unit_keeps_the_trials(void **state) {
    (void)state;
    spiked s;
    const st_mock_unit_options device = {.name = "mock:0", .dies_at = 16};
    spiked_open(&s, (st_mock_options){0}, &device, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    stretto_error err;
    assert_int_equal(st_spike_run(&s.setup, &s.record, &err), STRETTO_E_UNIT);
    assert_string_equal(err.text, "unit mock:0 died while it ran step chunk 3");
    assert_false(s.record.complete);
    assert_int_equal(s.record.trials[ST_SPIKE_A], 10);
    assert_int_equal(s.record.trials[ST_SPIKE_B], 5);
    assert_int_equal(s.record.ns[ST_SPIKE_B][4], 7 * MS);
    spiked_close(&s);
}

static void it_can_be_cancelled(void **state) {
    (void)state;
    spiked s;
    atomic_bool cancel = true;
    spiked_open(&s, (st_mock_options){0}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    s.setup.cancel = &cancel;
    assert_int_equal(st_spike_run(&s.setup, &s.record, NULL), STRETTO_E_STOPPED);
    assert_int_equal(s.record.trials[ST_SPIKE_A], 0);
    spiked_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_row_gives_the_published_factor),
        cmocka_unit_test(the_order_is_the_original_one),
        cmocka_unit_test(two_units_overlap_in_the_spike_too),
        cmocka_unit_test(intervals_hold_the_true_factor),
        cmocka_unit_test(a_dying_unit_keeps_the_trials),
        cmocka_unit_test(it_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
