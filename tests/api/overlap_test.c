/* SPDX-License-Identifier: MIT
 * What the machine itself must show, through the public interface: two queues of one CPU unit serialise, and arithmetic
 * on two free cores overlaps. Other programs make both wrong, so a probe that warns of them is made again, and skipped
 * when they do not go away. */
#include "stretto/probe.h"
#include "stretto/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TRIES 5
#define ADDITIONS 3000000u /* about a millisecond */

/* Arithmetic in registers: nothing is shared but the clock. */
static int add_run(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    (void)arg, (void)err;
    uint64_t x = worker;
    for (unsigned i = 0; i < ADDITIONS / n_workers; i++) {
        x += 3;
        __asm__ volatile("" : "+r"(x));
    }
    return STRETTO_OK;
}

static const stretto_step add = {.name = "add", .run = add_run, .operations = ADDITIONS};

/* False when other programs were in the way every time. */
static bool probe(stretto_probe_result *out, const char *cores_a, const char *cores_b) {
    stretto_unit *units[2];
    stretto_error err;
    bool good = false;
    assert_int_equal(stretto_unit_open_cpu(&units[0], cores_a, NULL, &err), STRETTO_OK);
    if (cores_b) assert_int_equal(stretto_unit_open_cpu(&units[1], cores_b, NULL, &err), STRETTO_OK);
    const stretto_probe_side a = {&add, units[0]}, b = {&add, cores_b ? units[1] : units[0]};
    const stretto_probe_options options = {.seconds = 2, .seed = 1};
    for (int i = 0; i < TRIES && !good; i++) {
        assert_int_equal(stretto_probe_steps(out, &a, &b, &options, &err), STRETTO_OK);
        good = out->warnings[0] == '\0';
    }
    if (!good) print_message("not quiet: %s", out->warnings);
    stretto_unit_close(units[0]);
    if (cores_b) stretto_unit_close(units[1]);
    return good;
}

static void two_queues_of_one_unit_serialise(void **state) {
    (void)state;
    stretto_probe_result r;
    if (!probe(&r, "cpu:0", NULL)) skip();
    assert_true(r.overlap_factor_unit.hi < 0.10);
    assert_int_equal(r.overlap, STRETTO_OVERLAP_SERIALISES);
}

static void arithmetic_on_two_cores_overlaps(void **state) {
    (void)state;
    stretto_probe_result r;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || !probe(&r, "cpu:0", "cpu:1")) skip();
    assert_true(r.overlap_factor.lo > 0.90);
    assert_int_equal(r.overlap, STRETTO_OVERLAP_OVERLAPS);
    assert_string_equal(r.cause, "true overlap");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_queues_of_one_unit_serialise),
        cmocka_unit_test(arithmetic_on_two_cores_overlaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
