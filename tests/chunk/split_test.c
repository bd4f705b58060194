/* SPDX-License-Identifier: MIT
 * Where models are cut: even splits, their optimality against trying everything, and what --chunks accepts. */
#include "chunk/chunk.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void spans_are(const st_span *spans, uint32_t n, const uint32_t (*expected)[2]) {
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(spans[i].first, expected[i][0]);
        assert_int_equal(spans[i].last, expected[i][1]);
    }
}

/* SmolLM2-135M Q4_1: 30 layers of 2.2 MB and a Q8_0 head of 30 MB. */
static void smollm2_default(void **state) {
    (void)state;
    uint64_t cost[30];
    for (int i = 0; i < 30; i++) cost[i] = 2216448;
    st_span spans[4];
    stretto_error err = {0};
    assert_int_equal(st_split_even(spans, 4, cost, 30, 30081024, &err), 0);
    static const uint32_t expected[][2] = {{0, 9}, {10, 19}, {20, 28}, {29, 29}};
    spans_are(spans, 4, expected);
}

static void measure(const st_span *spans, uint32_t n, const uint64_t *cost, uint64_t head, uint64_t *largest,
                    double *squares) {
    *largest = 0;
    *squares = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint64_t sum = s == n - 1 ? head : 0;
        for (uint32_t i = spans[s].first; i <= spans[s].last; i++) sum += cost[i];
        if (sum > *largest) *largest = sum;
        *squares += (double)sum * (double)sum;
    }
}

/* Every way to cut `layers` into n spans, depth by an explicit counter of cut positions. */
static void best_of_all(const uint64_t *cost, uint32_t layers, uint32_t n, uint64_t head, uint64_t *largest,
                        double *squares) {
    *largest = UINT64_MAX;
    *squares = 0;
    for (uint32_t mask = 0; mask < 1u << (layers - 1); mask++) {
        if ((uint32_t)__builtin_popcount(mask) != n - 1) continue;
        st_span spans[8];
        uint32_t at = 0, first = 0;
        for (uint32_t i = 0; i + 1 < layers; i++)
            if (mask >> i & 1) {
                spans[at++] = (st_span){first, i};
                first = i + 1;
            }
        spans[at] = (st_span){first, layers - 1};
        uint64_t l;
        double s;
        measure(spans, n, cost, head, &l, &s);
        if (l < *largest || (l == *largest && s < *squares)) {
            *largest = l;
            *squares = s;
        }
    }
}

static void best_there_is(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 7);
    for (int round = 0; round < 200; round++) {
        uint64_t cost[10], largest, want_largest, head = st_rng_below(&rng, 3000);
        double squares, want_squares;
        uint32_t layers = 1 + (uint32_t)st_rng_below(&rng, 10),
                 n = 1 + (uint32_t)st_rng_below(&rng, layers < 6 ? layers : 6);
        for (uint32_t i = 0; i < layers; i++) cost[i] = st_rng_below(&rng, 1000);
        st_span spans[8];
        stretto_error err = {0};
        assert_int_equal(st_split_even(spans, n, cost, layers, head, &err), 0);
        assert_int_equal(spans[0].first, 0);
        assert_int_equal(spans[n - 1].last, layers - 1);
        for (uint32_t i = 1; i < n; i++) assert_int_equal(spans[i].first, spans[i - 1].last + 1);
        measure(spans, n, cost, head, &largest, &squares);
        best_of_all(cost, layers, n, head, &want_largest, &want_squares);
        assert_int_equal(largest, want_largest);
        assert_true(squares <= want_squares * (1 + 1e-12));
    }
}

static void counts_out_of_range(void **state) {
    (void)state;
    uint64_t cost[3] = {1, 1, 1};
    st_span spans[4];
    stretto_error err = {0};
    assert_int_equal(st_split_even(spans, 0, cost, 3, 1, &err), STRETTO_E_USAGE);
    assert_int_equal(st_split_even(spans, 4, cost, 3, 1, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "expected 1 to 3"));
}

/* ---- --chunks ---- */

static st_layer layers[35];
static st_model model = {.n_layers = 30, .layers = layers, .d_model = 8};

static void ranges(void **state) {
    (void)state;
    st_span spans[ST_MAX_CHUNKS];
    uint32_t n = 0;
    stretto_error err = {0};
    assert_int_equal(st_split_parse(spans, &n, "0-7,8-14,15,16-29", &model, &err), 0);
    static const uint32_t expected[][2] = {{0, 7}, {8, 14}, {15, 15}, {16, 29}};
    assert_int_equal(n, 4);
    spans_are(spans, 4, expected);
}

/* Gemma 4 E2B: the last 20 of 35 layers borrow KV. */
static void borrowed_kv(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 35; i++) layers[i].kv_layer = i < 15 ? i : 13;
    st_model e2b = {.n_layers = 35, .layers = layers, .d_model = 8};
    st_span spans[ST_MAX_CHUNKS];
    uint32_t n = 0;
    stretto_error err = {0};
    assert_int_equal(st_split_parse(spans, &n, NULL, &e2b, &err), 0);
    static const uint32_t expected[][2] = {{0, 7}, {8, 14}, {15, 24}, {25, 34}};
    assert_int_equal(n, 4);
    spans_are(spans, 4, expected);
    st_chunk chunks[4];
    st_chunks_describe(chunks, spans, 4, &e2b);
    assert_int_equal(chunks[0].n_lent, 0);
    assert_int_equal(chunks[1].n_borrowed, 0);
    assert_int_equal(chunks[1].n_lent, 1);
    assert_int_equal(chunks[1].lent[0], 13);
    assert_int_equal(chunks[2].n_lent, 0);
    assert_int_equal(chunks[2].n_borrowed, 1);
    assert_int_equal(chunks[3].borrowed[0], 13);
}

static void refused(const char *text, const char *part) {
    st_span spans[ST_MAX_CHUNKS];
    uint32_t n = 0;
    stretto_error err = {0};
    assert_int_equal(st_split_parse(spans, &n, text, &model, &err), STRETTO_E_USAGE);
    if (!strstr(err.text, part)) fail_msg("\"%s\" gave \"%s\", which lacks \"%s\"", text, err.text, part);
}

static void ranges_refused(void **state) {
    (void)state;
    refused("0-7,9-29", "should begin at layer 8");
    refused("0-7,7-29", "should begin at layer 8");
    refused("1-29", "should begin at layer 0");
    refused("0-7,8-14", "layers 15 to 29 are in no chunk");
    refused("0-30", "no layer 30, the model has 30 (0 to 29)");
    refused("0-29,", "ends with a comma");
    refused("7-0,1-29", "should begin");
    refused("", "expected a number of chunks");
    refused("four", "expected a number of chunks");
    refused("0-7;8-29", "cannot read");
    refused("0-99999999999999999999", "no layer 99999999999999999999, the model has 30");
    refused("-3", "cannot read");
    refused("0", "expected 1 to 30");
    refused("31", "expected 1 to 30");
    refused("4294967297", "expected 1 to 30");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(smollm2_default),     cmocka_unit_test(best_there_is),
                                       cmocka_unit_test(counts_out_of_range), cmocka_unit_test(ranges),
                                       cmocka_unit_test(ranges_refused),      cmocka_unit_test(borrowed_kv)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
