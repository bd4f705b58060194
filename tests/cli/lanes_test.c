/* SPDX-License-Identifier: MIT
 * Lanes where there is no room for more. */
#include "lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void halves_need_two_places(void **state) {
    (void)state;
    static cli_lanes lanes;
    stretto_error err = {0};
    st_core cores[2] = {{.cpu = 0, .n_cpus = 1}, {.cpu = 0, .n_cpus = 1}};
    lanes.host = (st_host){.cores = cores, .n_cores = 2, .n_cpus = 2, .max_threads = 2};
    lanes.n = CLI_LANES_MAX - 1;
    assert_int_equal(cli_lanes_add_halves(&lanes, NULL, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "64 units"));
    assert_int_equal(lanes.n, CLI_LANES_MAX - 1);
    assert_null(lanes.units[CLI_LANES_MAX - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_need_two_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
