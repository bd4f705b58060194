/* SPDX-License-Identifier: MIT
 * The page of a probe on a mock machine without noise; tests/cli/page_test.py opens one in a browser. */
#include "report/html.h"
#include "report/json.h"
#include "report/probe_report.h"

#include "base/mem.h"
#include "report/machine.h"

#include <stdio.h>

static void check_text(const char *text, const char *expected) {
    st_buf out = {0};
    st_html_text(&out, text);
    assert_false(out.failed);
    assert_string_equal(out.data ? out.data : "", expected);
    st_buf_free(&out);
}

static void text_is_only_text(void **state) {
    (void)state;
    check_text("", "");
    check_text("SmolLM2 & co.", "SmolLM2 &amp; co.");
    check_text("</script><img src=x onerror='a(\"b\")'>",
               "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;");
    check_text("a\x01"
               "b\x7f\r\n\tc",
               "a\xef\xbf\xbd"
               "b\xef\xbf\xbd\xef\xbf\xbd\n\tc");
    check_text("\xc3\xa9 \xff \xed\xa0\x80", "\xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_text("cut \xf0\x9f", "cut \xef\xbf\xbd\xef\xbf\xbd");
}

static void json_cannot_end_its_element(void **state) {
    (void)state;
    static const char hostile[] = "</script><!--<script>";
    st_buf out = {0};
    st_html_json(&out, json_pack("{s:s}", hostile, hostile));
    assert_false(out.failed);
    assert_null(strchr(out.data, '<'));
    json_t *back = json_loads(out.data, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(back, hostile)), hostile);
    json_decref(back);
    st_buf_free(&out);
    st_html_json(&out, NULL);
    assert_true(out.failed);
    st_buf_free(&out);
}

static unsigned count(const char *text, const char *word) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
    return n;
}

static void tiny_open(rig *r) {
    machine_open(r, (st_mock_options){.bytes_per_ns = MACHINE_BYTES_PER_NS});
    r->setup.title = "tiny";
}

static void the_verdict_comes_first(void **state) {
    (void)state;
    rig r;
    tiny_open(&r);
    rig_run(&r);
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_false(out.failed);
    static const char *const parts[] = {
        "<!DOCTYPE html>",
        "Can <bdi>1</bdi> and <bdi>3</bdi> run at the same time?",
        "<strong>Yes</strong>, with two units.",
        "<span class=\"chip serialises\">serialises</span> overlap factor 0.00",
        "a first-in-first-out queue",
        "<span class=\"chip overlaps\">overlaps</span> overlap factor 0.67",
        "not measured: one core is allowed here",
        "<dt>one stream</dt><dd><strong>no</strong>: the steps depend on each other",
        "<table",
        "data-label=\"parallel, ms\">1.50<",
        "<svg",
        "aria-label=\"two units: overlap factors of 10 rounds, median 0.67, interval 0.67 to 0.67\"",
        "aria-label=\"two units, round 1: 1 from 0.00 to 1.20 ms, alone 0.900; 3 from 0.00 to 1.50 ms, alone 1.20\"",
        "<script type=\"application/json\" id=\"data\">",
        "</html>\n",
    };
    const char *at = out.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(at, parts[i])) print_error("no %s\n", parts[i]);
        at = strstr(at, parts[i]);
        assert_non_null(at);
    }
    st_buf_free(&out);
    rig_close(&r);
}

static void answer_is(enum st_overlap one, enum st_overlap two, const char *text) {
    rig r;
    tiny_open(&r);
    rig_run(&r);
    r.record.rows[0].verdict = one;
    r.record.rows[1].verdict = two;
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_non_null(strstr(out.data, text));
    st_buf_free(&out);
    rig_close(&r);
}

static void the_answer_is_of_all_arrangements(void **state) {
    (void)state;
    answer_is(ST_OVERLAP_OVERLAPS, ST_OVERLAP_OVERLAPS, "<strong>Yes</strong>, with one unit, two units.");
    answer_is(ST_OVERLAP_OVERLAPS, ST_OVERLAP_UNDECIDED, "<strong>Yes</strong>, with one unit.");
    answer_is(ST_OVERLAP_SERIALISES, ST_OVERLAP_UNDECIDED, "<strong>Undecided.</strong>");
    answer_is(ST_OVERLAP_SERIALISES, ST_OVERLAP_INTERFERES, "<strong>No.</strong>");
}

static void hostile_names_stay_text(void **state) {
    (void)state;
    static const char hostile[] = "\"></svg><script>x()</script>\xff";
    rig r;
    tiny_open(&r);
    r.setup.title = hostile;
    r.sides[0].name = hostile;
    r.jobs[2].skip = hostile;
    rig_run(&r);
    st_buf_text(&r.record.warnings, "a warning of </script>\n");
    st_buf out = {0};
    char word[] = "stretto</script>", *words[] = {word};
    const st_host host = {.cpu_model = "<script>cpu", .isa = "<script>isa", .kernel = "<script>", .n_cores = 1};
    const st_origin origin = {.version = "1.2.3", .argc = 1, .argv = words, .host = &host, .when = 1700000000};
    st_probe_html(&out, &r.record, &origin);
    assert_int_equal(count(out.data, "<script"), 2);
    assert_int_equal(count(out.data, "</script"), 2);
    assert_null(strstr(out.data, "\xff"));
    assert_non_null(strstr(out.data, "2023-11-14 22:13 UTC"));
    st_buf_free(&out);
    rig_close(&r);
}

/* Peaks of two units, the controls of their pair, and a use with a break-even. */
static void units_add(st_probe_record *record) {
    record->peaks = st_alloc(2, sizeof *record->peaks);
    st_free(record->unit_pairs);
    record->unit_pairs = st_alloc(1, sizeof *record->unit_pairs);
    assert_true(record->peaks && record->unit_pairs);
    record->n_peaks = 2;
    record->n_unit_pairs = 1;
    record->join_ns = 3400;
    record->peaks[0] = (st_unit_peaks){.unit = "cpu:0", .n_threads = 1, .gb_per_s = 24.1, .gmac_per_s = 233};
    record->peaks[1] = (st_unit_peaks){.unit = "<npu>", .n_threads = 2};
    record->unit_pairs[0] = (st_unit_pair){.unit = {"cpu:0", "<npu>"}};
    record->unit_pairs[0].controls[ST_CONTROL_COMPUTE] = (st_control_result){
        .n_rounds = 10, .solo_rate = {233, 231}, .parallel_rate = 460, .overlap = {0.99, 0.97, 1.01}};
    record->costs = st_alloc(1, sizeof *record->costs);
    assert_non_null(record->costs);
    record->n_costs = 1;
    record->costs[0] = (st_solo_cost){.chunk = "2", .unit = "<npu>", .prefill = true, .tokens = 64, .ns = 2.5e6};
    record->rows[1].worth[ST_USE_STREAMS] =
        (st_worth){.verdict = ST_WORTH_PAYS, .has_break_even = true, .break_even = 0.4, .reason = "4 streams: 1.5x"};
}

static void units_and_worth_are_shown(void **state) {
    (void)state;
    rig r;
    tiny_open(&r);
    rig_run(&r);
    units_add(&r.record);
    r.record.n_processes = 5;
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_non_null(strstr(out.data, "<dt>streams</dt><dd><strong>yes</strong>: 4 streams: 1.5x</dd>"));
    assert_non_null(strstr(out.data, "Medians of 10 rounds of 5 processes"));
    assert_int_equal(count(out.data, "<path class=\"even\""), 1);
    assert_non_null(strstr(out.data, "<bdi>cpu:0</bdi></th><td>1</td><td>24.1</td><td>233</td>"));
    assert_non_null(strstr(out.data, "<bdi>&lt;npu&gt;</bdi></th><td>2</td><td>-</td><td>-</td>"));
    assert_non_null(strstr(out.data, "does nothing: 3.40 &micro;s"));
    assert_non_null(strstr(out.data, "<td>arithmetic alone, Gmac/s</td><td>233</td><td>231</td><td>460</td><td>0.99"));
    assert_null(strstr(out.data, "reading alone"));
    assert_non_null(strstr(out.data, "<bdi>2</bdi></th><td><bdi>&lt;npu&gt;</bdi></td><td>prefill</td><td>64</td>"
                                     "<td>2.50</td>"));
    st_buf_free(&out);
    st_probe_markdown(&out, &r.record, NULL);
    assert_non_null(strstr(out.data, "| cpu:0 | 1 | 24.1 | 233 |\n"));
    assert_non_null(strstr(out.data, "| cpu:0 and <npu> | compute | 233 | 231 | 460 | 0.99 (0.97 to 1.01) |\n"));
    assert_non_null(strstr(out.data, "- 1 || 3, worth it for streams: **yes**, 4 streams: 1.5x.\n"));
    assert_non_null(strstr(out.data, "Medians over 10 rounds of 5 processes;"));
    st_buf_free(&out);
    rig_close(&r);
}

static void batches_have_one_side(void **state) {
    (void)state;
    rig r;
    tiny_open(&r);
    r.jobs[1] = (st_probe_job){.arrangement = st_arrangement_find("batch-4", NULL), .side = {0, 1}};
    r.setup.n_jobs = 2;
    rig_run(&r);
    assert_int_equal(r.code, 0);
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_non_null(strstr(out.data, "data-label=\"3 alone, ms\">-</td>"));
    assert_int_equal(count(out.data, "<figure>"), 2);
    assert_int_equal(count(out.data, "class=\"limit\""),
                     4); /* three strips of factors, one of time: a batch has none */
    st_buf_free(&out);
    st_probe_row kept = r.record.rows[0];
    r.record.rows[0] = r.record.rows[1]; /* batches alone ask another question */
    r.record.n_rows = 1;
    st_probe_html(&out, &r.record, NULL);
    assert_non_null(strstr(out.data, "<h2>Can several tokens of <bdi>1</bdi> share a call?</h2>"));
    assert_int_equal(count(out.data, "<figure>"), 1);
    st_buf_free(&out);
    r.record.rows[0] = kept;
    r.record.n_rows = 2;
    rig_close(&r);
}

/* A round that is far out must not make the picture useless, nor leave it. */
static void wild_rounds_stay_in_the_picture(void **state) {
    (void)state;
    rig r;
    tiny_open(&r);
    rig_run(&r);
    r.record.rows[1].rounds[3].arms[ST_ARM_PARALLEL].wall_ns = 900 * (uint64_t)MS;
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_null(strstr(out.data, "nan"));
    assert_non_null(strstr(out.data, "M12.0 15.7h0"));
    st_buf_free(&out);
    rig_close(&r);
}

static void many_rounds_are_thinned(void **state) {
    (void)state;
    rig r;
    tiny_open(&r);
    r.setup.n_jobs = 1;
    r.setup.limits.rounds = 12000;
    rig_run(&r);
    st_buf out = {0};
    st_probe_html(&out, &r.record, NULL);
    assert_int_equal(count(out.data, "h0"), 2 * 4000);
    st_buf_free(&out);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_only_text),       cmocka_unit_test(json_cannot_end_its_element),
        cmocka_unit_test(the_verdict_comes_first), cmocka_unit_test(the_answer_is_of_all_arrangements),
        cmocka_unit_test(hostile_names_stay_text), cmocka_unit_test(units_and_worth_are_shown),
        cmocka_unit_test(batches_have_one_side),   cmocka_unit_test(wild_rounds_stay_in_the_picture),
        cmocka_unit_test(many_rounds_are_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
