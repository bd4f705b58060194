/* SPDX-License-Identifier: MIT
 * The forms of a probe's record, on a mock machine without noise: numbers are known, so whole texts are. */
#include "report/probe_report.h"
#include "report/probe_words.h"

#include "report/machine.h"
#include "report/schema.h"

#include <stdio.h>
#include <stdlib.h>

static void tiny_probe(rig *r) {
    machine_open(r, (st_mock_options){.bytes_per_ns = MACHINE_BYTES_PER_NS});
    r->work[0].cold_ns = 40 * MS;
    r->setup.title = "tiny Q4_1, 4 chunks: 1 (0-9)  2 (10-19)  3 (20-28)  4 (29, head)";
    rig_run(r);
    assert_int_equal(r->code, 0);
}

static st_host host = {.cpu_model = "A processor", .isa = "AVX2", .kernel = "6.1", .n_cores = 2, .n_cpus = 2};
static char *words[] = {"stretto", "probe", "-m", "tiny"};
static const st_origin origin = {.version = "1.2.3", .host = &host, .argc = 4, .argv = words, .when = 1700000000};

static const char expected_text[] = "tiny Q4_1, 4 chunks: 1 (0-9) 2 (10-19) 3 (20-28) 4 (29, head)\n"
                                    "2 cores, AVX2\n"
                                    "\n"
                                    "  1 || 3        solo 1 solo 3 serial parallel overlap  95 %            slow by\n"
                                    "  one unit       0.900   1.20   2.10     2.10    0.00  0.00 to 0.00  1.00 1.75\n"
                                    "  two units      0.900   1.20   2.10     1.50    0.67  0.67 to 0.67  1.33 1.25\n"
                                    "  two threads        -      -      -        -       -\n"
                                    "  ms, medians of 10 rounds, caches warm; slowest first call 40.9; slow by: how\n"
                                    "  many times longer 1 and 3 take beside the other\n"
                                    "\n"
                                    "  overlap       1 where the shorter one costs nothing beside the other, 0 where\n"
                                    "                together (parallel) they take as long as one after the other,\n"
                                    "                below 0 longer\n"
                                    "  one unit      two queues of one unit, a submitting thread for each\n"
                                    "  one queue     both from one queue of the unit: what two queues gain against\n"
                                    "                that decides\n"
                                    "  two units     a unit for each side, a submitting thread for each\n"
                                    "  two threads   two threads, each with a queue of its own, on whichever units\n"
                                    "                the sides have\n"
                                    "\n"
                                    "  1 || 3\n"
                                    "  one unit      serialises: a first-in-first-out queue (3 ends when 1 + 3 would,\n"
                                    "                1 at its solo time, in 100 % of rounds); against one queue 0.00,\n"
                                    "                0.00 to 0.00\n"
                                    "  two units     overlaps: unexplained (both are stretched in 100 % of rounds; 1\n"
                                    "                takes 1.33 times as long as alone, 3 1.25 times; together 28.0\n"
                                    "                GB/s, alone 20.0 and 20.0)\n"
                                    "  two threads   not measured: one core is allowed here\n"
                                    "  worth it?     one stream  no: the steps depend on each other\n";

static void the_terminal_shows_the_table_and_then_the_verdict(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_buf out = {0};
    st_probe_text(&out, &r.record, &origin, false);
    assert_string_equal(out.data, expected_text);
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1) assert_true(strcspn(at, "\n") <= 80);
    st_buf_free(&out);
    rig_close(&r);
}

static void colour_only_marks_words_that_are_there_anyway(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_buf out = {0};
    st_probe_text(&out, &r.record, &origin, true);
    assert_non_null(strstr(out.data, "\033[1;31mserialises\033[0m: a first"));
    assert_non_null(strstr(out.data, "\033[1;32moverlaps\033[0m: unex"));
    char *to = out.data;
    for (const char *from = out.data; *from;) { /* without the escapes it is the plain text */
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(out.data, expected_text);
    st_buf_free(&out);
    rig_close(&r);
}

static void what_is_undecided_says_so(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_probe_row *row = &r.record.rows[1];
    row->verdict = ST_OVERLAP_UNDECIDED;
    row->overlap = (st_interval){0.05, -0.02, 0.12};
    row->rounds_needed = 37;
    st_buf out = {0};
    st_probe_text(&out, &r.record, NULL, false);
    assert_non_null(strstr(out.data, "two units     undecided: -0.02 to 0.12 holds the threshold of 0.10; about 37\n"));
    st_buf_free(&out);
    row->rounds[row->n_rounds - 1].process = 1;
    st_probe_text(&out, &r.record, NULL, false);
    assert_null(strstr(out.data, "about 37"));
    assert_non_null(strstr(out.data, "undecided: -0.02 to 0.12 holds the threshold of 0.10; more\n"));
    st_buf_free(&out);
    row->rounds[row->n_rounds - 1].process = 0;
    row->rounds_needed = ST_ROUNDS_NEVER;
    st_probe_text(&out, &r.record, NULL, false);
    assert_non_null(strstr(out.data, "is at the threshold of 0.10"));
    assert_non_null(strstr(out.data, "no number of rounds"));
    st_buf_free(&out);
    row->flags = ST_ROW_SPREAD;
    st_probe_text(&out, &r.record, NULL, false);
    assert_non_null(strstr(out.data, "undecided: the runs are spread too widely for a verdict"));
    st_buf_free(&out);
    rig_close(&r);
}

static void wild_numbers_do_not_break_the_table(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_probe_row *row = &r.record.rows[1];
    row->overlap = (st_interval){-14.27, -26.32, 0.63};
    row->slowdown[1] = 19.34;
    st_buf out = {0};
    st_probe_text(&out, &r.record, NULL, false);
    assert_non_null(strstr(out.data, "  -14.3  -26.3 to 0.63 1.33 19.3\n"));
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1) assert_true(strcspn(at, "\n") <= 80);
    st_buf_free(&out);
    rig_close(&r);
}

static void long_names_do_not_break_the_table(void **state) {
    (void)state;
    rig r;
    const st_mock_unit_options two[2] = {{.name = "npu"}, {.name = "gpu"}};
    rig_open(&r, (st_mock_options){0}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.sides[0].name = "detector (vision)";
    r.sides[1].name = "language model";
    rig_run(&r);
    st_buf out = {0};
    st_probe_text(&out, &r.record, NULL, false);
    assert_non_null(strstr(out.data, "  detector (vision) || language model (a and b)\n"
                                     "                solo a solo b serial parallel"));
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1) assert_true(strcspn(at, "\n") <= 80);
    st_buf_free(&out);
    rig_close(&r);
}

static void worth_is_that_of_two_units_unless_another_row_pays(void **state) {
    (void)state;
    st_probe_row rows[3] = {{.one_unit = true}, {.one_unit = false}, {.k = 4}};
    assert_null(st_rows_worth(rows, 3, ST_USE_STREAMS));
    rows[0].worth[ST_USE_STREAMS].verdict = ST_WORTH_UNDECIDED;
    assert_ptr_equal(st_rows_worth(rows, 3, ST_USE_STREAMS), &rows[0].worth[ST_USE_STREAMS]);
    assert_null(st_rows_worth(rows, 3, ST_USE_PREFILL));
    rows[1].worth[ST_USE_STREAMS].verdict = ST_WORTH_DOES_NOT_PAY;
    assert_ptr_equal(st_rows_worth(rows, 3, ST_USE_STREAMS), &rows[1].worth[ST_USE_STREAMS]);
    rows[0].worth[ST_USE_STREAMS].verdict = ST_WORTH_PAYS; /* two queues of one unit: noise */
    assert_ptr_equal(st_rows_worth(rows, 3, ST_USE_STREAMS), &rows[1].worth[ST_USE_STREAMS]);
    rows[2].worth[ST_USE_STREAMS].verdict = ST_WORTH_PAYS;
    assert_ptr_equal(st_rows_worth(rows, 3, ST_USE_STREAMS), &rows[2].worth[ST_USE_STREAMS]);
}

static void markdown_begins_with_the_verdict(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_buf_text(&r.record.warnings, "the machine was busy: end other programs\n");
    st_buf out = {0};
    st_probe_markdown(&out, &r.record, &origin);
    static const char *const parts[] = {
        "# Overlap probe\n\nDate: 2023-11-14. Stretto 1.2.3.\n",
        "## TL;DR\n\n- 1 || 3, one unit: **serialises** (overlap factor against one queue 0.00, ",
        "one queue 0.00, 95 % interval 0.00 to 0.00).\n",
        "- 1 || 3, two threads: not measured.\n",
        "- 1 || 3, worth it for one stream: **no**, the steps depend on each other.\n",
        "## Methodology\n\n- Host: A processor, 2 cores, AVX2; Linux 6.1.\n",
        "- two units: a unit for each side, a submitting thread for each.\n",
        "Medians over 10 rounds; 95 % intervals by bootstrap over rounds; seed 1.\n",
        "| two units | 0.900 | 1.20 | 2.10 | 1.50 | 0.67 (0.67 to 0.67) | 0.67 (0.67 to 0.67) | |",
        " | | 1.40 (1.40 to 1.40) | 1.33, 1.25 | 10 |\n",
        "first call of 1 40.9 ms",
        "## Warnings\n\n- the machine was busy: end other programs\n",
        "## Again\n\n```\nstretto probe -m tiny\n```\n",
    };
    const char *at = out.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        assert_non_null(at);
    }
    st_buf_free(&out);
    rig_close(&r);
}

static void names_are_no_markup_in_markdown(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    snprintf(r.record.title, sizeof r.record.title, "<img src=x> *a*");
    for (size_t i = 0; i < r.record.n_rows; i++) snprintf(r.record.rows[i].name[0], ST_PROBE_NAME, "<b>");
    st_buf_text(&r.record.warnings, "<b> was late: look\n");
    st_buf out = {0};
    st_probe_markdown(&out, &r.record, &origin);
    assert_non_null(strstr(out.data, "- Model: \\<img src=x> \\*a\\*.\n"));
    assert_non_null(strstr(out.data, "## Results: \\<b> || 3\n"));
    for (const char *at = out.data; (at = strchr(at, '<')); at++) assert_int_equal(at[-1], '\\');
    st_buf_free(&out);
    rig_close(&r);
}

static void count_in(const char *text, const char *what, unsigned expected) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    if (n != expected) print_error("%u times %s\n%s\n", n, what, text);
    assert_int_equal(n, expected);
}

/* Stopped before any pair had a round: one reason, and no table of dashes. */
static void what_was_not_measured_is_told_once(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    for (size_t i = 0; i < r.record.n_rows; i++) {
        r.record.rows[i].n_rounds = 0;
        r.record.rows[i].error = (stretto_error){.code = STRETTO_E_STOPPED, .text = "stopped on request"};
    }
    st_buf text = {0}, markdown = {0}, page = {0};
    st_probe_text(&text, &r.record, &origin, false);
    count_in(text.data, "stopped on request", 1);
    assert_non_null(strstr(text.data, "\n  1 || 3        not measured: stopped on request\n"));
    count_in(text.data, " - ", 0);
    count_in(text.data, "overlap", 0);
    st_probe_markdown(&markdown, &r.record, &origin);
    count_in(markdown.data, "stopped on request", 1);
    assert_non_null(strstr(markdown.data, "- 1 || 3: not measured, stopped on request.\n"));
    assert_null(strstr(markdown.data, "## Results"));
    st_probe_html(&page, &r.record, NULL);
    assert_non_null(strstr(page.data, "<strong>Not measured</strong>: stopped on request.</p>"));
    assert_null(strstr(page.data, "class=\"findings\""));
    st_buf_free(&page);
    st_buf_free(&markdown);
    st_buf_free(&text);
    rig_close(&r);
}

static json_t *get(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value) print_error("no key %s\n", key);
    assert_non_null(value);
    return value;
}

static double real(json_t *object, const char *key) {
    return json_number_value(get(object, key));
}

static void the_json_has_what_scripts_rely_on(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    json_t *json = st_probe_json(&r.record, &origin);
    assert_non_null(json);
    assert_string_equal(json_string_value(get(json, "schema")), "stretto-probe/1");
    assert_string_equal(json_string_value(get(json, "version")), "1.2.3");
    assert_string_equal(json_string_value(get(json, "cache")), "warm");
    assert_int_equal(real(json, "seed"), 1);
    assert_int_equal(json_array_size(get(json, "pairs")), 3);
    json_t *one = json_array_get(get(json, "pairs"), 0), *two = json_array_get(get(json, "pairs"), 1);
    assert_string_equal(json_string_value(get(one, "a")), "1");
    assert_string_equal(json_string_value(get(one, "arrangement")), "one-unit");
    assert_true(json_is_integer(get(one, "solo_a_ns")) && real(one, "solo_a_ns") == 900000);
    assert_true(real(one, "solo_b_ns") == 1200000 && real(one, "serial_ns") == 2100000);
    assert_true(real(one, "parallel_ns") == 2100000 && real(one, "queued_ns") == 2100000);
    assert_true(real(get(one, "overlap_factor_unit"), "hi") == 0);
    assert_string_equal(json_string_value(get(one, "overlap")), "serialises");
    assert_string_equal(json_string_value(get(one, "cause")), "a first-in-first-out queue");
    assert_true(real(get(one, "classes"), "a_first") == 1);
    assert_true(real(one, "cold_a_ns") == 40900000);
    assert_near(real(get(two, "overlap_factor"), "value"), 600.0 / 900, 1e-9);
    assert_near(real(get(two, "overlap_factor_serial"), "lo"), 600.0 / 900, 1e-9);
    assert_near(real(get(two, "speedup"), "value"), 1.4, 1e-9);
    assert_near(real(two, "slowdown_a"), 4.0 / 3, 1e-6);
    assert_near(real(get(two, "gb_per_s"), "parallel"), 28, 1e-6);
    assert_null(json_object_get(two, "overlap_factor_unit"));
    assert_null(json_object_get(two, "queued_ns"));
    assert_string_equal(json_string_value(get(get(get(two, "worth"), "one_stream"), "verdict")), "impossible");
    json_t *samples = get(two, "samples");
    assert_int_equal(json_array_size(get(samples, "parallel_ns")), 10);
    assert_int_equal(json_integer_value(json_array_get(get(samples, "parallel_a_end_ns"), 9)), 1200000);
    assert_int_equal(json_array_size(get(samples, "order")), 10);
    json_decref(json);
    rig_close(&r);
}

static void the_json_of_what_was_not_measured(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_buf_text(&r.record.warnings, "first\nsecond\n");
    r.record.has_conditions = true;
    r.record.before = (st_conditions){.load = -1, .throttled = -1};
    json_t *json = st_probe_json(&r.record, NULL), *row = json_array_get(get(json, "pairs"), 2);
    assert_null(json_object_get(json, "version"));
    assert_int_equal(json_array_size(get(json, "warnings")), 2);
    assert_true(json_is_null(get(get(json, "before"), "load")));
    assert_string_equal(json_string_value(get(row, "stop")), "skipped");
    assert_string_equal(json_string_value(get(row, "error")), "one core is allowed here");
    assert_string_equal(json_string_value(get(row, "overlap")), "undecided");
    assert_true(strlen(json_string_value(get(row, "cause"))) > 0);
    assert_null(json_object_get(row, "solo_a_ns"));
    assert_null(json_object_get(row, "samples"));
    json_decref(json);
    rig_close(&r);
}

static void undecided_rounds_are_null_where_none_would_do(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    r.record.rows[0].verdict = ST_OVERLAP_UNDECIDED;
    r.record.rows[0].rounds_needed = ST_ROUNDS_NEVER;
    r.record.rows[1].verdict = ST_OVERLAP_UNDECIDED;
    r.record.rows[1].rounds_needed = 12;
    json_t *json = st_probe_json(&r.record, NULL), *rows = get(json, "pairs");
    assert_true(json_is_null(get(json_array_get(rows, 0), "rounds_needed")));
    assert_int_equal(real(json_array_get(rows, 1), "rounds_needed"), 12);
    json_decref(json);
    rig_close(&r);
}

static void the_schema_is_documented(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    r.record.has_conditions = true;
    r.record.rows[0].rounds[0].flags = ST_ROUND_OUTLIER;
    json_t *json = st_probe_json(&r.record, &origin);
    schema_check(json, ST_PROBE_SCHEMA);
    json_decref(json);
    rig_close(&r);
}

static void csv_has_a_line_for_each_arm(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    r.record.rows[1].name[0][0] = '"';
    r.record.rows[1].rounds[9].process = 1;
    st_buf out = {0};
    st_probe_csv(&out, &r.record);
    unsigned lines = 0;
    for (const char *at = out.data; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, 1 + 10 * 5 + 10 * 4);
    assert_non_null(strstr(out.data, "1,3,one-unit,cpu:0+1,cpu:0+1,0,"));
    assert_non_null(strstr(out.data, ",parallel,2100000,0,900000,900000,2100000,0,0,0,0\n"));
    assert_non_null(strstr(out.data, "\"\"\"\",3,two-units,cpu:0,cpu:1,9,"));
    assert_string_equal(out.data + out.len - 5, ",0,1\n");
    st_buf_free(&out);
    rig_close(&r);
}

/* What decides is what the first lines say, and a batch's calls are told by their tokens. */
static void markdown_tells_what_decides(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_probe_row *row = &r.record.rows[0];
    row->overlap = (st_interval){-0.18, -0.62, -0.01};
    row->overlap_unit = (st_interval){-0.03, -0.63, 0.23};
    row[1].arrangement = st_arrangement_find("batch-2", NULL);
    row[1].k = 2;
    row[1].name[1][0] = 0;
    row[1].cold_ns[1] = 2670000;
    st_buf out = {0};
    st_probe_markdown(&out, &r.record, &origin);
    assert_non_null(strstr(out.data, "(overlap factor against one queue -0.03, 95 % interval -0.63 to 0.23)"));
    assert_non_null(strstr(out.data, "; first call of 2 tokens 2.67 ms"));
    assert_null(strstr(out.data, "first call of  "));
    st_buf_free(&out);
    rig_close(&r);
}

/* The longest numbers that machines have do not make a line longer than a terminal. */
static void lines_fit_into_80_columns(void **state) {
    (void)state;
    rig r;
    tiny_probe(&r);
    st_unit_peaks peaks = {.unit = "cpu:0+1", .gb_per_s = 20.8, .gmac_per_s = 153.2, .n_threads = 2};
    st_unit_peaks *own = r.record.peaks;
    size_t n = r.record.n_peaks;
    r.record.peaks = &peaks;
    r.record.n_peaks = 1;
    r.record.join_ns = 671;
    st_buf out = {0};
    st_probe_text(&out, &r.record, &origin, false);
    assert_non_null(strstr(out.data, "cpu:0+1 reads 20.8 GB/s, 76.6 Gmac/s a thread; joining and dispatch"));
    for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1) assert_in_range(strcspn(at, "\n"), 0, 80);
    st_buf_free(&out);
    r.record.peaks = own;
    r.record.n_peaks = n;
    rig_close(&r);
}

static void progress_is_a_line(void **state) {
    (void)state;
    const st_probe_row row = {.name = {"1", "3"}, .arrangement = st_arrangement_find("two-units", NULL)};
    st_probe_progress progress = {
        .row = &row, .rounds = 12, .expected = 40, .looked = true, .factor = {0.77, 0.72, 0.82}, .seconds_left = 6.2};
    st_buf out = {0};
    st_probe_progress_text(&out, &progress);
    assert_string_equal(out.data, "probing 1 || 3, two units: round 12 of about 40, 0.77 +- 0.05, 6 s left");
    st_buf_free(&out);
    progress = (st_probe_progress){.row = &row, .seconds_left = -1};
    st_probe_progress_text(&out, &progress);
    assert_string_equal(out.data, "probing 1 || 3, two units: warming up");
    st_buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terminal_shows_the_table_and_then_the_verdict),
        cmocka_unit_test(colour_only_marks_words_that_are_there_anyway),
        cmocka_unit_test(what_is_undecided_says_so),
        cmocka_unit_test(wild_numbers_do_not_break_the_table),
        cmocka_unit_test(long_names_do_not_break_the_table),
        cmocka_unit_test(worth_is_that_of_two_units_unless_another_row_pays),
        cmocka_unit_test(markdown_begins_with_the_verdict),
        cmocka_unit_test(names_are_no_markup_in_markdown),
        cmocka_unit_test(what_was_not_measured_is_told_once),
        cmocka_unit_test(markdown_tells_what_decides),
        cmocka_unit_test(lines_fit_into_80_columns),
        cmocka_unit_test(the_json_has_what_scripts_rely_on),
        cmocka_unit_test(the_json_of_what_was_not_measured),
        cmocka_unit_test(undecided_rounds_are_null_where_none_would_do),
        cmocka_unit_test(the_schema_is_documented),
        cmocka_unit_test(csv_has_a_line_for_each_arm),
        cmocka_unit_test(progress_is_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
