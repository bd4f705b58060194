/* SPDX-License-Identifier: MIT
 * Guesses from the text so far, and when they are made. */
#include "run/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_MAX 4000

/* A plain step takes 1,000 ns. */
static st_lookup *make(uint32_t n_max) {
    st_lookup *l = NULL;
    stretto_error err = {0};
    int32_t guess[2];
    assert_int_equal(st_lookup_create(&l, n_max, &err), STRETTO_OK);
    static const int32_t again[] = {1, 2, 3, 1, 2};
    for (unsigned i = 0; i < 5; i++) st_lookup_add(l, again[i]);
    assert_int_equal(st_lookup_guess(l, guess, 2), 0); /* what it would cost is not known */
    st_lookup_learn(l, 0, 0, 1000);
    st_lookup_reset(l);
    return l;
}

static void add(st_lookup *l, const int32_t *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) st_lookup_add(l, ids[i]);
}

static void guesses_what_followed(void **state) {
    (void)state;
    static const int32_t text[] = {5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 5, 6, 7, 8};
    int32_t guess[ST_LOOKUP_MAX];
    st_lookup *l = make(N_MAX);
    add(l, text, 4);
    assert_int_equal(st_lookup_guess(l, guess, 4), 0); /* nothing stood before */
    add(l, text + 4, 10);
    uint32_t n = st_lookup_guess(l, guess, 4);
    assert_in_range(n, 1, 4);
    assert_memory_equal(guess, text + 4, n * sizeof *guess);
    assert_int_equal(st_lookup_guess(l, guess, 1), 1);
    assert_int_equal(st_lookup_guess(l, guess, 0), 0);
    st_lookup_reset(l);
    add(l, text + 10, 4);
    assert_int_equal(st_lookup_guess(l, guess, 4), 0); /* forgotten */
    st_lookup_free(l);
}

/* The latest of several places wins, and a text that repeats itself goes on so beyond its end. */
static void latest_and_repeating(void **state) {
    (void)state;
    static const int32_t text[] = {1, 2, 3, 90, 1, 2, 3, 91, 4, 1, 2, 3}, ab[] = {7, 8, 7, 8, 7, 8, 7};
    int32_t guess[ST_LOOKUP_MAX];
    st_lookup *l = make(N_MAX);
    add(l, text, 12);
    assert_true(st_lookup_guess(l, guess, 3) >= 1);
    assert_int_equal(guess[0], 91);
    st_lookup_reset(l);
    add(l, ab, 7);
    for (int i = 0; i < 40; i++) { /* always right: the longest guess pays */
        uint32_t n = st_lookup_guess(l, guess, 6);
        st_lookup_learn(l, n, n, 1000);
    }
    assert_int_equal(st_lookup_guess(l, guess, 6), 6);
    for (int i = 0; i < 6; i++) assert_int_equal(guess[i], i % 2 ? 7 : 8);
    st_lookup_free(l);
}

/* A text in which every pair returns with another continuation: guesses are always wrong. */
static uint32_t guessed_rows(uint32_t right_of_each, uint64_t row_ns, uint32_t steps) {
    int32_t guess[ST_LOOKUP_MAX];
    uint32_t rows = 0;
    st_lookup *l = make(N_MAX);
    for (uint32_t i = 0; i < steps; i++) {
        st_lookup_add(l, 1);
        st_lookup_add(l, 2);
        uint32_t n = st_lookup_guess(l, guess, 8);
        st_lookup_learn(l, n, right_of_each < n ? right_of_each : n, 1000 + n * row_ns);
        st_lookup_add(l, (int32_t)(100 + i));
        rows += n;
    }
    st_lookup_free(l);
    return rows;
}

static void stops_where_it_does_not_pay(void **state) {
    (void)state;
    assert_in_range(guessed_rows(0, 150, 1000), 1, 30);   /* tries at first, then hardly ever: 3 % of 1,000 steps */
    assert_true(guessed_rows(8, 150, 1000) > 3000);       /* all right: long guesses, every time */
    assert_in_range(guessed_rows(8, 1000, 1000), 1, 400); /* all right, but each row costs a step of its own */
}

/* Tokens of a text that returns to the same pair again and again, where each guessed token is right with so many
 * thousandths of probability if those before were: the time for `tokens` of them, in plain steps, over that without
 * guesses. A row more costs row_ns of a step's 1,000. */
typedef struct script {
    uint32_t right_of_1000, then_of_1000; /* in the first half, in the second */
    uint64_t row_ns;
    uint32_t tokens;
} script;

static double time_over_plain(const script *s) {
    int32_t guess[ST_LOOKUP_MAX];
    uint64_t ns = 0, random = 12345;
    uint32_t done = 0;
    st_lookup *l = make(N_MAX);
    for (uint32_t i = 0; i < 4; i++) st_lookup_add(l, (int32_t)(1 + i % 2));
    while (done < s->tokens) {
        uint32_t left = s->tokens - done - 1,
                 n = st_lookup_guess(l, guess, left < ST_LOOKUP_MAX ? left : ST_LOOKUP_MAX);
        uint32_t chance = done < s->tokens / 2 ? s->right_of_1000 : s->then_of_1000, right = 0;
        for (; right < n; right++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            if ((random >> 33) % 1000 >= chance) break;
        }
        uint64_t pass_ns = 1000 + n * s->row_ns;
        st_lookup_learn(l, n, right, pass_ns);
        for (uint32_t i = 0; i < 2; i++) st_lookup_add(l, (int32_t)(1 + i % 2)); /* the pair again */
        ns += pass_ns;
        done += right + 1;
    }
    st_lookup_free(l);
    return (double)ns / (1000.0 * s->tokens);
}

/* Whatever the acceptance, the cost of a row and the length: never more than half a step and a hundredth slower. */
static void never_loses_more_than_its_budget(void **state) {
    (void)state;
    static const uint32_t chances[] = {0, 50, 150, 300, 500, 700, 900, 1000}, lengths[] = {8, 24, 96, 400, 3000};
    static const uint64_t rows[] = {20, 100, 200, 500, 1000};
    for (unsigned i = 0; i < 8 * 8 * 5 * 5; i++) {
        script s = {.right_of_1000 = chances[i % 8],
                    .then_of_1000 = chances[i / 8 % 8],
                    .row_ns = rows[i / 64 % 5],
                    .tokens = lengths[i / 320]};
        double allowed = 1.01 + 0.5 / s.tokens;
        /* Rows that cost more than was thought are found out by the first guess. */
        if (s.row_ns > 200) allowed += 2.0 * (double)(s.row_ns - 200) / 1000 / s.tokens;
        if (time_over_plain(&s) > allowed + 1e-9)
            fail_msg("%.3f of the plain time, %.3f allowed: %u and %u of 1000 right, a row costs %u of 1000, %u tokens",
                     time_over_plain(&s), allowed, s.right_of_1000, s.then_of_1000, (unsigned)s.row_ns, s.tokens);
    }
}

static void gains_where_it_is_right(void **state) {
    (void)state;
    script copies = {.right_of_1000 = 950, .then_of_1000 = 950, .row_ns = 200, .tokens = 96};
    assert_true(time_over_plain(&copies) < 1 / 1.6);
    copies.row_ns = 100;
    assert_true(time_over_plain(&copies) < 1 / 2.2);
    script later = {.right_of_1000 = 0, .then_of_1000 = 1000, .row_ns = 150, .tokens = 1000};
    assert_true(time_over_plain(&later) < 0.9); /* found out again after it had given up */
}

/* Never wrong memory: a text longer than what is remembered, ids of all sizes, hashes that meet. */
static void odd_texts(void **state) {
    (void)state;
    int32_t guess[ST_LOOKUP_MAX], text[600];
    for (uint32_t n_max = 0; n_max < 200; n_max += 13) {
        st_lookup *l = make(n_max);
        for (uint32_t i = 0; i < 600; i++) {
            text[i] = i % 7 ? (int32_t)(i * i % 11) : INT32_MAX - (int32_t)i;
            st_lookup_add(l, text[i]);
            uint32_t n = st_lookup_guess(l, guess, ST_LOOKUP_MAX + 9);
            assert_in_range(n, 0, ST_LOOKUP_MAX);
            for (uint32_t g = 0; g < n; g++) {
                bool known = false;
                for (uint32_t k = 0; k <= i && k < n_max; k++) known = known || text[k] == guess[g];
                assert_true(known);
            }
        }
        st_lookup_free(l);
    }
    st_lookup_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guesses_what_followed),       cmocka_unit_test(latest_and_repeating),
        cmocka_unit_test(stops_where_it_does_not_pay), cmocka_unit_test(never_loses_more_than_its_budget),
        cmocka_unit_test(gains_where_it_is_right),     cmocka_unit_test(odd_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
