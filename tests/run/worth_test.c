/* SPDX-License-Identifier: MIT
 * When guessing pays, with guesses whose cost and success are known. Those of lookup are in lookup_test.c. */
#include "run/worth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STEP 1000 /* ns of a plain one */

static const double at_first[ST_WORTH_KINDS] = {0.6};

typedef struct course {
    double steps;     /* the time of all passes, in plain steps, */
    uint32_t tokens;  /* that they gave, */
    uint32_t guessed; /* and tokens of guesses */
} course;

/* Passes until so many tokens are there. Of each guess so many tokens are right; each costs token_ns. */
static course run(st_worth *w, uint32_t tokens, uint32_t right_of_each, uint64_t token_ns) {
    course c = {0};
    while (c.tokens < tokens) {
        uint32_t n = st_worth_length(w, 0, 4), right = right_of_each < n ? right_of_each : n;
        uint64_t ns = STEP + n * token_ns;
        if (n)
            st_worth_learn(w, 0, n, right, ns);
        else
            st_worth_learn_plain(w, true, ns);
        c.steps += (double)ns / STEP;
        c.tokens += right + 1;
        c.guessed += n;
    }
    return c;
}

/* Whatever a token of a guess costs: no more than its first one, and a hundredth of the time. */
static void what_is_always_wrong_is_given_up(void **state) {
    (void)state;
    for (uint64_t token_ns = 50; token_ns <= 1600; token_ns *= 2) {
        for (uint32_t tokens = 10; tokens <= 10000; tokens *= 10) {
            st_worth w;
            st_worth_init(&w, at_first, 0.5);
            course c = run(&w, tokens, 0, token_ns);
            double first = token_ns > 500 ? (double)token_ns / STEP : 0.5;
            assert_true(c.steps <= 1.01 * tokens + first + 1e-9);
            assert_true(tokens < 100 || c.guessed > 0);
        }
    }
}

/* And taken up again when it has become right. */
static void what_is_right_pays(void **state) {
    (void)state;
    st_worth w;
    st_worth_init(&w, at_first, 0.5);
    course c = run(&w, 500, 4, 300);
    assert_true(c.steps < 500 / 2.0); /* four of four: 5 tokens in 2.2 steps */
    assert_true(st_worth_pays(&w, 0));
    run(&w, 2000, 0, 300);
    assert_false(st_worth_pays(&w, 0));
    c = run(&w, 4000, 4, 300);
    assert_true(c.steps < 4000 / 1.5);
    st_worth_init(&w, at_first, 0.5);
    c = run(&w, 2000, 4, 1200); /* right, but a token costs more than a step */
    assert_true(c.steps < 1.01 * 2000 + 1.2);
}

/* Asking whether there would be a guess is no guess, but counts towards the next try. */
static void what_would_be_guessed(void **state) {
    (void)state;
    st_worth w;
    st_worth_init(&w, at_first, 0.5);
    assert_false(st_worth_would(&w, 0, 4)); /* a plain step is not known */
    st_worth_learn_plain(&w, true, STEP);
    for (int i = 0; i < 3; i++) assert_true(st_worth_would(&w, 0, 4));
    assert_false(st_worth_would(&w, 0, 0));
    assert_int_equal(st_worth_length(&w, 0, 4), 1);
    run(&w, 5000, 0, 500);
    assert_false(st_worth_pays(&w, 0));
    uint32_t asked = 0;
    while (!st_worth_would(&w, 0, 4)) asked++;
    assert_in_range(asked, 1, 512);
    assert_true(st_worth_would(&w, 0, 4));
    assert_int_equal(st_worth_length(&w, 0, 4), 1); /* the try */
    assert_false(st_worth_would(&w, 0, 4));
}

/* A step beside which something was made for later guesses says nothing of what a plain one takes, but is paid for. */
static void a_step_that_is_not_alone(void **state) {
    (void)state;
    st_worth w;
    st_worth_init(&w, at_first, 0.5);
    st_worth_learn_plain(&w, false, 3 * STEP);
    assert_int_equal(st_worth_length(&w, 0, 4), 0); /* a plain step is not known */
    assert_true(st_worth_pays(&w, 0));
    st_worth_learn_plain(&w, true, STEP);
    assert_int_equal(st_worth_length(&w, 0, 4), 1);
    st_worth_learn_plain(&w, false, STEP + STEP / 4);
    assert_int_equal(st_worth_length(&w, 0, 4), 0); /* a quarter of the half step that may be lost is gone */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_always_wrong_is_given_up),
        cmocka_unit_test(what_is_right_pays),
        cmocka_unit_test(what_would_be_guessed),
        cmocka_unit_test(a_step_that_is_not_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
