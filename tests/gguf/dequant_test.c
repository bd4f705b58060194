/* SPDX-License-Identifier: MIT
 * Every readable block type against ggml's own results in quants.gguf, bit for bit. */
#include "gguf/gguf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static st_gguf *golden;

static int open_golden(void **state) {
    (void)state;
    return st_gguf_open(&golden, ST_GOLDEN "/quants.gguf", NULL, NULL);
}

static int close_golden(void **state) {
    (void)state;
    st_gguf_close(golden);
    return 0;
}

/* The tensor PREFIX.TYPE, whatever the case of TYPE. */
static const st_tensor *golden_tensor(const char *prefix, uint32_t type) {
    for (size_t i = 0; i < golden->n_tensors; i++) {
        st_str name = golden->tensors[i].name;
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)name.len, name.data);
        if (strncmp(text, prefix, 2) == 0 && st_type_by_name(text + 2) == (int)type) return &golden->tensors[i];
    }
    return NULL;
}

static void test_golden(void **state) {
    (void)state;
    static const uint32_t types[] = {ST_F16,  ST_BF16, ST_Q8_0, ST_Q4_0, ST_Q4_1, ST_Q5_0,   ST_Q5_1,
                                     ST_Q2_K, ST_Q3_K, ST_Q4_K, ST_Q5_K, ST_Q6_K, ST_IQ4_NL, ST_IQ4_XS};
    assert_int_equal(golden->n_tensors, 2 * sizeof types / sizeof *types);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const st_tensor *x = golden_tensor("x.", types[i]), *y = golden_tensor("y.", types[i]);
        assert_non_null(x);
        assert_non_null(y);
        assert_int_equal(x->type, types[i]);
        assert_int_equal(y->type, ST_F32);
        assert_int_equal(y->bytes, 2048 * sizeof(float));
        float found[2048];
        st_dequantize(x->type, x->data, found, 2048);
        for (int k = 0; k < 2048; k++) assert_memory_equal(&found[k], y->data + 4 * k, sizeof(float));
    }
}

static void test_unaligned(void **state) {
    (void)state;
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_tensor *x = golden_tensor("x.", type);
        if (!x) continue;
        uint8_t *shifted = malloc(x->bytes + 1);
        float wanted[2048], found[2048];
        assert_non_null(shifted);
        memcpy(shifted + 1, x->data, x->bytes);
        st_dequantize(type, x->data, wanted, 2048);
        st_dequantize(type, shifted + 1, found, 2048);
        assert_memory_equal(found, wanted, sizeof found);
        free(shifted);
    }
}

static void test_f32(void **state) {
    (void)state;
    const float x[4] = {1.5f, -0.0f, INFINITY, 1e-40f};
    float y[4];
    st_dequantize(ST_F32, x, y, 4);
    assert_memory_equal(x, y, sizeof x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_f32),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
