/* SPDX-License-Identifier: MIT
 * Round trips through every quantizer: the error is what the number of bits allows, and odd inputs do no harm. */
#include "base/rng.h"
#include "gguf/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N 4096

/* Largest root mean square error of a round trip, relative to that of normally distributed values. A uniform quantizer
 * of step s has an error of s / sqrt(12); 32 normal values span about +-2.1 sigma, so 4 bits give about 0.08. The
 * bounds leave 6 % above what the scales taken from the extremes reach. */
static const struct {
    uint32_t type;
    double rms;
} bounds[] = {
    {ST_F32, 0.0},     {ST_F16, 2.3e-4}, {ST_BF16, 1.8e-3},  {ST_Q8_0, 0.0057},  {ST_Q5_1, 0.040},
    {ST_Q5_0, 0.0453}, {ST_Q4_1, 0.083}, {ST_Q4_0, 0.091},   {ST_IQ4_NL, 0.085}, {ST_Q6_K, 0.020},
    {ST_Q5_K, 0.0405}, {ST_Q4_K, 0.083}, {ST_IQ4_XS, 0.085}, {ST_Q3_K, 0.165},   {ST_Q2_K, 0.348},
};

static double round_trip_error(uint32_t type, const float *x, size_t n) {
    uint8_t packed[N * 4 + 1];
    float y[N];
    double error = 0, power = 0;
    assert_true(st_quantize(type, x, packed + 1, n)); /* unaligned on purpose */
    st_dequantize(type, packed + 1, y, n);
    for (size_t i = 0; i < n; i++) {
        error += ((double)y[i] - x[i]) * ((double)y[i] - x[i]);
        power += (double)x[i] * x[i];
    }
    return power > 0 ? sqrt(error / power) : sqrt(error);
}

static void test_error_bounds(void **state) {
    (void)state;
    static const float scales[] = {1.0f, 0.02f, 30.0f};
    for (size_t s = 0; s < 3; s++) {
        st_rng rng;
        float x[N];
        st_rng_seed(&rng, 7 + s);
        for (size_t i = 0; i < N; i++) x[i] = (float)st_rng_normal(&rng) * scales[s];
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
            double error = round_trip_error(bounds[i].type, x, N);
            if (error > bounds[i].rms)
                fail_msg("%s: error %g, bound %g", st_type_find(bounds[i].type)->name, error, bounds[i].rms);
        }
    }
}

static void test_every_readable_type_has_one(void **state) {
    (void)state;
    for (uint32_t type = 0; type < ST_TYPE_COUNT + 2; type++) {
        const st_type_info *info = st_type_find(type);
        float x[256] = {0};
        uint8_t packed[1024];
        assert_int_equal(st_quantize(type, x, packed, 256), info && info->readable);
    }
}

/* All zero gives exactly zero; a shift (all values alike) is kept to the precision of a half. */
static void test_flat_blocks(void **state) {
    (void)state;
    float zero[256] = {0}, flat[256], y[256];
    for (int i = 0; i < 256; i++) flat[i] = -0.75f;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint8_t packed[1024];
        memset(packed, 0xff, sizeof packed);
        assert_true(st_quantize(bounds[i].type, zero, packed, 256));
        st_dequantize(bounds[i].type, packed, y, 256);
        for (int k = 0; k < 256; k++) assert_true(y[k] == 0.0f);
        assert_true(round_trip_error(bounds[i].type, flat, 256) < 0.01);
    }
}

/* The largest magnitude of a block sets the scale: it survives to within one code's step, on either side of zero. */
static void test_outlier(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            float x[256] = {0}, y[256];
            uint8_t packed[1024];
            x[77] = (float)sign * 8.0f;
            assert_true(st_quantize(bounds[i].type, x, packed, 256));
            st_dequantize(bounds[i].type, packed, y, 256);
            assert_true(fabsf(y[77] - x[77]) < 0.05f);
            for (int k = 0; k < 256; k++) assert_true(k == 77 || fabsf(y[k]) < 0.07f); /* IQ4 has no zero */
        }
    }
}

/* Infinities and NaN are nobody's weights, but must neither trap nor spoil the other blocks. */
static void test_not_finite(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 3);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        float x[512], y[512], alone[256];
        uint8_t packed[2048];
        for (int k = 0; k < 512; k++) x[k] = (float)st_rng_normal(&rng);
        x[0] = NAN;
        x[17] = INFINITY;
        x[34] = -INFINITY;
        for (int k = 64; k < 96; k++) x[k] = NAN;
        assert_true(st_quantize(bounds[i].type, x, packed, 512));
        st_dequantize(bounds[i].type, packed, y, 512);
        assert_true(st_quantize(bounds[i].type, x + 256, packed, 256));
        st_dequantize(bounds[i].type, packed, alone, 256);
        assert_memory_equal(y + 256, alone, sizeof alone);
        bool plain = bounds[i].type == ST_F32 || bounds[i].type == ST_F16 || bounds[i].type == ST_BF16;
        for (int k = 0; k < 256 && !plain; k++) assert_true(isfinite(y[k]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_bounds), cmocka_unit_test(test_every_readable_type_has_one),
        cmocka_unit_test(test_flat_blocks),  cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
