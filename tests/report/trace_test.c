/* SPDX-License-Identifier: MIT
 * The trace as a viewer reads it: every event is complete, slices of a track nest, flows go from a slice to a slice. */
#include "report/probe_report.h"

#include "probe/rig.h"

#include <stdio.h>

static json_t *trace_of(rig *r) {
    st_buf out = {0};
    st_probe_trace(&out, &r->record, NULL);
    assert_false(out.failed);
    json_error_t problem;
    json_t *trace = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &problem);
    if (!trace) print_error("line %d: %s\n", problem.line, problem.text);
    assert_non_null(trace);
    st_buf_free(&out);
    return trace;
}

static void machine_open(rig *r) {
    const st_mock_unit_options units[3] = {
        {.name = "cpu:0+1"}, {.name = "cpu:0"}, {.name = "cpu:1", .latency_ns = 5000}};
    rig_open(r, (st_mock_options){.sigma = 0.02, .seed = 3}, units, 3, (rig_pair){.a_ns = 900000, .b_ns = 1200000});
    r->jobs[0] = (st_probe_job){.arrangement = st_arrangement_find("one-unit", NULL), .side = {0, 1}};
    r->jobs[1] = (st_probe_job){.arrangement = st_arrangement_find("two-units", NULL), .side = {0, 1}, .unit = {1, 2}};
    r->jobs[2] = (st_probe_job){
        .arrangement = st_arrangement_find("threads", NULL), .side = {0, 1}, .skip = "one core is allowed here"};
    r->setup.n_jobs = 3;
    r->setup.limits.rounds = 12;
}

static const char *text(json_t *event, const char *key) {
    const char *value = json_string_value(json_object_get(event, key));
    assert_non_null(value);
    return value;
}

static double number(json_t *event, const char *key) {
    json_t *value = json_object_get(event, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static bool is(json_t *event, const char *phase, double pid, double tid) {
    return strcmp(text(event, "ph"), phase) == 0 && number(event, "pid") == pid && number(event, "tid") == tid;
}

/* A slice that holds the time on the event's track; NULL where there is none. */
static json_t *slice_at(json_t *events, json_t *event, double ts) {
    size_t i;
    json_t *slice;
    json_array_foreach(events, i, slice) {
        if (!is(slice, "X", number(event, "pid"), number(event, "tid"))) continue;
        double begin = number(slice, "ts");
        if (ts >= begin - 1e-6 && ts <= begin + number(slice, "dur") + 1e-6) return slice;
    }
    return NULL;
}

static void check_metadata(json_t *events, json_t *event) {
    bool process = false, thread = false;
    size_t i;
    json_t *other;
    json_array_foreach(events, i, other) {
        if (strcmp(text(other, "ph"), "M") != 0 || number(other, "pid") != number(event, "pid")) continue;
        process = process || strcmp(text(other, "name"), "process_name") == 0;
        thread =
            thread || (strcmp(text(other, "name"), "thread_name") == 0 && number(other, "tid") == number(event, "tid"));
    }
    assert_true(process && thread);
}

/* Two slices of a track are apart, or one holds the other. */
static void check_nesting(json_t *x, json_t *y) {
    double a = number(x, "ts"), b = a + number(x, "dur"), c = number(y, "ts"), d = c + number(y, "dur");
    double e = 1e-6;
    bool apart = b <= c + e || d <= a + e, inside = (a >= c - e && b <= d + e) || (c >= a - e && d <= b + e);
    assert_true(apart || inside);
}

static void check_flow(json_t *events, json_t *start) {
    size_t i, ends = 0;
    json_t *end;
    assert_non_null(slice_at(events, start, number(start, "ts")));
    json_array_foreach(events, i, end) {
        if (strcmp(text(end, "ph"), "f") != 0 || number(end, "id") != number(start, "id")) continue;
        ends++;
        assert_true(number(end, "ts") >= number(start, "ts"));
        assert_string_equal(text(end, "bp"), "e");
        assert_string_equal(text(end, "cat"), text(start, "cat"));
        assert_non_null(slice_at(events, end, number(end, "ts")));
    }
    assert_int_equal(ends, 1);
}

static void a_viewer_can_read_it(void **state) {
    (void)state;
    rig r;
    machine_open(&r);
    rig_run(&r);
    assert_int_equal(r.code, 0);
    json_t *trace = trace_of(&r), *events = json_object_get(trace, "traceEvents"), *x, *y;
    size_t i, k, slices = 0, flows = 0;
    json_array_foreach(events, i, x) {
        assert_true(number(x, "ts") >= 0);
        if (strcmp(text(x, "ph"), "X") == 0) {
            slices++;
            assert_true(number(x, "dur") > 0);
            check_metadata(events, x);
            json_array_foreach(events, k, y) if (is(y, "X", number(x, "pid"), number(x, "tid"))) check_nesting(x, y);
        } else if (strcmp(text(x, "ph"), "s") == 0) {
            flows++;
            check_flow(events, x);
        }
    }
    /* a round, its arms, and the sides in them: one and one alone, two in each other arm */
    assert_int_equal(slices, 12 * (1 + 5 + 1 + 1 + 2 * 3) + 12 * (1 + 4 + 1 + 1 + 2 * 2));
    assert_int_equal(flows, 12 * (2 + 2 * 3) + 12 * (2 + 2 * 2));
    json_decref(trace);
    rig_close(&r);
}

/* Microseconds, from the same beginning as the rounds. */
static void times_are_those_of_the_samples(void **state) {
    (void)state;
    rig r;
    machine_open(&r);
    rig_run(&r);
    json_t *trace = trace_of(&r), *events = json_object_get(trace, "traceEvents"), *x;
    size_t i, round = 0;
    json_array_foreach(events, i, x) {
        if (!is(x, "X", 1, 1) || strcmp(text(x, "name"), "parallel") != 0) continue;
        const st_sample *s = &r.record.rows[0].rounds[round++].arms[ST_ARM_PARALLEL];
        assert_near(number(x, "ts"), (double)s->begin_ns / 1e3, 1e-6);
        assert_near(number(x, "dur"), (double)s->wall_ns / 1e3, 1e-6);
    }
    assert_int_equal(round, 12);
    json_decref(trace);
    rig_close(&r);
}

static void processes_have_tracks_of_their_own(void **state) {
    (void)state;
    rig r;
    machine_open(&r);
    rig_run(&r);
    r.record.n_processes = 2;
    for (size_t i = 6; i < 12; i++) r.record.rows[0].rounds[i].process = 1;
    json_t *trace = trace_of(&r), *events = json_object_get(trace, "traceEvents"), *x;
    size_t i, rounds[5] = {0};
    json_array_foreach(events, i, x) {
        if (strcmp(text(x, "ph"), "X") != 0 || strcmp(text(x, "cat"), "round") != 0) continue;
        rounds[(size_t)number(x, "pid")]++;
        check_metadata(events, x);
    }
    assert_int_equal(rounds[1], 6);
    assert_int_equal(rounds[2], 6);
    assert_int_equal(rounds[3], 12);
    assert_int_equal(rounds[4], 0);
    json_decref(trace);
    rig_close(&r);
}

static void hostile_names_stay_text(void **state) {
    (void)state;
    rig r;
    machine_open(&r);
    r.sides[0].name = "\"},{\"ph\":\"\\";
    r.setup.title = "\xff\"";
    rig_run(&r);
    json_t *trace = trace_of(&r), *events = json_object_get(trace, "traceEvents"), *x;
    size_t i, found = 0;
    json_array_foreach(events, i, x) found += strcmp(text(x, "name"), "\"},{\"ph\":\"\\") == 0;
    assert_true(found > 0);
    json_decref(trace);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_viewer_can_read_it),
        cmocka_unit_test(times_are_those_of_the_samples),
        cmocka_unit_test(processes_have_tracks_of_their_own),
        cmocka_unit_test(hostile_names_stay_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
