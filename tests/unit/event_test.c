/* SPDX-License-Identifier: MIT */
#include "unit/event.h"

#include "base/error.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t ticks(void *arg) {
    return ++*(uint64_t *)arg;
}

/* A unit that only begins events; the test completes them. Refuses when told to. */
typedef struct hand_unit {
    st_unit unit;
    uint64_t time;
    bool refuse;
    unsigned submitted;
} hand_unit;

static int hand_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                       stretto_error *err) {
    (void)deps;
    (void)n_deps;
    hand_unit *hand = (hand_unit *)queue->unit;
    if (hand->refuse) return st_fail(err, STRETTO_E_UNIT, "no room for %s", step->name);
    hand->submitted++;
    st_event_begin(done, queue->unit);
    return 0;
}

static const st_unit_ops hand_ops = {.submit = hand_submit, .wait = st_event_block};

static hand_unit hand_make(void) {
    return (hand_unit){.unit = {.ops = &hand_ops, .clock = {.now = ticks}}};
}

typedef struct ear {
    st_listener listener;
    unsigned heard;
    int code;
    char text[64];
} ear;

static void hear(st_listener *listener, int code, const stretto_error *error) {
    ear *e = (ear *)listener;
    e->heard++;
    e->code = code;
    snprintf(e->text, sizeof e->text, "%.63s", error->text);
}

static void listeners_hear_once(void **state) {
    (void)state;
    hand_unit hand = hand_make();
    hand.unit.clock.arg = &hand.time;
    st_event event;
    st_event_init(&event);
    assert_false(st_event_done(&event));
    for (int round = 0; round < 2; round++) {
        ear ears[3] = {{.listener.fn = hear}, {.listener.fn = hear}, {.listener.fn = hear}};
        st_event_begin(&event, &hand.unit);
        assert_true(event.submit_ns == (uint64_t)round + 1);
        assert_false(st_event_done(&event));
        for (int i = 0; i < 2; i++) assert_true(st_event_listen(&event, &ears[i].listener));
        stretto_error error;
        st_fail(&error, STRETTO_E_INPUT, "broken %d", round);
        st_event_complete(&event, round == 0 ? 0 : STRETTO_E_INPUT, &error, "s");
        assert_true(st_event_done(&event));
        assert_false(st_event_listen(&event, &ears[2].listener));
        for (int i = 0; i < 3; i++) assert_int_equal(ears[i].heard, i < 2);
        assert_int_equal(ears[0].code, round == 0 ? 0 : STRETTO_E_INPUT);
        assert_string_equal(ears[1].text, round == 0 ? "" : "broken 1");
    }
}

static void a_failure_always_has_a_reason(void **state) {
    (void)state;
    hand_unit hand = hand_make();
    hand.unit.clock.arg = &hand.time;
    st_event event;
    st_event_init(&event);
    const stretto_error empty = {0};
    for (int i = 0; i < 2; i++) {
        st_event_begin(&event, &hand.unit);
        st_event_complete(&event, STRETTO_E_UNIT, i == 0 ? NULL : &empty, "chunk 3");
        stretto_error err = {0};
        assert_int_equal(st_event_wait(&event, &err), STRETTO_E_UNIT);
        assert_int_equal(err.code, STRETTO_E_UNIT);
        assert_non_null(strstr(err.text, "chunk 3"));
        assert_int_equal(st_event_wait(&event, NULL), STRETTO_E_UNIT);
    }
    st_event_begin(&event, &hand.unit);
    st_event_complete(&event, 0, NULL, "chunk 3");
    stretto_error err = {.code = 5};
    assert_int_equal(st_event_wait(&event, &err), 0);
    assert_int_equal(err.code, 5);
}

static void misuse_is_refused(void **state) {
    (void)state;
    hand_unit hand = hand_make();
    hand.unit.clock.arg = &hand.time;
    st_queue queue = {.unit = &hand.unit};
    const st_step step = {.name = "chunk 1"};
    st_event events[2], *many[ST_UNIT_MAX_DEPS + 1];
    st_event *dep = &events[0], *done = &events[1];
    stretto_error err = {0};
    st_event_init(dep);
    st_event_init(done);
    assert_int_equal(st_event_wait(done, &err), STRETTO_E_INTERNAL);
    assert_int_equal(st_submit(&queue, &step, &dep, 1, done, &err), STRETTO_E_INTERNAL);
    assert_non_null(strstr(err.text, "chunk 1"));
    assert_int_equal(st_submit(&queue, &step, &done, 1, done, &err), STRETTO_E_INTERNAL);
    assert_int_equal(st_submit(&queue, &step, NULL, 0, dep, &err), 0);
    assert_int_equal(st_submit(&queue, &step, NULL, 0, dep, &err), STRETTO_E_INTERNAL);
    for (size_t i = 0; i <= ST_UNIT_MAX_DEPS; i++) many[i] = dep;
    assert_int_equal(st_submit(&queue, &step, many, ST_UNIT_MAX_DEPS + 1, done, &err), STRETTO_E_USAGE);
    assert_int_equal(st_submit(&queue, &step, many, ST_UNIT_MAX_DEPS, done, &err), 0);
    assert_int_equal(hand.submitted, 2);
    st_event_complete(dep, 0, NULL, NULL);
    st_event_complete(done, 0, NULL, NULL);
    hand.refuse = true;
    assert_int_equal(st_submit(&queue, &step, &dep, 1, done, &err), STRETTO_E_UNIT);
    assert_int_equal(st_event_wait(done, &err), STRETTO_E_INTERNAL); /* idle again */
}

/* Completes events from another thread, with pauses longer and shorter than a waiter spins. */
enum { CROSSINGS = 200 };
typedef struct crossing {
    st_event events[CROSSINGS];
    int payload[CROSSINGS];
} crossing;

static void *complete_all(void *arg) {
    crossing *c = arg;
    for (int i = 0; i < CROSSINGS; i++) {
        const struct timespec nap = {.tv_nsec = 100000};
        if (i % 3 == 0) nanosleep(&nap, NULL);
        c->payload[i] = i + 1;
        st_event_complete(&c->events[i], i % 5 == 0 ? STRETTO_E_UNIT : 0, NULL, "x");
    }
    return NULL;
}

static void *wait_all(void *arg) {
    crossing *c = arg;
    intptr_t sum = 0;
    for (int i = 0; i < CROSSINGS; i++) {
        int code = st_event_wait(&c->events[i], NULL);
        sum += code == (i % 5 == 0 ? STRETTO_E_UNIT : 0) ? c->payload[i] : 0;
    }
    return (void *)sum;
}

static void waiters_wake(void **state) {
    (void)state;
    hand_unit hand = hand_make();
    hand.unit.clock.arg = &hand.time;
    static crossing c;
    for (int i = 0; i < CROSSINGS; i++) {
        st_event_init(&c.events[i]);
        st_event_begin(&c.events[i], &hand.unit);
    }
    pthread_t completer, waiters[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&waiters[i], NULL, wait_all, &c), 0);
    assert_int_equal(pthread_create(&completer, NULL, complete_all, &c), 0);
    pthread_join(completer, NULL);
    for (int i = 0; i < 2; i++) {
        void *sum;
        pthread_join(waiters[i], &sum);
        assert_int_equal((intptr_t)sum, CROSSINGS * (CROSSINGS + 1) / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners_hear_once),
        cmocka_unit_test(a_failure_always_has_a_reason),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(waiters_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
