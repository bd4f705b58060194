/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The generator's published first outputs from the state 1, 2, 3, 4, and splitmix64's from seed 0. */
static void follows_its_paper(void **state) {
    (void)state;
    const uint64_t want[] = {
        11520, 0, 1509978240, 1215971899390074240u, 1216172134540287360u, 607988272756665600u, 16172922978634559625u};
    st_rng rng = {.s = {1, 2, 3, 4}};
    for (int i = 0; i < 7; i++) assert_true(st_rng_next(&rng) == want[i]);
    st_rng_seed(&rng, 0);
    assert_true(rng.s[0] == 0xe220a8397b1dcdafu);
    assert_true(rng.s[1] == 0x6e789e6aa1b965f4u);
}

static void below_is_even(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 1);
    enum { N = 7, DRAWS = 70000 };
    double chi = 0;
    unsigned seen[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = st_rng_below(&rng, N);
        assert_true(x < N);
        seen[x]++;
    }
    for (int i = 0; i < N; i++) chi += pow((double)seen[i] - DRAWS / N, 2) / (DRAWS / N);
    assert_true(chi < 22.5); /* 6 degrees of freedom, one in a thousand */
    assert_true(st_rng_below(&rng, 1) == 0);
}

/* With n = 3 * 2^62 taking the remainder alone would draw the lower third twice as often. */
static void below_has_no_bias(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 2);
    const uint64_t n = (uint64_t)3 << 62;
    int low = 0;
    for (int i = 0; i < 30000; i++) low += st_rng_below(&rng, n) < (uint64_t)1 << 62;
    assert_in_range(low, 9600, 10400);
}

static void unit_and_normal(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 3);
    enum { N = 100000 };
    double u = 0, n1 = 0, n2 = 0, n4 = 0;
    for (int i = 0; i < N; i++) {
        double x = st_rng_unit(&rng), z = st_rng_normal(&rng);
        assert_true(x >= 0 && x < 1);
        u += x;
        n1 += z;
        n2 += z * z;
        n4 += z * z * z * z;
    }
    assert_true(fabs(u / N - 0.5) < 0.005);
    assert_true(fabs(n1 / N) < 0.02);
    assert_true(fabs(n2 / N - 1) < 0.03);
    assert_true(fabs(n4 / N - 3) < 0.25);
}

static void shuffle_moves_all_everywhere(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 4);
    unsigned at[4][4] = {{0}};
    for (int round = 0; round < 8000; round++) {
        unsigned items[4] = {0, 1, 2, 3}, mask = 0;
        st_rng_shuffle(&rng, items, 4);
        for (int i = 0; i < 4; i++) {
            mask |= 1u << items[i];
            at[items[i]][i]++;
        }
        assert_int_equal(mask, 15);
    }
    for (int i = 0; i < 16; i++) assert_in_range(at[i / 4][i % 4], 1820, 2180);
    st_rng_shuffle(&rng, NULL, 0);
}

static void same_seed_same_numbers(void **state) {
    (void)state;
    st_rng a, b, c;
    st_rng_seed(&a, 5);
    st_rng_seed(&b, 5);
    st_rng_seed(&c, 6);
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = st_rng_next(&a);
        assert_true(x == st_rng_next(&b));
        differ += x != st_rng_next(&c);
    }
    assert_int_equal(differ, 100);
}

static uint64_t count_up(void *arg) {
    return ++*(uint64_t *)arg;
}

static void clocks(void **state) {
    (void)state;
    st_clock real = st_clock_real();
    uint64_t a = st_clock_now(&real), boot = st_boot_ns();
    volatile double x = 1;
    for (int i = 0; i < 1000000; i++) x = x * 1.0000001;
    uint64_t wall = st_now_ns() - a;
    assert_true(wall > 0);
    assert_true(st_boot_ns() > boot);
    uint64_t ticks = 41;
    const st_clock made_up = {.now = count_up, .arg = &ticks};
    assert_true(st_clock_now(&made_up) == 42);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_its_paper),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(below_has_no_bias),
        cmocka_unit_test(unit_and_normal),
        cmocka_unit_test(shuffle_moves_all_everywhere),
        cmocka_unit_test(same_seed_same_numbers),
        cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
