/* SPDX-License-Identifier: MIT */
#include "unit/null.h"

#include "unit/event.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int must_not_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg;
    (void)worker;
    (void)err;
    fail_msg("the null unit ran a step");
    return 0;
}

static const st_step step = {.name = "nothing", .run = must_not_run};

static st_unit *open_null(st_queue **queue) {
    st_unit *unit;
    stretto_error err;
    assert_int_equal(st_null_open(&unit, 3, &err), 0);
    assert_int_equal(st_queue_open(unit, queue, &err), 0);
    return unit;
}

static void says_what_it_is(void **state) {
    (void)state;
    st_queue *queue;
    st_unit *unit = open_null(&queue);
    st_unit_info info;
    st_unit_info_get(unit, &info);
    assert_string_equal(info.name, "null:3");
    assert_string_equal(info.kind, "null");
    assert_int_equal(info.n_threads, 1);
    assert_true(info.max_pending > 0 && info.shares_memory);
    st_unit_quiet(unit);
    st_queue_close(queue);
    st_unit_close(unit);
    st_queue_close(NULL);
    st_unit_close(NULL);
}

static void is_done_at_once(void **state) {
    (void)state;
    st_queue *queue;
    st_unit *unit = open_null(&queue);
    st_event done[2], *deps[1] = {&done[0]};
    stretto_error err;
    for (int i = 0; i < 2; i++) st_event_init(&done[i]);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(st_run_step(queue, &step, &done[0], &err), 0);
        assert_int_equal(st_submit(queue, &step, deps, 1, &done[1], &err), 0);
        assert_true(st_event_done(&done[1]));
        assert_true(done[1].submit_ns <= done[1].start_ns && done[1].start_ns == done[1].end_ns);
        assert_true(done[0].end_ns <= done[1].submit_ns);
    }
    st_queue_close(queue);
    st_unit_close(unit);
}

static void *complete_later(void *arg) {
    const struct timespec nap = {.tv_nsec = 2000000};
    nanosleep(&nap, NULL);
    const stretto_error error = {.code = STRETTO_E_UNIT, .text = "the other unit died"};
    st_event_complete(arg, STRETTO_E_UNIT, &error, "other");
    return NULL;
}

static void waits_for_others_and_passes_failure_on(void **state) {
    (void)state;
    st_queue *queue;
    st_unit *unit = open_null(&queue);
    st_event foreign, fine, done, *deps[2] = {&foreign, &fine};
    stretto_error err = {0};
    st_event_init(&foreign);
    st_event_init(&fine);
    st_event_init(&done);
    assert_int_equal(st_run_step(queue, &step, &fine, &err), 0);
    st_event_begin(&foreign, unit);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, complete_later, &foreign), 0);
    assert_int_equal(st_submit(queue, &step, deps, 2, &done, &err), 0);
    assert_true(st_event_done(&foreign));
    assert_int_equal(st_event_wait(&done, &err), STRETTO_E_UNIT);
    assert_string_equal(err.text, "the other unit died");
    pthread_join(other, NULL);
    st_queue_close(queue);
    st_unit_close(unit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(is_done_at_once),
        cmocka_unit_test(waits_for_others_and_passes_failure_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
