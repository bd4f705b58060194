/* SPDX-License-Identifier: MIT
 * The probe through the public interface: devices that sleep instead of working have known factors on any machine. */
#include "support.h"

#include "stretto/probe.h"

#include "device.h"

#define NAP_NS 3000000L

static long nap = NAP_NS;

static void two_devices_overlap(void **state) {
    (void)state;
    device d[2];
    stretto_error err = {0};
    stretto_probe_result r;
    stretto_unit *units[2] = {device_open(&d[0], "test:0", 0), device_open(&d[1], "test:1", 0)};
    stretto_step a = sleep_step("a", &nap), b = sleep_step("b", &nap);
    stretto_probe_side sides[2] = {{&a, units[0]}, {&b, units[1]}};
    stretto_probe_options options = {.rounds = 10, .seed = 3};
    must(stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err), &err);
    assert_string_equal(r.arrangement, "two-units");
    assert_string_equal(r.unit_a, "test:0");
    assert_string_equal(r.unit_b, "test:1");
    assert_int_equal(r.rounds, 10);
    assert_true(r.solo_a_ns >= NAP_NS && r.solo_b_ns >= NAP_NS && r.serial_ns >= 2 * NAP_NS && r.parallel_ns >= NAP_NS);
    assert_true(r.overlap_factor.value > 0.5 && r.overlap_factor.lo <= r.overlap_factor.value &&
                r.overlap_factor.value <= r.overlap_factor.hi);
    assert_true(r.queued_ns == 0 && r.overlap_factor_unit.value == 0);
    assert_true(r.speedup.value > 1.3);
    assert_true(r.cause[0] && r.evidence[0]);
    assert_true(d[0].quieted > 0); /* idle workers rest before an arm of one side */
    for (int i = 0; i < 2; i++) {
        stretto_unit_close(units[i]);
        device_free(&d[i]);
    }
}

static void one_device_serialises(void **state) {
    (void)state;
    device d;
    stretto_error err = {0};
    stretto_probe_result r;
    stretto_unit *unit = device_open(&d, "test:0", 1); /* a queue need not hold both */
    stretto_step a = sleep_step("a", &nap), b = sleep_step("b", &nap);
    stretto_probe_side sides[2] = {{&a, unit}, {&b, unit}};
    stretto_probe_options options = {.rounds = 10};
    must(stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err), &err);
    assert_string_equal(r.arrangement, "one-unit");
    assert_true(r.parallel_ns >= 2 * NAP_NS && r.queued_ns >= 2 * NAP_NS);
    assert_true(r.overlap_factor_unit.value < 0.3);
    options.one_thread = true;
    must(stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err), &err);
    assert_string_equal(r.arrangement, "async");
    stretto_unit_close(unit);
    device_free(&d);
}

static int stop_at_three(void *arg, size_t rounds, size_t expected) {
    ++*(unsigned *)arg;
    assert_true(expected >= rounds);
    return rounds >= 3;
}

static void count_evictions(void *arg) {
    ++*(unsigned *)arg;
}

static void a_probe_can_be_stopped_and_keeps_its_rounds(void **state) {
    (void)state;
    device d;
    unsigned calls = 0, evictions = 0;
    stretto_error err = {0};
    stretto_probe_result r;
    stretto_unit *unit = device_open(&d, "test:0", 0);
    stretto_step a = sleep_step("a", &nap), b = sleep_step("b", &nap);
    stretto_probe_side sides[2] = {{&a, unit}, {&b, unit}};
    stretto_probe_options options = {.rounds = 20,
                                     .progress = stop_at_three,
                                     .progress_arg = &calls,
                                     .evict = count_evictions,
                                     .evict_arg = &evictions};
    int code = stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err);
    assert_int_equal(code, STRETTO_E_STOPPED);
    assert_int_equal(r.rounds, 3);
    assert_true(calls >= 3 && r.solo_a_ns >= NAP_NS);
    assert_true(evictions >= 3 * 5); /* five arms a round on one unit */
    stretto_unit_close(unit);
    device_free(&d);
}

/* What a probe says it will take, looked at after a few rounds. */
typedef struct outlook {
    uint64_t begin_ns;
    size_t rounds;
    double seconds;
} outlook;

static int look_ahead(void *arg, size_t rounds, size_t expected) {
    outlook *o = arg;
    const uint64_t now = stretto_now_ns();
    if (!o->begin_ns) o->begin_ns = now; /* a first round's end, or its beginning */
    o->rounds = rounds;
    if (rounds >= 12) o->seconds = (double)expected * (double)(now - o->begin_ns) * 1e-9 / (double)(rounds - 1);
    return rounds >= 12;
}

static void a_probe_without_limits_ends_in_seconds(void **state) {
    (void)state;
    device d;
    stretto_error err = {0};
    stretto_probe_result r;
    stretto_unit *unit = device_open(&d, "test:0", 0);
    stretto_step a = sleep_step("a", &nap), b = sleep_step("b", &nap);
    stretto_probe_side sides[2] = {{&a, unit}, {&b, unit}};
    outlook o = {0};
    stretto_probe_options options = {.precision = 1e-6, .progress = look_ahead, .progress_arg = &o};
    int code = stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err);
    stretto_unit_close(unit);
    device_free(&d);
    assert_int_equal(code, STRETTO_E_STOPPED);
    assert_true(o.rounds == 12 && o.seconds > 0);
    if (o.seconds > 20) fail_msg("a probe of %g seconds", o.seconds);
}

static void failures_are_passed_on(void **state) {
    (void)state;
    device d;
    stretto_error err = {0};
    stretto_probe_result r;
    stretto_unit *unit = device_open(&d, "test:0", 0);
    stretto_step a = sleep_step("a", &nap), b = sleep_step("b", &nap);
    stretto_probe_side sides[2] = {{&a, unit}, {&b, unit}};
    stretto_probe_options options = {.seconds = -1};
    must_fail(stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err), STRETTO_E_USAGE, &err, "-1");
    options = (stretto_probe_options){.precision = -0.5};
    must_fail(stretto_probe_steps(&r, &sides[0], &sides[1], &options, &err), STRETTO_E_USAGE, &err, "-0.5");
    const stretto_probe_side no_unit = {&a, NULL}, no_step = {NULL, unit};
    must_fail(stretto_probe_steps(&r, &no_unit, &sides[1], NULL, &err), STRETTO_E_USAGE, &err, "side a has no unit");
    must_fail(stretto_probe_steps(&r, &sides[0], &no_step, NULL, &err), STRETTO_E_USAGE, &err, "side b has no step");
    d.fail = STRETTO_E_UNIT;
    must_fail(stretto_probe_steps(&r, &sides[0], &sides[1], NULL, &err), STRETTO_E_UNIT, &err, "on fire");
    assert_int_equal(r.rounds, 0);
    stretto_unit_close(unit);
    device_free(&d);
}

static void chunks_of_a_chain_are_probed(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_probe_result r;
    static const int32_t ids[] = {1, 2, 3};
    stretto_model *model = open_model(GOLDEN("tiny-llama-F32.gguf"));
    stretto_chain *chain = NULL;
    must(stretto_chain_open(&chain, model, NULL, &err), &err);
    must(stretto_chain_append(chain, ids, 3, NULL, NULL, &err), &err);
    int32_t before = stretto_chain_argmax(chain);
    stretto_probe_options options = {.rounds = 10, .warm = true};
    must(stretto_probe_chunks(&r, chain, 0, 2, NULL, NULL, &options, &err), &err);
    assert_string_equal(r.arrangement, "one-unit");
    assert_int_equal(r.rounds, 10);
    assert_true(r.solo_a_ns > 0 && r.solo_b_ns > 0 && r.serial_ns > 0 && r.parallel_ns > 0 && r.queued_ns > 0);
    assert_int_equal(stretto_chain_length(chain), 3);
    assert_int_equal(stretto_chain_argmax(chain), before);
    options.warm = false;
    device d;
    stretto_unit *own = device_open(&d, "test:0", 0);
    must(stretto_probe_chunks(&r, chain, 1, 3, own, NULL, &options, &err), &err);
    assert_string_equal(r.arrangement, "two-units");
    assert_string_equal(r.unit_a, "test:0");
    must_fail(stretto_probe_chunks(&r, chain, 0, 4, NULL, NULL, &options, &err), STRETTO_E_USAGE, &err, "no chunk 4");
    must_fail(stretto_probe_chunks(&r, chain, 1, 1, NULL, NULL, &options, &err), STRETTO_E_USAGE, &err, "both sides");
    stretto_unit_close(own);
    device_free(&d);
    stretto_chain_close(chain);
    stretto_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_overlap),
        cmocka_unit_test(one_device_serialises),
        cmocka_unit_test(a_probe_can_be_stopped_and_keeps_its_rounds),
        cmocka_unit_test(a_probe_without_limits_ends_in_seconds),
        cmocka_unit_test(failures_are_passed_on),
        cmocka_unit_test(chunks_of_a_chain_are_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
