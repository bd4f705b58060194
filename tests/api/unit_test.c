/* SPDX-License-Identifier: MIT
 * CPU units and units of one's own. */
#include "support.h"

#include "device.h"

#include "stretto/probe.h"

#include <stdatomic.h>
#include <unistd.h>

typedef struct share {
    atomic_uint calls, workers;
} share;

static int count_workers(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    share *s = arg;
    (void)err;
    atomic_fetch_or(&s->workers, 1u << worker);
    atomic_fetch_add(&s->calls, 1);
    return worker < n_workers ? 0 : STRETTO_E_INTERNAL;
}

static int fail_run(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    (void)worker, (void)n_workers;
    if (arg) snprintf(err->text, sizeof err->text, "%s", (const char *)arg);
    return STRETTO_E_INPUT;
}

/* ---- cpu ---- */

static void a_cpu_unit_runs_a_step_on_all_its_threads(void **state) {
    (void)state;
    stretto_unit *unit = NULL;
    stretto_unit_info info;
    stretto_times times;
    stretto_error err = {0};
    must(stretto_unit_open_cpu(&unit, NULL, NULL, &err), &err);
    stretto_unit_info_get(unit, &info);
    assert_string_equal(info.kind, "cpu");
    assert_memory_equal(info.name, "cpu:0", 5);
    assert_true(info.n_threads >= 1 && info.shares_memory && info.device[0]);
    share s = {0};
    stretto_step step = {.name = "count", .run = count_workers, .arg = &s};
    for (unsigned i = 1; i <= 3; i++) {
        must(stretto_unit_run(unit, &step, &times, &err), &err);
        assert_int_equal(atomic_load(&s.calls), i * info.n_threads);
        assert_true(times.submit_ns <= times.start_ns && times.start_ns <= times.end_ns &&
                    times.end_ns <= stretto_now_ns());
    }
    assert_int_equal(atomic_load(&s.workers), info.n_threads >= 32 ? UINT32_MAX : (1u << info.n_threads) - 1);
    stretto_unit_close(unit);
}

static void a_step_that_fails_says_why(void **state) {
    (void)state;
    stretto_unit *unit = NULL;
    stretto_error err = {0};
    must(stretto_unit_open_cpu(&unit, "cpu:0", NULL, &err), &err);
    stretto_step step = {.name = "odd", .run = fail_run, .arg = "a bad day"};
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_INPUT, &err, "a bad day");
    step.arg = NULL;
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_INPUT, &err, "odd");
    step.run = NULL;
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_USAGE, &err, "no function to run");
    stretto_unit_close(unit);
}

static int fail_everywhere(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    (void)arg;
    snprintf(err->text, sizeof err->text, "worker %u of %u", worker, n_workers);
    return STRETTO_E_INPUT;
}

static void every_worker_may_say_why(void **state) {
    (void)state;
    stretto_unit *unit = NULL;
    stretto_error err = {0};
    const stretto_step step = {.name = "odd", .run = fail_everywhere};
    must(stretto_unit_open_cpu(&unit, NULL, NULL, &err), &err);
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_INPUT, &err, "worker 0 of ");
    assert_int_equal(stretto_unit_run(unit, &step, NULL, NULL), STRETTO_E_INPUT);
    stretto_unit_close(unit);
}

static void wrong_cores_are_named(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_unit *unit = (stretto_unit *)&unit;
    must_fail(stretto_unit_open_cpu(&unit, "cpu:100000", NULL, &err), STRETTO_E_USAGE, &err, "100000");
    assert_null(unit);
    must_fail(stretto_unit_open_cpu(&unit, "gpu:0", NULL, &err), STRETTO_E_USAGE, &err, "gpu:0");
    must_fail(stretto_unit_open_cpu(&unit, "cpu:0,cpu:0", NULL, &err), STRETTO_E_USAGE, &err, "2 units");
    stretto_unit_close(NULL);
}

typedef struct heard {
    atomic_uint warnings;
    char text[256];
} heard;

static void hear(void *arg, enum stretto_log_level level, const char *text) {
    heard *h = arg;
    if (level != STRETTO_LOG_WARN) return;
    atomic_fetch_add(&h->warnings, 1);
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void too_many_threads_are_fewer_with_a_warning(void **state) {
    (void)state;
    heard h = {0};
    stretto_log log = {.fn = hear, .arg = &h};
    stretto_cpu_options options = {.threads = 7, .log = &log};
    stretto_unit *unit = NULL;
    stretto_unit_info info;
    stretto_error err = {0};
    must(stretto_unit_open_cpu(&unit, "cpu:0", &options, &err), &err);
    stretto_unit_info_get(unit, &info);
    assert_int_equal(info.n_threads, 1);
    assert_true(atomic_load(&h.warnings) >= 1);
    assert_non_null(strstr(h.text, "7"));
    stretto_unit_close(unit);
}

/* ---- own ---- */

static void an_own_unit_gets_steps_and_ends_them(void **state) {
    (void)state;
    device d;
    stretto_unit_info info;
    stretto_times times;
    stretto_error err = {0};
    long ns = 2000000;
    stretto_step step = sleep_step("nap", &ns);
    stretto_unit *unit = device_open(&d, "test:0", 0);
    stretto_unit_info_get(unit, &info);
    assert_string_equal(info.name, "test:0");
    assert_string_equal(info.kind, "test");
    assert_string_equal(info.driver, "1.0");
    assert_int_equal(info.max_pending, 64);
    assert_int_equal(info.n_threads, 1);
    for (unsigned i = 1; i <= 3; i++) {
        must(stretto_unit_run(unit, &step, &times, &err), &err);
        assert_true(times.end_ns - times.start_ns >= 2000000 && times.submit_ns <= times.start_ns);
        assert_int_equal(d.executed, i);
        assert_true(d.opened == i && d.closed == i);
    }
    stretto_unit_close(unit);
    assert_int_equal(d.ended, 1);
    device_free(&d);
}

static void an_own_unit_may_fail_in_every_way(void **state) {
    (void)state;
    device d;
    stretto_error err = {0};
    long ns = 1000;
    stretto_step step = sleep_step("nap", &ns), failing = {.name = "odd", .run = fail_run, .arg = "a bad day"};
    stretto_unit *unit = device_open(&d, "test:0", 0);
    d.refuse = STRETTO_E_UNIT;
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_UNIT, &err, "no more of queue mine");
    d.refuse = 0;
    must_fail(stretto_unit_run(unit, &failing, NULL, &err), STRETTO_E_INPUT, &err, "a bad day");
    d.fail = STRETTO_E_UNIT;
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_UNIT, &err, "on fire");
    d.fail = 5; /* no code of the library's */
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_UNIT, &err, "on fire");
    d.fail = 0;
    d.refuse = 5;
    must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_UNIT, &err, "no more of queue mine");
    d.refuse = 0;
    must(stretto_unit_run(unit, &step, NULL, &err), &err); /* and goes on afterwards */
    stretto_unit_close(unit);
    device_free(&d);
}

static int no_queue(void *arg, void **queue, stretto_error *err) {
    (void)queue;
    const char *reason = arg;
    if (*reason) snprintf(err->text, sizeof err->text, "%s", reason);
    return STRETTO_E_UNIT;
}

static void a_queue_that_cannot_be_opened_is_named(void **state) {
    (void)state;
    stretto_unit_ops ops = {.queue_open = no_queue, .submit = device_submit};
    stretto_unit_info info = {.name = "test:0", .kind = "test"};
    long ns = 1;
    stretto_step step = sleep_step("nap", &ns);
    for (int i = 0; i < 2; i++) {
        stretto_error err = {0};
        stretto_unit *unit = NULL;
        must(stretto_unit_open_own(&unit, &ops, &info, i == 0 ? "a bad day" : "", &err), &err);
        must_fail(stretto_unit_run(unit, &step, NULL, &err), STRETTO_E_UNIT, &err,
                  i == 0 ? "test:0: a bad day" : "test:0: no queue could be opened");
        assert_int_equal(stretto_unit_run(unit, &step, NULL, NULL), STRETTO_E_UNIT); /* err may be NULL */
        stretto_unit_close(unit);
    }
}

static void nonsense_units_are_refused(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_unit *unit = (stretto_unit *)&unit;
    stretto_unit_ops ops = device_ops;
    stretto_unit_info info = {.name = "x:0", .kind = "x", .max_pending = 70000};
    must_fail(stretto_unit_open_own(&unit, &ops, &info, NULL, &err), STRETTO_E_USAGE, &err, "70000");
    assert_null(unit);
    info.max_pending = 1;
    info.kind[0] = '\0';
    must_fail(stretto_unit_open_own(&unit, &ops, &info, NULL, &err), STRETTO_E_USAGE, &err, "kind");
    memset(info.name, 'x', sizeof info.name);
    must_fail(stretto_unit_open_own(&unit, &ops, &info, NULL, &err), STRETTO_E_USAGE, &err, "no end");
    ops.submit = NULL;
    must_fail(stretto_unit_open_own(&unit, &ops, &info, NULL, &err), STRETTO_E_USAGE, &err, "submit");
}

/* ---- chunks on own units ---- */

static void chunks_run_on_own_units_and_give_the_same(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 100, 200, 300, 400};
    device d[2];
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-gemma4-F32.gguf"));
    stretto_model_info info;
    stretto_model_info_get(model, &info);
    stretto_chain *plain = NULL, *mixed = NULL;
    must(stretto_chain_open(&plain, model, NULL, &err), &err);
    must(stretto_chain_append(plain, ids, 5, NULL, NULL, &err), &err);
    stretto_unit *units[3] = {device_open(&d[0], "test:0", 1), NULL, device_open(&d[1], "test:1", 0)};
    must(stretto_unit_open_cpu(&units[1], "cpu:0", NULL, &err), &err);
    stretto_chain_options options = {.chunks = "3", .units = units, .n_units = 3};
    must(stretto_chain_open(&mixed, model, &options, &err), &err);
    must(stretto_chain_append(mixed, ids, 5, NULL, NULL, &err), &err);
    assert_memory_equal(stretto_chain_logits(plain), stretto_chain_logits(mixed), info.n_vocab * sizeof(float));
    d[1].fail = STRETTO_E_UNIT;
    must_fail(stretto_chain_append(mixed, ids, 1, NULL, NULL, &err), STRETTO_E_UNIT, &err, "on fire");
    d[1].fail = 0;
    stretto_chain_reset(mixed);
    must(stretto_chain_append(mixed, ids, 5, NULL, NULL, &err), &err);
    assert_memory_equal(stretto_chain_logits(plain), stretto_chain_logits(mixed), info.n_vocab * sizeof(float));
    stretto_chain_close(mixed);
    stretto_chain_close(plain);
    for (int i = 0; i < 3; i++) stretto_unit_close(units[i]);
    device_free(&d[0]);
    device_free(&d[1]);
    stretto_model_close(model);
}

/* However few submissions a queue holds: each chunk waits for the one before anyway. */
static void a_queue_of_one_place_is_enough_for_a_chain(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 100, 200, 300, 400, 7, 8, 9};
    device d[2];
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-gemma4-F32.gguf"));
    stretto_unit *units[3] = {device_open(&d[0], "test:0", 1), NULL, device_open(&d[1], "test:1", 1)};
    must(stretto_unit_open_cpu(&units[1], "cpu:0", NULL, &err), &err);
    stretto_model_info info;
    stretto_model_info_get(model, &info);
    char chunks[16];
    snprintf(chunks, sizeof chunks, "%u", info.n_layers);
    stretto_chain_options options = {.chunks = chunks, .units = units, .n_units = 3};
    stretto_chain *chain = NULL;
    must(stretto_chain_open(&chain, model, &options, &err), &err);
    assert_true(stretto_chain_n_chunks(chain) > 3); /* two at least on the first device */
    for (int i = 0; i < 50; i++) {
        must(stretto_chain_append(chain, ids, 8, NULL, NULL, &err), &err);
        stretto_chain_reset(chain);
    }
    stretto_chain_close(chain);
    for (int i = 0; i < 3; i++) stretto_unit_close(units[i]);
    device_free(&d[0]);
    device_free(&d[1]);
    stretto_model_close(model);
}

static void a_chunk_needs_shared_memory(void **state) {
    (void)state;
    device d = {0};
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-llama-F32.gguf"));
    stretto_unit_ops ops = {.submit = device_submit};
    stretto_unit_info info = {.name = "far:0", .kind = "far"};
    stretto_unit *unit = NULL;
    stretto_chain *chain = NULL;
    must(stretto_unit_open_own(&unit, &ops, &info, &d, &err), &err);
    stretto_chain_options options = {.units = &unit, .n_units = 1};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "far:0");
    must(stretto_chain_open(&chain, model, NULL, &err), &err);
    stretto_probe_result result;
    must_fail(stretto_probe_chunks(&result, chain, 0, 1, NULL, unit, NULL, &err), STRETTO_E_USAGE, &err,
              "far:0 does not share memory with the host, so chunk 2");
    stretto_chain_close(chain);
    stretto_unit_close(unit);
    stretto_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_unit_runs_a_step_on_all_its_threads),
        cmocka_unit_test(a_step_that_fails_says_why),
        cmocka_unit_test(every_worker_may_say_why),
        cmocka_unit_test(wrong_cores_are_named),
        cmocka_unit_test(too_many_threads_are_fewer_with_a_warning),
        cmocka_unit_test(an_own_unit_gets_steps_and_ends_them),
        cmocka_unit_test(an_own_unit_may_fail_in_every_way),
        cmocka_unit_test(a_queue_that_cannot_be_opened_is_named),
        cmocka_unit_test(nonsense_units_are_refused),
        cmocka_unit_test(chunks_run_on_own_units_and_give_the_same),
        cmocka_unit_test(a_queue_of_one_place_is_enough_for_a_chain),
        cmocka_unit_test(a_chunk_needs_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
