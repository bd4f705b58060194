/* SPDX-License-Identifier: MIT
 * Timing of steps: how often each runs, and that what changes the speed of all does not show in a comparison. */
#include "device/timing.h"

#include "base/error.h"
#include "unit/mock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lanes.h"

static int fail_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)worker;
    unsigned *runs = arg;
    return ++*runs == 3 ? st_fail(err, STRETTO_E_INPUT, "the third run") : STRETTO_OK;
}

static void timing_stops_at_a_failure(void **state) {
    (void)state;
    lanes_host fake;
    st_timing time;
    stretto_error err;
    unsigned runs = 0;
    const st_step step = {.name = "fails", .run = fail_run, .arg = &runs};
    lanes_host_init(&fake, 1);
    st_unit *unit = lanes_open(&fake, 0, 1, 20000);
    assert_int_equal(st_step_time(&time, unit, &step, 1, 0, &err), STRETTO_E_INPUT);
    assert_int_equal(runs, 3);
    assert_int_equal(st_step_time(&time, unit, &step, 1, 0, &err), STRETTO_OK);
    assert_int_equal(time.runs, 5);
    assert_int_equal(runs, 9); /* three, and five after one that does not count */
    assert_int_equal(st_step_time(&time, unit, &step, 3, 0, &err), STRETTO_OK);
    assert_int_equal(time.runs, 15);
    assert_int_equal(runs, 27);
    assert_true(time.best_ns <= time.median_ns);
    st_unit_close(unit);
}

/* A unit, and two steps of which the plain one takes half as long. */
typedef struct machine {
    st_mock_machine *machine;
    st_unit *unit;
    st_mock_work work, plain_work;
    st_step step, plain;
} machine;

static void machine_open(machine *m, const st_mock_options *options) {
    const st_mock_unit_options unit = {.name = "mock:0"};
    stretto_error err;
    *m = (machine){.work = {.ns = 2000}, .plain_work = {.ns = 1000}};
    m->step = st_mock_step("step", &m->work, 0);
    m->plain = st_mock_step("plain", &m->plain_work, 0);
    assert_int_equal(st_mock_machine_create(&m->machine, options, &err), 0);
    assert_int_equal(st_mock_open(&m->unit, m->machine, &unit, &err), 0);
}

static void machine_close(machine *m) {
    st_unit_close(m->unit);
    st_mock_machine_destroy(m->machine);
}

/* Turns take 3 us, of which 1 us is the plain step's; in every second 100 us all takes three times as long. */
static void slow_phases_do_not_show_in_turns(void **state) {
    (void)state;
    const st_mock_options options = {.wave = 2, .wave_ns = 200000};
    machine m;
    st_timing time;
    st_turns turns;
    stretto_error err;
    machine_open(&m, &options);
    assert_int_equal(st_step_time_against(&time, &turns, m.unit, &m.step, 4, &m.plain, 600000, &err), 0);
    assert_true(fabs(turns.ratio - 0.5) < 1e-9);
    assert_true(fabs(time.best_ns - 2000) < 1);
    assert_true(time.mean_ns > 2400); /* a quarter of the runs at least was slow */
    assert_true(fabs(turns.plain_ns - 1000) < 1 || fabs(turns.plain_ns - 3000) < 1);
    assert_true(time.runs % 4 == 0 && time.runs >= 600000 / 9000); /* turns take 3 to 9 us */
    assert_true(time.runs <= 600000 / 3000);
    assert_int_equal(m.work.runs, time.runs + 4); /* a pass that does not count */
    assert_int_equal(m.plain_work.runs, m.work.runs);
    machine_close(&m);
}

/* All takes twice as long after 1 ms: what stands before a run is faster than the run, what stands after it slower. */
static void drift_does_not_show_in_turns(void **state) {
    (void)state;
    const st_mock_options options = {.drift_per_s = 1000};
    machine m;
    st_timing time;
    st_turns turns;
    stretto_error err;
    machine_open(&m, &options);
    assert_int_equal(st_step_time_against(&time, &turns, m.unit, &m.step, 1, &m.plain, 1000000, &err), 0);
    assert_true(fabs(turns.ratio - 0.5) < 0.002);
    assert_true(time.median_ns > 2.5 * 1000 && time.median_ns > 1.2 * time.best_ns);
    machine_close(&m);
}

static void turns_stop_at_a_failure(void **state) {
    (void)state;
    lanes_host fake;
    st_timing time;
    st_turns turns;
    stretto_error err;
    unsigned runs = 0, plain_runs = 100;
    const st_step step = {.name = "fails", .run = fail_run, .arg = &runs};
    const st_step plain = {.name = "plain", .run = fail_run, .arg = &plain_runs};
    lanes_host_init(&fake, 1);
    st_unit *unit = lanes_open(&fake, 0, 1, 20000);
    assert_int_equal(st_step_time_against(&time, &turns, unit, &step, 1, &plain, 0, &err), STRETTO_E_INPUT);
    assert_int_equal(runs, 3);
    assert_int_equal(plain_runs, 102); /* after the first and the second */
    plain_runs = 1;
    assert_int_equal(st_step_time_against(&time, &turns, unit, &step, 1, &plain, 0, &err), STRETTO_E_INPUT);
    assert_int_equal(runs, 5);
    assert_int_equal(plain_runs, 3);
    st_unit_close(unit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_stops_at_a_failure),
        cmocka_unit_test(slow_phases_do_not_show_in_turns),
        cmocka_unit_test(drift_does_not_show_in_turns),
        cmocka_unit_test(turns_stop_at_a_failure),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
