/* SPDX-License-Identifier: MIT */
#include "unit/event.h"
#include "unit/mock.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A machine with up to two units, two queues and two events: enough for what a pair does. */
typedef struct bench {
    st_mock_machine *machine;
    st_unit *unit[2];
    st_queue *queue[2];
    st_event done[2];
    st_mock_work work[2];
    st_step step[2];
} bench;

static void bench_open(bench *b, st_mock_options machine, const st_mock_unit_options *units, unsigned n_units) {
    assert_int_equal(st_mock_machine_create(&b->machine, &machine, NULL), 0);
    for (unsigned i = 0; i < n_units; i++) assert_int_equal(st_mock_open(&b->unit[i], b->machine, &units[i], NULL), 0);
    if (n_units == 1) b->unit[1] = NULL;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(st_queue_open(b->unit[n_units == 2 ? i : 0], &b->queue[i], NULL), 0);
        st_event_init(&b->done[i]);
    }
}

static void bench_close(bench *b) {
    for (unsigned i = 0; i < 2; i++) st_queue_close(b->queue[i]);
    for (unsigned i = 0; i < 2; i++) st_unit_close(b->unit[i]);
    st_mock_machine_destroy(b->machine);
}

static uint64_t bench_now(bench *b) {
    st_clock clock = st_mock_clock(b->machine);
    return st_clock_now(&clock);
}

/* Submits both steps at the present time and waits for both; ends are counted from then. */
static void bench_pair(bench *b, uint64_t ns0, uint64_t bytes0, uint64_t ns1, uint64_t bytes1, uint64_t end[2]) {
    uint64_t begin = bench_now(b);
    b->work[0] = (st_mock_work){.ns = ns0};
    b->work[1] = (st_mock_work){.ns = ns1};
    b->step[0] = st_mock_step("zero", &b->work[0], bytes0);
    b->step[1] = st_mock_step("one", &b->work[1], bytes1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(st_submit(b->queue[i], &b->step[i], NULL, 0, &b->done[i], NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(st_event_wait(&b->done[i], NULL), 0);
        end[i] = b->done[i].end_ns - begin;
    }
}

static void a_fifo_device_runs_one_after_the_other(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "mock:0"}, 1);
    uint64_t end[2];
    bench_pair(&b, 1000, 0, 400, 0, end);
    assert_int_equal(end[0], 1000);
    assert_int_equal(end[1], 1400);
    assert_int_equal(b.done[1].start_ns, 1000);
    assert_int_equal(bench_now(&b), 1400);
    assert_int_equal(b.work[0].runs, 1);
    bench_close(&b);
}

static void latencies_of_waiting_steps_overlap(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "m", .latency_ns = 300}, 1);
    uint64_t end[2];
    bench_pair(&b, 1000, 0, 1000, 0, end);
    assert_int_equal(end[0], 1300);
    assert_int_equal(end[1], 2300);
    bench_close(&b);
}

static void several_engines_overlap(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "m", .engines = 2}, 1);
    uint64_t end[2];
    bench_pair(&b, 1000, 0, 400, 0, end);
    assert_int_equal(end[0], 1000);
    assert_int_equal(end[1], 400);
    bench_close(&b);
}

static void time_slices_stretch_both(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "m", .kind = ST_MOCK_TIME_SLICED}, 1);
    uint64_t end[2];
    bench_pair(&b, 100000, 0, 250000, 0, end);
    assert_int_equal(end[0], 200000); /* the shorter at twice its time */
    assert_int_equal(end[1], 350000); /* the other at the sum */
    bench_close(&b);
}

static const st_mock_unit_options two_units[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

static void units_are_independent(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, two_units, 2);
    uint64_t end[2];
    bench_pair(&b, 1000, 700, 1500, 1400, end);
    assert_int_equal(end[0], 1000);
    assert_int_equal(end[1], 1500);
    bench_close(&b);
}

/* 0.9 and 0.6 bytes/ns are wanted where 1 is to be had: both run at 2/3. At 150 us the first is done; the second has
 * 100 of its 200 us left, now at full speed. */
static void bandwidth_is_shared_in_proportion(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){.bytes_per_ns = 1}, two_units, 2);
    uint64_t end[2];
    bench_pair(&b, 100000, 90000, 200000, 120000, end);
    assert_int_equal(end[0], 150000);
    assert_int_equal(end[1], 250000);
    bench_pair(&b, 100000, 90000, 200000, 0, end); /* arithmetic alone is not slowed */
    assert_int_equal(end[0], 100000);
    assert_int_equal(end[1], 200000);
    bench_close(&b);
}

static void oversubscribed_cores_are_shared(void **state) {
    (void)state;
    const unsigned both[] = {0, 1}, last[] = {1};
    const st_mock_unit_options units[2] = {{.name = "cpu:0+1", .cores = both, .n_cores = 2},
                                           {.name = "cpu:1", .cores = last, .n_cores = 1}};
    bench b;
    uint64_t end[2];
    bench_open(&b, (st_mock_options){0}, units, 2);
    bench_pair(&b, 1000, 0, 1000, 0, end); /* core 1 has two threads, and a step waits for its slowest */
    assert_int_equal(end[0], 2000);
    assert_int_equal(end[1], 2000);
    bench_close(&b);
    bench_open(&b, (st_mock_options){.oversubscribed = 0.5}, units, 2);
    bench_pair(&b, 1000, 0, 1000, 0, end);
    assert_int_equal(end[0], 3000);
    bench_close(&b);
    const st_mock_unit_options many = {.name = "cpu:1", .cores = last, .n_cores = 1, .n_threads = 8};
    bench_open(&b, (st_mock_options){0}, &many, 1);
    bench_pair(&b, 1000, 0, 1000, 0, end);
    assert_int_equal(end[0], 8000);
    st_unit_info info;
    st_unit_info_get(b.unit[0], &info);
    assert_string_equal(info.kind, "mock");
    assert_int_equal(info.n_threads, 8);
    assert_int_equal(info.cores[0], 1);
    bench_close(&b);
}

static void dependencies_cross_units(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, two_units, 2);
    b.work[0] = (st_mock_work){.ns = 500};
    b.step[0] = st_mock_step("first", &b.work[0], 0);
    st_event *dep = &b.done[0];
    st_event third;
    st_event_init(&third);
    assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &b.done[0], NULL), 0);
    assert_int_equal(st_submit(b.queue[1], &b.step[0], &dep, 1, &b.done[1], NULL), 0);
    assert_int_equal(st_event_wait(&b.done[1], NULL), 0);
    assert_int_equal(b.done[1].start_ns, 500);
    assert_int_equal(st_submit(b.queue[1], &b.step[0], &dep, 1, &third, NULL), 0); /* one that is done already */
    assert_int_equal(st_event_wait(&third, NULL), 0);
    assert_int_equal(third.end_ns, 1500);
    bench_close(&b);
}

static void a_dying_unit_fails_its_step_and_those_that_depend(void **state) {
    (void)state;
    const st_mock_unit_options units[2] = {{.name = "mock:0", .dies_at = 2}, {.name = "mock:1"}};
    bench b;
    bench_open(&b, (st_mock_options){0}, units, 2);
    b.work[0] = (st_mock_work){.ns = 500};
    b.step[0] = st_mock_step("c1", &b.work[0], 0);
    stretto_error err;
    assert_int_equal(st_run_step(b.queue[0], &b.step[0], &b.done[0], &err), 0);
    assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &b.done[0], &err), 0);
    st_event *dep = &b.done[0];
    assert_int_equal(st_submit(b.queue[1], &b.step[0], &dep, 1, &b.done[1], &err), 0);
    assert_int_equal(st_event_wait(&b.done[1], &err), STRETTO_E_UNIT);
    assert_string_equal(err.text, "unit mock:0 died while it ran step c1");
    assert_int_equal(st_event_wait(&b.done[0], &err), STRETTO_E_UNIT);
    assert_int_equal(b.work[0].runs, 2);
    assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &b.done[0], &err), STRETTO_E_UNIT);
    assert_string_equal(err.text, "unit mock:0 is gone: it died at submission 2");
    assert_int_equal(st_run_step(b.queue[1], &b.step[0], &b.done[1], &err), 0); /* the other lives on */
    bench_close(&b);
}

static void a_full_queue_refuses(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "m"}, 1);
    b.work[0] = (st_mock_work){.ns = 5};
    b.step[0] = st_mock_step("s", &b.work[0], 0);
    st_unit_info info;
    st_unit_info_get(b.unit[0], &info);
    st_event events[256];
    assert_in_range(info.max_pending, 1, 255);
    for (unsigned i = 0; i <= info.max_pending; i++) st_event_init(&events[i]);
    for (unsigned i = 0; i < info.max_pending; i++)
        assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &events[i], NULL), 0);
    stretto_error err;
    assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &events[info.max_pending], &err), STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, "full"));
    bench_close(&b); /* waits for what is pending */
    assert_true(st_event_done(&events[info.max_pending - 1]));
    assert_int_equal(events[info.max_pending - 1].end_ns, 5 * info.max_pending);
}

/* Solo durations of n runs in a row of a step of 1 ms. */
static void bench_solo(st_mock_options options, unsigned n, uint64_t *ns) {
    bench b;
    bench_open(&b, options, &(st_mock_unit_options){.name = "m"}, 1);
    b.work[0] = (st_mock_work){.ns = 1000000, .cold_ns = n < 10 ? 500000 : 0};
    b.step[0] = st_mock_step("s", &b.work[0], 0);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(st_run_step(b.queue[0], &b.step[0], &b.done[0], NULL), 0);
        ns[i] = b.done[0].end_ns - b.done[0].start_ns;
    }
    bench_close(&b);
}

static void noise_has_its_sigma_and_repeats_with_its_seed(void **state) {
    (void)state;
    enum { N = 20000 };
    static uint64_t ns[N], again[N];
    bench_solo((st_mock_options){.seed = 7, .sigma = 0.05}, N, ns);
    bench_solo((st_mock_options){.seed = 7, .sigma = 0.05}, N, again);
    assert_memory_equal(ns, again, sizeof ns);
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < N; i++) {
        double log_ratio = log((double)ns[i] / 1e6);
        sum += log_ratio;
        squares += log_ratio * log_ratio;
    }
    assert_true(fabs(sum / N) < 0.002);
    assert_true(fabs(sqrt(squares / N) - 0.05) < 0.001);
    bench_solo((st_mock_options){.seed = 8, .sigma = 0.05}, N, again);
    assert_memory_not_equal(ns, again, sizeof ns);
}

static void outliers_drift_slow_phases_and_a_cold_run(void **state) {
    (void)state;
    enum { N = 10000 };
    static uint64_t ns[N];
    bench_solo((st_mock_options){.outlier_share = 0.1, .outlier_factor = 3}, N, ns);
    unsigned outliers = 0;
    for (unsigned i = 0; i < N; i++) {
        assert_true(ns[i] == 1000000 || ns[i] == 3000000);
        outliers += ns[i] == 3000000;
    }
    assert_in_range(outliers, N / 10 - 150, N / 10 + 150);
    bench_solo((st_mock_options){.drift_per_s = 0.1}, 1000, ns); /* about a second: t' = 1 + 0.1 t */
    assert_int_equal(ns[0], 1000000);
    assert_in_range(ns[999], 1100000, 1110000);
    bench_solo((st_mock_options){.wave = 0.5, .wave_ns = 10000000}, 20, ns);
    assert_int_equal(ns[4], 1000000);
    assert_int_equal(ns[5], 1500000);
    bench_solo((st_mock_options){0}, 3, ns);
    assert_int_equal(ns[0], 1500000);
    assert_int_equal(ns[1], 1000000);
}

static void time_passes_only_when_told(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){.sleep_at_ns = 5000, .sleep_ns = 77},
               &(st_mock_unit_options){.name = "m", .submit_ns = 10}, 1);
    st_clock boot = st_mock_boot_clock(b.machine);
    b.work[0] = (st_mock_work){.ns = 1000};
    b.step[0] = st_mock_step("s", &b.work[0], 0);
    assert_int_equal(st_submit(b.queue[0], &b.step[0], NULL, 0, &b.done[0], NULL), 0);
    assert_int_equal(bench_now(&b), 10); /* the submission itself took that long */
    assert_int_equal(st_clock_now(&boot), 10);
    st_mock_advance(b.machine, 600);
    assert_false(st_event_done(&b.done[0]));
    st_mock_advance(b.machine, 600);
    assert_true(st_event_done(&b.done[0]));
    assert_int_equal(b.done[0].end_ns, 1010);
    st_mock_advance(b.machine, 5000);
    assert_int_equal(bench_now(&b), 6210);
    assert_int_equal(st_clock_now(&boot), 6287);
    bench_close(&b);
}

static void trace_append(void *arg, const char *unit, const st_step *step, uint64_t start_ns) {
    char *text = arg;
    size_t len = strlen(text);
    snprintf(text + len, 200 - len, "%s %s %llu; ", unit, step->name, (unsigned long long)start_ns);
}

static void every_start_is_traced(void **state) {
    (void)state;
    char text[200] = "";
    bench b;
    bench_open(&b, (st_mock_options){.trace = trace_append, .trace_arg = text}, two_units, 2);
    uint64_t end[2];
    bench_pair(&b, 30, 0, 20, 0, end);
    bench_pair(&b, 30, 0, 20, 0, end);
    bench_close(&b);
    assert_string_equal(text, "mock:0 zero 0; mock:1 one 0; mock:0 zero 30; mock:1 one 30; ");
}

static void *run_many(void *arg) {
    bench *b = arg;
    st_event done;
    st_event_init(&done);
    st_queue *queue;
    if (st_queue_open(b->unit[1], &queue, NULL) != 0) return "no queue";
    for (int i = 0; i < 2000; i++)
        if (st_run_step(queue, &b->step[1], &done, NULL) != 0) return "a step failed";
    st_queue_close(queue);
    return NULL;
}

static void threads_may_share_a_machine(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, two_units, 2);
    uint64_t end[2];
    bench_pair(&b, 100, 0, 100, 0, end);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_many, &b), 0);
    for (int i = 0; i < 2000; i++) assert_int_equal(st_run_step(b.queue[0], &b.step[0], &b.done[0], NULL), 0);
    void *complaint;
    pthread_join(thread, &complaint);
    assert_null(complaint);
    assert_in_range(bench_now(&b), 200100, 400100); /* between all overlapped and none */
    assert_int_equal(b.work[0].runs + b.work[1].runs, 4002);
    bench_close(&b);
}

/* A unit of real time: its one event is completed by another thread. */
static const st_unit_ops foreign_ops = {.wait = st_event_block};
static uint64_t foreign_now(void *arg) {
    (void)arg;
    return 0;
}
static void *foreign_complete(void *arg) {
    st_event_complete(arg, STRETTO_E_IO, &(stretto_error){.text = "a foreign reason"}, "foreign");
    return NULL;
}

static void a_dependency_may_be_of_another_kind_of_unit(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, &(st_mock_unit_options){.name = "m"}, 1);
    b.work[0] = (st_mock_work){.ns = 1000};
    b.step[0] = st_mock_step("s", &b.work[0], 0);
    st_unit foreign = {.ops = &foreign_ops, .clock.now = foreign_now};
    st_event event;
    st_event *dep = &event;
    st_event_init(&event);
    st_event_begin(&event, &foreign);
    assert_int_equal(st_submit(b.queue[0], &b.step[0], &dep, 1, &b.done[0], NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, foreign_complete, &event), 0);
    stretto_error err;
    assert_int_equal(st_event_wait(&b.done[0], &err), STRETTO_E_IO);
    assert_string_equal(err.text, "a foreign reason");
    pthread_join(thread, NULL);
    assert_int_equal(b.work[0].runs, 0);
    bench_close(&b);
}

static void rounds_are_cheap_and_stay_exact(void **state) {
    (void)state;
    bench b;
    bench_open(&b, (st_mock_options){0}, two_units, 2);
    uint64_t end[2];
    for (int i = 0; i < 100000; i++) bench_pair(&b, 10000000, 0, 7000001, 0, end);
    assert_int_equal(end[1], 7000001);
    assert_int_equal(bench_now(&b), 1000000000000);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifo_device_runs_one_after_the_other),
        cmocka_unit_test(latencies_of_waiting_steps_overlap),
        cmocka_unit_test(several_engines_overlap),
        cmocka_unit_test(time_slices_stretch_both),
        cmocka_unit_test(units_are_independent),
        cmocka_unit_test(bandwidth_is_shared_in_proportion),
        cmocka_unit_test(oversubscribed_cores_are_shared),
        cmocka_unit_test(dependencies_cross_units),
        cmocka_unit_test(a_dying_unit_fails_its_step_and_those_that_depend),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(noise_has_its_sigma_and_repeats_with_its_seed),
        cmocka_unit_test(outliers_drift_slow_phases_and_a_cold_run),
        cmocka_unit_test(time_passes_only_when_told),
        cmocka_unit_test(every_start_is_traced),
        cmocka_unit_test(threads_may_share_a_machine),
        cmocka_unit_test(a_dependency_may_be_of_another_kind_of_unit),
        cmocka_unit_test(rounds_are_cheap_and_stay_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
