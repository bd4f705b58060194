/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_interval_has_three_numbers(void **state) {
    (void)state;
    st_buf out = {0};
    st_json_write(&out, st_json_interval(&(st_interval){.value = 0.5, .lo = 0.25, .hi = NAN}), true);
    assert_string_equal(out.data, "{\"value\":0.5,\"lo\":0.25,\"hi\":null}\n");
    st_buf_free(&out);
}

static void an_origin_says_where_it_comes_from(void **state) {
    (void)state;
    st_host host = {
        .cpu_model = "A processor", .isa = "AVX2", .kernel = "6.1", .n_cores = 2, .n_cpus = 4, .quota_cpus = 1.5};
    char *argv[] = {"stretto", "bench", "-m", "m\xff"};
    uint64_t seed = 42;
    const st_origin origin = {
        .version = "1.2.3", .host = &host, .argc = 4, .argv = argv, .when = 1700000000, .seed = &seed};
    json_t *object = json_object();
    st_json_origin(&object, &origin);
    assert_string_equal(json_string_value(json_object_get(object, "version")), "1.2.3");
    assert_int_equal(json_integer_value(json_object_get(object, "seed")), 42);
    assert_string_equal(json_string_value(json_object_get(object, "time")), "2023-11-14T22:13:20Z");
    json_t *words = json_object_get(object, "command_line"), *machine = json_object_get(object, "host");
    assert_int_equal(json_array_size(words), 4);
    assert_string_equal(json_string_value(json_array_get(words, 3)), "m\xef\xbf\xbd");
    assert_string_equal(json_string_value(json_object_get(machine, "cpu")), "A processor");
    assert_true(json_real_value(json_object_get(machine, "quota_cpus")) == 1.5);
    json_decref(object);
    object = json_object();
    st_json_origin(&object, &(st_origin){0});
    assert_int_equal(json_object_size(object), 0);
    json_decref(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_has_three_numbers),
        cmocka_unit_test(an_origin_says_where_it_comes_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
