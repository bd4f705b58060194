/* SPDX-License-Identifier: MIT */
#include "gguf/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What the bits of a half mean, in IEEE 754's words. */
static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                       : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        double wanted = half_value((uint16_t)h);
        float found = st_half_to_float((uint16_t)h);
        if (isnan(wanted)) {
            assert_true(isnan(found));
            assert_true(isnan(st_half_to_float(st_float_to_half(found))));
            continue;
        }
        assert_true((double)found == wanted && !signbit(found) == !signbit(wanted));
        assert_int_equal(st_float_to_half(found), h);
    }
}

/* Between any two neighbours, the nearer one; in the middle, the even one. */
static void test_rounding(void **state) {
    (void)state;
    for (unsigned h = 0; h < 0x7c00; h++) {
        double a = half_value((uint16_t)h), b = h == 0x7bff ? 65536.0 : half_value((uint16_t)(h + 1));
        float middle = (float)((a + b) / 2);
        assert_true((double)middle == (a + b) / 2);
        unsigned even = h + (h & 1);
        assert_int_equal(st_float_to_half(middle), even);
        assert_int_equal(st_float_to_half(nextafterf(middle, 0.0f)), h);
        assert_int_equal(st_float_to_half(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(st_float_to_half(-middle), even | 0x8000);
    }
    assert_int_equal(st_float_to_half(1e-30f), 0);
    assert_int_equal(st_float_to_half(-1e-30f), 0x8000);
    assert_int_equal(st_float_to_half(3e38f), 0x7c00);
    assert_int_equal(st_float_to_half(-INFINITY), 0xfc00);
}

static void test_bfloat(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float value = st_bfloat_to_float((uint16_t)h);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        assert_int_equal(bits, h << 16);
        if (isnan(value))
            assert_true(isnan(st_bfloat_to_float(st_float_to_bfloat(value))));
        else
            assert_int_equal(st_float_to_bfloat(value), h);
    }
    assert_int_equal(st_float_to_bfloat(1.00390625f), 0x3f80); /* 1 + 2^-8: in the middle, to even */
    assert_int_equal(st_float_to_bfloat(1.01171875f), 0x3f82); /* 1 + 3 * 2^-8 */
    assert_int_equal(st_float_to_bfloat(nextafterf(1.00390625f, 2)), 0x3f81);
    assert_int_equal(st_float_to_bfloat(3.4028235e38f), 0x7f80); /* rounds up to infinity */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_bfloat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
