/* SPDX-License-Identifier: MIT
 * A comparison's forms, of probes of mock machines without noise: what changed is known. */
#include "report/compare_report.h"

#include "report/machine.h"
#include "report/schema.h"

typedef struct two {
    rig before, after;
    st_compare compare;
    st_probe_source source[2];
    st_compare_report report;
} two;

static void tiny_probe(rig *r, double bytes_per_ns) {
    machine_open(r, (st_mock_options){.bytes_per_ns = bytes_per_ns});
    r->setup.title = "tiny Q4_1, 4 chunks";
    rig_run(r);
    assert_int_equal(r->code, 0);
}

static void two_open(two *t, unsigned n_processes) {
    static const char *const names[2] = {"old/probe.json", "new/probe.json"};
    *t = (two){.source = {{.version = "1.2.3", .time = "2023-11-14T22:13:20Z", .cpu = "A processor"},
                          {.version = "1.2.4", .time = "2023-11-15T22:13:20Z", .cpu = "A processor"}}};
    tiny_probe(&t->before, 40);
    tiny_probe(&t->after, MACHINE_BYTES_PER_NS);
    t->before.record.n_processes = t->after.record.n_processes = n_processes;
    for (size_t i = 0; i < t->after.record.rows[1].n_rounds; i++)
        t->after.record.rows[1].rounds[i].process = (unsigned)i % n_processes;
    strcpy(t->after.record.rows[1].unit[1], "cpu:2");
    assert_int_equal(st_compare_records(&t->compare, &t->before.record, &t->after.record, names, 1, NULL), 0);
    t->report = (st_compare_report){
        .compare = &t->compare, .name = {names[0], names[1]}, .source = {&t->source[0], &t->source[1]}};
}

static void two_close(two *t) {
    st_compare_free(&t->compare);
    rig_close(&t->before);
    rig_close(&t->after);
}

static const char expected_text[] = "before  old/probe.json, 2023-11-14T22:13:20Z\n"
                                    "after   new/probe.json, 2023-11-15T22:13:20Z\n"
                                    "tiny Q4_1, 4 chunks; caches warm\n"
                                    "\n"
                                    "  1 || 3        before  after  change  95 %           parallel  a alone  b alone\n"
                                    "  one unit        0.00   0.00   +0.00  +0.00 to +0.00   +0.0 %   +0.0 %   +0.0 %\n"
                                    "  two units       1.00   0.67   -0.33  -0.33 to -0.33    +25 %   +0.0 %   +0.0 %\n"
                                    "  two threads        -      -       -  -                     -        -        -\n"
                                    "\n"
                                    "  1 || 3\n"
                                    "  one unit      no change of overlap within these two runs: +0.00, +0.00 to\n"
                                    "                +0.00\n"
                                    "  two units     less overlap within these two runs: -0.33, -0.33 to -0.33;\n"
                                    "                parallel +25 % (+25 % to +25 %)\n"
                                    "  two threads   not measured in either\n"
                                    "\n"
                                    "  Stretto: 1.2.3 before, 1.2.4 after\n"
                                    "  1 || 3, two units, unit of 3: cpu:1 before, cpu:2 after\n"
                                    "\n"
                                    "  one run a side: what runs differ by anyway (page placement, clock) is not\n"
                                    "  known, so this cannot tell whether the change is one; probe with --fresh 5 on\n"
                                    "  both sides\n";

static void the_terminal_shows_the_changes(void **state) {
    (void)state;
    two t;
    two_open(&t, 1);
    st_buf out = {0};
    st_compare_text(&out, &t.report, false);
    assert_false(out.failed);
    assert_string_equal(out.data, expected_text);
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1) assert_true(strcspn(at, "\n") <= 80);
    st_buf_free(&out);
    two_close(&t);
}

static void markdown_begins_with_the_changes(void **state) {
    (void)state;
    two t;
    two_open(&t, 5);
    st_buf out = {0};
    st_compare_markdown(&out, &t.report);
    assert_false(out.failed);
    static const char *const parts[] = {
        "# Two probes compared\n\n## TL;DR\n\n",
        "- 1 || 3, one unit: no change of overlap beyond noise: +0.00, +0.00 to +0.00.\n",
        "- 1 || 3, two units: less overlap beyond noise: -0.33, -0.33 to -0.33; parallel +25 %",
        "- 1 || 3, two threads: not measured in either.\n",
        "- Noise: intervals over 5 and 5 processes and their rounds.\n",
        "- After: `new/probe.json`, 2023-11-15T22:13:20Z, 5 processes.\n",
        "- Model: tiny Q4_1, 4 chunks.\n- State: caches warm.\n- Stretto: 1.2.3 before, 1.2.4 after.\n",
        "| 1 \\|\\| 3 | two units | 1.00 (1.00 to 1.00) | 0.67 (0.67 to 0.67) | -0.33 (-0.33 to -0.33) | +25.0 %",
    };
    const char *at = out.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(at, parts[i])) print_error("no %s in %s\n", parts[i], at);
        at = strstr(at, parts[i]);
        assert_non_null(at);
    }
    st_buf_free(&out);
    two_close(&t);
}

static void the_json_is_documented(void **state) {
    (void)state;
    two t;
    two_open(&t, 5);
    const st_origin origin = {.version = "1.2.3", .when = 1700000000};
    json_t *json = st_compare_json(&t.report, &origin), *rows = json_object_get(json, "pairs");
    assert_non_null(json);
    schema_check(json, ST_COMPARE_SCHEMA);
    assert_true(json_is_true(json_object_get(json, "between_runs")));
    assert_int_equal(json_array_size(rows), 3);
    json_t *row = json_array_get(rows, 1), *change = json_object_get(row, "factor_change");
    assert_string_equal(json_string_value(json_object_get(change, "change")), "less");
    assert_near(json_number_value(json_object_get(change, "value")), -1.0 / 3, 1e-6);
    json_t *parallel = json_object_get(json_object_get(row, "time_ratio"), "parallel");
    assert_string_equal(json_string_value(json_object_get(parallel, "change")), "more");
    assert_near(json_number_value(json_object_get(parallel, "value")), 1.25, 1e-6);
    assert_true(json_is_null(json_object_get(json_array_get(rows, 2), "before")));
    json_decref(json);
    two_close(&t);
}

static void colour_only_marks_words_that_are_there_anyway(void **state) {
    (void)state;
    two t;
    two_open(&t, 1);
    st_buf out = {0};
    st_compare_text(&out, &t.report, true);
    assert_non_null(strstr(out.data, "\033[1;31mtwo units    \033[0m less overlap"));
    assert_null(strstr(out.data, "\033[1;31mone unit"));
    st_buf_free(&out);
    two_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terminal_shows_the_changes),
        cmocka_unit_test(markdown_begins_with_the_changes),
        cmocka_unit_test(the_json_is_documented),
        cmocka_unit_test(colour_only_marks_words_that_are_there_anyway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
