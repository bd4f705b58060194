/* SPDX-License-Identifier: MIT
 * Control steps: that they do the work that they say, all of it, once. And the measured peaks. */
#include "device/control.h"

#include "base/error.h"
#include "unit/null.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/lanes.h"

/* A table whose reading and arithmetic are only noted. */
enum { LINES = 64 };                 /* of a region that starts at a whole page */
static atomic_uint line_read[LINES]; /* how often each was */
static atomic_uint misaligned;
static atomic_uint rounds_done[ST_BURNS];

static uint64_t note_stream(const uint8_t *data, size_t bytes, enum st_stream_order order) {
    assert_int_equal(order, ST_STREAM_FOUR);
    const size_t first = (uintptr_t)data % (LINES * 64) / 64;
    if ((uintptr_t)data % 64 || bytes % 64) atomic_fetch_add(&misaligned, 1);
    for (size_t i = 0; i < bytes / 64; i++) atomic_fetch_add(&line_read[(first + i) % LINES], 1);
    return 0;
}

static uint32_t note_dots(uint32_t rounds) {
    atomic_fetch_add(&rounds_done[ST_BURN_DOTS], rounds);
    return 0;
}

static uint32_t note_f32(uint32_t rounds) {
    atomic_fetch_add(&rounds_done[ST_BURN_F32], rounds);
    return 0;
}

static const st_kern noting = {.name = "noting", .stream = note_stream, .burn = {note_dots, note_f32}};

static void notes_clear(void) {
    for (unsigned i = 0; i < LINES; i++) atomic_store(&line_read[i], 0);
    for (unsigned i = 0; i < ST_BURNS; i++) atomic_store(&rounds_done[i], 0);
    atomic_store(&misaligned, 0);
}

static st_unit *open_lane(lanes_host *fake, unsigned n) {
    lanes_host_init(fake, n);
    return lanes_open(fake, 0, n, 20000);
}

static void run(st_unit *unit, const st_control *control, unsigned times) {
    stretto_error err;
    st_queue *queue;
    st_event done;
    st_event_init(&done);
    assert_int_equal(st_queue_open(unit, &queue, &err), 0);
    for (unsigned i = 0; i < times; i++) assert_int_equal(st_run_step(queue, st_control_step(control), &done, &err), 0);
    st_queue_close(queue);
}

static void a_stream_goes_on_where_it_ended(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 3; n++) {
        lanes_host fake;
        st_control *control;
        stretto_error err;
        st_unit *unit = open_lane(&fake, n);
        notes_clear();
        assert_int_equal(st_control_stream(&control, &noting, ST_STREAM_FOUR, 5 * 64 - 1, LINES * 64, &err), 0);
        assert_int_equal(st_control_step(control)->bytes, 5 * 64);
        assert_int_equal(st_control_step(control)->operations, 0);
        run(unit, control, 12); /* 60 of 64 lines: the next five do not fit */
        for (unsigned i = 0; i < 60; i++) assert_int_equal(line_read[i], 1);
        for (unsigned i = 60; i < 64; i++) assert_int_equal(line_read[i], 0);
        run(unit, control, 1);
        for (unsigned i = 0; i < 60; i++) assert_int_equal(line_read[i], i < 5 ? 2 : 1);
        assert_int_equal(misaligned, 0);
        st_control_free(control);
        st_unit_close(unit);
    }
}

static void arithmetic_is_shared_out(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 3; n++) {
        lanes_host fake;
        st_control *control;
        stretto_error err;
        st_unit *unit = open_lane(&fake, n);
        notes_clear();
        assert_int_equal(st_control_compute(&control, &noting, ST_BURN_DOTS, 9 * ST_BURN_ROUND + 1, &err), 0);
        assert_int_equal(st_control_step(control)->operations, 10 * ST_BURN_ROUND);
        assert_int_equal(st_control_step(control)->bytes, 0);
        run(unit, control, 2);
        assert_int_equal(rounds_done[ST_BURN_DOTS], 20);
        assert_int_equal(rounds_done[ST_BURN_F32], 0);
        st_control_free(control);
        assert_int_equal(st_control_compute(&control, &noting, ST_BURN_F32, 1, &err), 0);
        run(unit, control, 1);
        assert_int_equal(rounds_done[ST_BURN_F32], 1);
        st_control_free(control);
        st_unit_close(unit);
    }
}

static void nothing_to_do_is_refused(void **state) {
    (void)state;
    st_control *control;
    stretto_error err;
    assert_int_equal(st_control_stream(&control, &noting, ST_STREAM_FOUR, 0, 1 << 20, &err), STRETTO_E_USAGE);
    assert_null(control);
    assert_int_equal(st_control_compute(&control, &noting, ST_BURN_DOTS, 0, &err), STRETTO_E_USAGE);
    assert_int_equal(st_control_compute(&control, &noting, ST_BURN_DOTS, UINT64_MAX, &err), STRETTO_E_USAGE);
    assert_null(control);
    assert_int_equal(st_control_stream(&control, &noting, ST_STREAM_FOUR, UINT64_MAX - 5, 1, &err), STRETTO_E_MEMORY);
    assert_null(control);
    st_control_free(NULL);
}

static void peaks_of_a_lane(void **state) {
    (void)state;
    lanes_host fake;
    st_peaks peaks;
    stretto_error err;
    const st_kern *kern;
    st_unit *unit = open_lane(&fake, 1);
    assert_int_equal(st_kern_select(&kern, NULL, &err), 0);
    assert_int_equal(st_peaks_measure(&peaks, unit, kern, 4 << 20, &err), 0);
    assert_int_equal(peaks.n_threads, 1);
    assert_int_equal(peaks.memory_bytes, 4 << 20);
    const st_peak all[] = {peaks.read, peaks.burn[ST_BURN_DOTS], peaks.burn[ST_BURN_F32]};
    for (unsigned i = 0; i < 3; i++) {
        assert_true(all[i].median > 0.01); /* nothing is that slow */
        assert_true(all[i].best >= all[i].median);
        assert_true(all[i].best < 1e5); /* nor that fast: the work was done */
    }
    const uint64_t operations = st_peaks_operations(&peaks, ST_BURN_DOTS, 1e6);
    assert_true(operations > 0.99e6 * peaks.burn[ST_BURN_DOTS].median - 1);
    assert_true(operations <= 1e6 * peaks.burn[ST_BURN_DOTS].median);
    st_unit_close(unit);
}

static void peaks_want_a_lane(void **state) {
    (void)state;
    st_unit *unit;
    st_peaks peaks;
    stretto_error err;
    assert_int_equal(st_null_open(&unit, 3, &err), 0);
    assert_int_equal(st_peaks_measure(&peaks, unit, &noting, 1 << 20, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "null:3"));
    st_unit_close(unit);
}

static void memory_is_well_over_the_caches(void **state) {
    (void)state;
    const uint64_t mib = 1 << 20;
    const st_host small = {.llc_bytes = 4 * mib, .memory_bytes = 65536 * mib};
    const st_host usual = {.llc_bytes = 32 * mib, .memory_bytes = 65536 * mib};
    const st_host large = {.llc_bytes = 384 * mib, .memory_bytes = 65536 * mib};
    const st_host poor = {.llc_bytes = 32 * mib, .memory_bytes = 1024 * mib};
    assert_int_equal(st_control_memory(&small), 128 * mib);
    assert_int_equal(st_control_memory(&usual), 256 * mib);
    assert_int_equal(st_control_memory(&large), 1024 * mib);
    assert_int_equal(st_control_memory(&poor), 128 * mib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_goes_on_where_it_ended),
        cmocka_unit_test(arithmetic_is_shared_out),
        cmocka_unit_test(nothing_to_do_is_refused),
        cmocka_unit_test(peaks_of_a_lane),
        cmocka_unit_test(peaks_want_a_lane),
        cmocka_unit_test(memory_is_well_over_the_caches),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
