/* SPDX-License-Identifier: MIT
 * Starting two sides from two real threads, and a whole probe in real time on the null unit. */
#include "probe/beside.h"
#include "probe/probe.h"
#include "probe/start.h"
#include "unit/event.h"
#include "unit/null.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A unit that notes which threads submit to it and are bound to it, and fails a step named "bad". */
typedef struct noting_unit {
    st_unit base;
    st_queue queue;
    pthread_t submitter, bound;
    unsigned worker;
    unsigned submissions;
} noting_unit;

static int noting_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                         stretto_error *err) {
    (void)deps, (void)n_deps, (void)err;
    noting_unit *unit = (noting_unit *)queue->unit;
    unit->submitter = pthread_self();
    unit->submissions++;
    st_event_begin(done, queue->unit);
    done->start_ns = done->submit_ns;
    done->end_ns = st_clock_now(&queue->unit->clock);
    st_event_complete(done, strcmp(step->name, "bad") == 0 ? STRETTO_E_UNIT : STRETTO_OK, NULL, step->name);
    return STRETTO_OK;
}

static bool noting_bind(st_unit *base, unsigned worker) {
    noting_unit *unit = (noting_unit *)base;
    unit->bound = pthread_self();
    unit->worker = worker;
    return true;
}

static const st_unit_ops noting_ops = {.submit = noting_submit, .wait = st_event_block, .bind = noting_bind};

static void noting_open(noting_unit *unit) {
    *unit = (noting_unit){.base = {.ops = &noting_ops, .clock = st_clock_real()}};
    unit->queue.unit = &unit->base;
}

static void each_side_is_submitted_by_its_own_thread(void **state) {
    (void)state;
    noting_unit units[2];
    st_event done[2];
    const st_step step = {.name = "step"};
    st_clock clock = st_clock_real();
    st_starter *starter;
    for (int i = 0; i < 2; i++) {
        noting_open(&units[i]);
        st_event_init(&done[i]);
    }
    assert_int_equal(st_starter_create(&starter, (st_unit *[]){&units[0].base, &units[1].base}, NULL), 0);
    for (int turn = 0; turn < 200; turn++) {
        st_start_side sides[2] = {{.queue = &units[0].queue, .step = &step, .done = &done[0]},
                                  {.queue = &units[1].queue, .step = &step, .done = &done[1]}};
        uint64_t before = st_now_ns();
        st_start_both(starter, &clock, sides);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sides[i].code, 0);
            assert_true(st_event_done(&done[i]));
            assert_true(before <= sides[i].begin_ns && sides[i].begin_ns <= done[i].end_ns);
        }
        assert_true(pthread_equal(units[0].submitter, pthread_self()));
        assert_false(pthread_equal(units[1].submitter, pthread_self()));
    }
    assert_int_equal(units[1].submissions, 200);
    assert_true(pthread_equal(units[0].bound, units[0].submitter));
    assert_true(pthread_equal(units[1].bound, units[1].submitter));
    assert_int_equal(units[0].worker, 0);
    assert_int_equal(units[1].worker, 0);
    st_start_side alone = {.queue = &units[1].queue, .step = &step, .done = &done[1]};
    st_start_second(starter, &clock, &alone);
    assert_int_equal(alone.code, 0);
    assert_int_equal(units[0].submissions, 200);
    assert_int_equal(units[1].submissions, 201);
    assert_true(pthread_equal(units[1].submitter, units[1].bound));
    st_starter_destroy(starter);
}

static void without_a_starter_one_thread_submits_both(void **state) {
    (void)state;
    noting_unit units[2];
    st_event done[2];
    const st_step good = {.name = "good"}, bad = {.name = "bad"};
    st_clock clock = st_clock_real();
    for (int i = 0; i < 2; i++) {
        noting_open(&units[i]);
        st_event_init(&done[i]);
    }
    st_start_side sides[2] = {{.queue = &units[0].queue, .step = &good, .done = &done[0]},
                              {.queue = &units[1].queue, .step = &bad, .done = &done[1]}};
    st_start_both(NULL, &clock, sides);
    assert_true(pthread_equal(units[1].submitter, pthread_self()));
    assert_int_equal(sides[0].code, 0);
    assert_int_equal(sides[1].code, STRETTO_E_UNIT);
    assert_non_null(strstr(sides[1].error.text, "bad"));
    assert_true(sides[0].begin_ns <= sides[1].begin_ns);
}

/* All arrangements with real threads and the real clock: what is measured is dispatch, so only that it holds together
 * is asserted. */
static void a_probe_runs_in_real_time(void **state) {
    (void)state;
    st_unit *units[2];
    for (unsigned i = 0; i < 2; i++) assert_int_equal(st_null_open(&units[i], i, NULL), 0);
    const st_step step[2] = {{.name = "a"}, {.name = "b"}};
    const st_step *steps[2][2] = {{&step[0], &step[0]}, {&step[1], &step[1]}};
    const st_probe_side sides[2] = {{.name = "a", .steps = steps[0]}, {.name = "b", .steps = steps[1]}};
    size_t n;
    const st_arrangement *table = st_arrangements(&n);
    st_probe_job jobs[8];
    assert_in_range(n, 4, 8);
    for (size_t i = 0; i < n; i++)
        jobs[i] = (st_probe_job){.arrangement = &table[i], .side = {0, 1}, .unit = {0, table[i].n_units != 1}};
    const st_probe_setup setup = {.title = "null",
                                  .sides = sides,
                                  .n_sides = 2,
                                  .units = units,
                                  .n_units = 2,
                                  .jobs = jobs,
                                  .n_jobs = (unsigned)n,
                                  .clock = st_clock_real(),
                                  .limits = {.rounds = 20}};
    st_probe_record record;
    assert_int_equal(st_probe_run(&setup, &record, NULL), 0);
    assert_true(record.has_conditions);
    for (size_t i = 0; i < n; i++) {
        const st_probe_row *row = &record.rows[i];
        assert_int_equal(row->n_rounds, 20);
        assert_int_equal(row->n_discarded, 0);
        assert_true(row->median_ns[row->k ? ST_ARM_BATCHED : ST_ARM_PARALLEL] > 0);
        assert_true(row->overlap.lo <= row->overlap.hi);
        assert_true(strlen(row->evidence) > 0);
    }
    st_probe_record_free(&record);
    for (unsigned i = 0; i < 2; i++) st_unit_close(units[i]);
}

#ifdef __SANITIZE_THREAD__
#define JOIN_MOST_NS 1e6
#else
#define JOIN_MOST_NS 10000
#endif

/* On a busy machine a median says more of the others: the best of some. */
static void joining_and_dispatch_cost_little(void **state) {
    (void)state;
    double best = 1e9;
    for (int i = 0; i < 20 && best >= JOIN_MOST_NS; i++) best = fmin(best, st_join_measure());
    assert_true(best > 0);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) assert_true(best < JOIN_MOST_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_is_submitted_by_its_own_thread),
        cmocka_unit_test(without_a_starter_one_thread_submits_both),
        cmocka_unit_test(a_probe_runs_in_real_time),
        cmocka_unit_test(joining_and_dispatch_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
