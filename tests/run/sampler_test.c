/* SPDX-License-Identifier: MIT */
#include "run/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N 8
#define DRAWS 20000

/* Probabilities 0.4, 0.3, 0.15, 0.1, 0.05 of ids 3, 1, 6, 0, 5; the others have none. */
static const float logits[N] = {-2.302585f, -1.203973f, -INFINITY, -0.916291f, -INFINITY, -2.995732f, -1.897120f, NAN};
static const double probability[N] = {0.1, 0.3, 0, 0.4, 0, 0.05, 0.15, 0};

static st_sampler *sampler(st_sampler_options options) {
    st_sampler *s = NULL;
    stretto_error err;
    assert_int_equal(st_sampler_create(&s, &options, N, &err), 0);
    return s;
}

/* Shares of each id among many draws. */
static void draw(st_sampler_options options, double *shares) {
    st_sampler *s = sampler(options);
    unsigned counts[N] = {0};
    for (int i = 0; i < DRAWS; i++) counts[st_sampler_pick(s, logits)]++;
    for (int i = 0; i < N; i++) shares[i] = (double)counts[i] / DRAWS;
    st_sampler_free(s);
}

/* Within five standard errors of a share of `kept` ids, renormalised. */
static void check_shares(const double *shares, const double *weights) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += weights[i];
    for (int i = 0; i < N; i++) {
        double p = weights[i] / sum;
        double tolerance = 5 * sqrt(p * (1 - p) / DRAWS);
        if (fabs(shares[i] - p) > tolerance) fail_msg("id %d: %g of the draws, expected %g", i, shares[i], p);
    }
}

static void test_greedy(void **state) {
    (void)state;
    st_sampler *s = sampler((st_sampler_options){.seed = 5});
    assert_true(st_sampler_is_argmax(s));
    for (int i = 0; i < 5; i++) assert_int_equal(st_sampler_pick(s, logits), 3);
    st_sampler_free(s);
    const float equal[N] = {1, 2, 2, 1, 2, 0, 0, 0};
    s = sampler((st_sampler_options){0});
    assert_int_equal(st_sampler_pick(s, equal), 1);
    st_sampler_free(s);
}

static void test_plain_temperature(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 1, .seed = 1}, shares);
    check_shares(shares, probability);
}

static void test_temperature_sharpens(void **state) {
    (void)state;
    double shares[N], weights[N];
    for (int i = 0; i < N; i++) weights[i] = pow(probability[i], 1 / 0.5);
    draw((st_sampler_options){.temperature = 0.5, .seed = 2}, shares);
    check_shares(shares, weights);
}

static void test_top_k(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 1, .top_k = 2, .seed = 3}, shares);
    check_shares(shares, (const double[N]){0, 0.3, 0, 0.4, 0, 0, 0, 0});
    draw((st_sampler_options){.temperature = 1, .top_k = 1, .seed = 3}, shares);
    check_shares(shares, (const double[N]){0, 0, 0, 1, 0, 0, 0, 0});
}

static void test_top_p(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 1, .top_p = 0.75, .seed = 4}, shares); /* 0.4 + 0.3 < 0.75 */
    check_shares(shares, (const double[N]){0, 0.3, 0, 0.4, 0, 0, 0.15, 0});
    draw((st_sampler_options){.temperature = 1, .top_p = 0.65, .seed = 4}, shares);
    check_shares(shares, (const double[N]){0, 0.3, 0, 0.4, 0, 0, 0, 0});
    draw((st_sampler_options){.temperature = 1, .top_p = 1e-9, .seed = 4}, shares);
    check_shares(shares, (const double[N]){0, 0, 0, 1, 0, 0, 0, 0});
}

static void test_min_p(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 1, .min_p = 0.3, .seed = 5}, shares); /* at least 0.12 */
    check_shares(shares, (const double[N]){0, 0.3, 0, 0.4, 0, 0, 0.15, 0});
}

/* Top-p counts within what top-k left: 0.4 of 0.85, so 0.6 of it needs two; min-p then cuts the second. */
static void test_filters_combine(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 1, .top_k = 3, .top_p = 0.6, .seed = 6}, shares);
    check_shares(shares, (const double[N]){0, 0.3, 0, 0.4, 0, 0, 0, 0});
    draw((st_sampler_options){.temperature = 1, .top_k = 3, .top_p = 0.6, .min_p = 0.8, .seed = 6}, shares);
    check_shares(shares, (const double[N]){0, 0, 0, 1, 0, 0, 0, 0});
}

/* A heated tail must not bring back what the filters cut. */
static void test_filters_come_before_temperature(void **state) {
    (void)state;
    double shares[N];
    draw((st_sampler_options){.temperature = 100, .top_p = 0.65, .seed = 7}, shares);
    assert_true(shares[3] + shares[1] == 1);
    assert_true(fabs(shares[3] - 0.5) < 0.03);
}

static void test_repeat_penalty(void **state) {
    (void)state;
    const float mixed[N] = {2, 1.5f, -1, -1.2f, -5, -5, -5, -5};
    st_sampler *s = sampler((st_sampler_options){.repeat_penalty = 2, .repeat_last = 2});
    assert_false(st_sampler_is_argmax(s));
    assert_int_equal(st_sampler_pick(s, mixed), 0);
    st_sampler_accept(s, 0);
    st_sampler_accept(s, 0); /* twice is not twice the penalty: 1, not 0.5 */
    assert_int_equal(st_sampler_pick(s, mixed), 1);
    st_sampler_accept(s, 1); /* 0 at 1, 1 at 0.75 */
    assert_int_equal(st_sampler_pick(s, mixed), 0);
    st_sampler_accept(s, 2);
    st_sampler_accept(s, 3); /* 0 and 1 are forgotten */
    assert_int_equal(st_sampler_pick(s, mixed), 0);
    st_sampler_accept(s, -1);
    st_sampler_accept(s, N); /* ids that are not there */
    assert_int_equal(st_sampler_pick(s, mixed), 0);
    st_sampler_free(s);
    const float negative[N] = {-1, -1.5f, -9, -9, -9, -9, -9, -9};
    s = sampler((st_sampler_options){.repeat_penalty = 2, .repeat_last = 4});
    st_sampler_accept(s, 0); /* -2 */
    assert_int_equal(st_sampler_pick(s, negative), 1);
    st_sampler_free(s);
}

static void test_seed_decides(void **state) {
    (void)state;
    st_sampler *a = sampler((st_sampler_options){.temperature = 1, .seed = 11});
    st_sampler *b = sampler((st_sampler_options){.temperature = 1, .seed = 11});
    st_sampler *c = sampler((st_sampler_options){.temperature = 1, .seed = 12});
    int32_t first[100];
    unsigned different = 0;
    for (int i = 0; i < 100; i++) {
        first[i] = st_sampler_pick(a, logits);
        assert_int_equal(first[i], st_sampler_pick(b, logits));
        different += first[i] != st_sampler_pick(c, logits);
    }
    assert_true(different > 20);
    st_sampler_reset(a);
    for (int i = 0; i < 100; i++) assert_int_equal(first[i], st_sampler_pick(a, logits));
    st_sampler_free(a);
    st_sampler_free(b);
    st_sampler_free(c);
}

static void test_strange_logits(void **state) {
    (void)state;
    float all[N];
    for (int i = 0; i < N; i++) all[i] = NAN;
    st_sampler *s = sampler((st_sampler_options){.temperature = 1, .top_p = 0.5, .seed = 1});
    assert_int_equal(st_sampler_pick(s, all), 0);
    all[6] = INFINITY;
    assert_int_equal(st_sampler_pick(s, all), 6);
    for (int i = 0; i < N; i++) all[i] = i == 4 ? 1e30f : -1e30f;
    assert_int_equal(st_sampler_pick(s, all), 4);
    st_sampler_free(s);
}

static void check_refused(st_sampler_options options, const char *name) {
    st_sampler *s = (st_sampler *)&options;
    stretto_error err = {0};
    assert_int_equal(st_sampler_create(&s, &options, N, &err), STRETTO_E_USAGE);
    assert_null(s);
    if (!strstr(err.text, name)) fail_msg("\"%s\" does not name %s", err.text, name);
}

static void test_options_out_of_range(void **state) {
    (void)state;
    check_refused((st_sampler_options){.temperature = -1}, "temperature");
    check_refused((st_sampler_options){.temperature = NAN}, "temperature");
    check_refused((st_sampler_options){.top_p = 1.5}, "top_p");
    check_refused((st_sampler_options){.min_p = 2}, "min_p");
    check_refused((st_sampler_options){.repeat_penalty = INFINITY}, "repeat penalty");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_plain_temperature),
        cmocka_unit_test(test_temperature_sharpens),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_p),
        cmocka_unit_test(test_min_p),
        cmocka_unit_test(test_filters_combine),
        cmocka_unit_test(test_filters_come_before_temperature),
        cmocka_unit_test(test_repeat_penalty),
        cmocka_unit_test(test_seed_decides),
        cmocka_unit_test(test_strange_logits),
        cmocka_unit_test(test_options_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
