/* SPDX-License-Identifier: MIT
 * The spike's report from the published numbers and from others: what it says follows from them. */
#include "report/schema.h"
#include "report/spike_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Trials that all take as long as the published medians. */
static void spike_fill(st_spike_record *record, double a, double b, double serial, double parallel, double spread) {
    const double ms[ST_SPIKE_ARMS] = {a, b, serial, parallel};
    *record = (st_spike_record){.name = {"1", "3"}, .unit = {"cpu:0+1", "cpu:0+1"}, .complete = true};
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++) {
        record->trials[arm] = ST_SPIKE_TRIALS;
        record->median_ns[arm] = record->mean_ns[arm] = ms[arm] * 1e6;
        for (unsigned i = 0; i < ST_SPIKE_TRIALS; i++) record->ns[arm][i] = (uint64_t)(ms[arm] * 1e6);
    }
    double factor = (a + b - parallel) / (a < b ? a : b), with_serial = (serial - parallel) / (a < b ? a : b);
    record->factor = (st_interval){factor, factor - spread, factor + spread};
    record->factor_serial = (st_interval){with_serial, with_serial - spread, with_serial + spread};
}

static void report_fill(st_spike_report *report) {
    static const struct {
        const char *category;
        double a, b, serial, parallel, off, on;
    } rows[ST_SPIKE_PROMPTS] = {
        {"chat-define-transformer", 5.12, 7.39, 12.66, 12.26, 33.25, 33.12},
        {"code-complete-sum", 5.10, 7.41, 12.53, 12.38, 32.84, 33.11},
        {"qa-where-is-swift", 5.13, 7.53, 12.69, 12.40, 32.70, 32.91},
        {"sum-para-ane", 5.09, 7.41, 12.38, 12.21, 33.00, 33.07},
    };
    *report = (st_spike_report){.model = "E2B, 4 chunks: 1 (0-7) 2 (8-14) 3 (15-24) 4 (25-34, head)",
                                .n_decoded = 64,
                                .n_prompts = ST_SPIKE_PROMPTS,
                                .complete = true};
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS; i++) {
        st_spike_prompt *prompt = &report->prompts[i];
        *prompt = (st_spike_prompt){.n_tokens = 20 + i, .probed = true, .n_runs = 1, .ids_equal = true};
        snprintf(prompt->category, sizeof prompt->category, "%s", rows[i].category);
        spike_fill(&prompt->spike, rows[i].a, rows[i].b, rows[i].serial, rows[i].parallel, 0.01);
        prompt->baseline[0] = rows[i].off;
        prompt->spiked[0] = rows[i].on;
    }
    assert_int_equal(st_spike_report_finish(report, NULL), 0);
}

static char *markdown(const st_spike_report *report, st_buf *out) {
    static st_host host = {.cpu_model = "A processor", .isa = "AVX2", .kernel = "6.1", .n_cores = 2};
    const st_origin origin = {.version = "1.2.3", .host = &host, .when = 1776211200};
    st_buf_free(out);
    st_spike_markdown(out, report, &origin);
    assert_false(out->failed);
    return out->data;
}

static void the_published_tables_come_out(void **state) {
    (void)state;
    st_spike_report report;
    report_fill(&report);
    st_buf out = {0};
    static const char *const parts[] = {
        "# Staged chunk pipelining: feasibility spike\n\nDate: 2026-04-15. Stretto 1.2.3.\n",
        "## TL;DR\n\n**They do not.**",
        "Overlap factor 0.05, within 0.02 to 0.07 over all prompts",
        "## Methodology\n\n- Host: A processor, 2 cores, AVX2; Linux 6.1.\n",
        "10 trials of chunk 1; 10 of chunk 3; 10 of 1 then 3 back to back; 10 of 1 on queue A (cpu:0+1) and 3 on queue "
        "B",
        "`(T_c1 + T_c3 - T_parallel) / (T_c1 + T_c3 - max(T_c1, T_c3))` of medians",
        "| Prompt category | c1 (ms) | c3 (ms) | serial both (ms) | parallel (ms) | overlap factor | with measured "
        "serial |\n",
        "| chat-define-transformer | 5.12 | 7.39 | 12.66 | 12.26 | 0.05 (0.04 to 0.06) | 0.08 (0.07 to 0.09) |\n",
        "| code-complete-sum | 5.10 | 7.41 | 12.53 | 12.38 | 0.03 (0.02 to 0.04) | 0.03 (0.02 to 0.04) |\n",
        "| sum-para-ane | 5.09 | 7.41 | 12.38 | 12.21 | 0.06 (0.05 to 0.07) | 0.03 (0.02 to 0.04) |\n",
        "(same prompts, 64 tokens, medians)",
        "| chat-define-transformer | 20 | 1 | 33.25 | 33.12 | yes |\n",
        "No effect on decode can be seen.",
        "- Both together take 0.400 ms (3.2 %) less than back to back.\n",
        "- Back to back take 0.150 ms more than the two solo times",
        "## Verdict\n\n**Do NOT pursue staged pipelining on cpu:0+1**: a second queue",
    };
    const char *at = markdown(&report, &out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(at, parts[i])) print_error("missing: %s\n", parts[i]);
        assert_non_null(strstr(at, parts[i]));
        at = strstr(at, parts[i]);
    }
    st_buf_free(&out);
}

static void other_numbers_say_other_things(void **state) {
    (void)state;
    st_spike_report report;
    st_buf out = {0};
    enum st_overlap verdict;
    st_interval hull;
    report_fill(&report);
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS; i++) spike_fill(&report.prompts[i].spike, 5, 7, 12, 7.5, 0.02);
    assert_true(st_spike_report_verdict(&report, &verdict, &hull));
    assert_int_equal(verdict, ST_OVERLAP_OVERLAPS);
    assert_non_null(strstr(markdown(&report, &out), "**They do**, at least in part."));
    assert_non_null(strstr(out.data, "Overlap alone is no reason to build it"));
    spike_fill(&report.prompts[2].spike, 5, 7, 12, 11.5, 0.05); /* one prompt's interval holds the threshold */
    assert_non_null(strstr(markdown(&report, &out), "**Ten trials do not decide it.**"));
    assert_non_null(strstr(out.data, "## Verdict\n\n**Undecided.**"));
    report.prompts[1].ids_equal = false;
    report.complete = false;
    for (unsigned i = 0; i < ST_SPIKE_PROMPTS; i++) report.prompts[i].spiked[0] = 0.8 * report.prompts[i].baseline[0];
    assert_int_equal(st_spike_report_finish(&report, NULL), 0);
    assert_non_null(strstr(markdown(&report, &out), "| **no** |"));
    assert_non_null(strstr(out.data, "The run was interrupted"));
    assert_non_null(strstr(out.data, "0.800 (0.800 to 0.800). The interval leaves out 1"));
    st_buf_free(&out);
}

static void an_early_interrupt_still_makes_a_report(void **state) {
    (void)state;
    st_spike_report report = {.model = "m", .n_decoded = 64};
    st_buf out = {0};
    assert_int_equal(st_spike_report_finish(&report, NULL), 0);
    assert_false(report.has_ratio);
    assert_non_null(strstr(markdown(&report, &out), "**Nothing was measured.**"));
    assert_null(strstr(out.data, "## Verdict"));
    st_buf_free(&out);
}

/* Two prompts that serialise, the second without a pair of runs. */
static void an_interrupted_run_has_no_verdict(void **state) {
    (void)state;
    st_spike_report report;
    report_fill(&report);
    report.complete = false;
    report.n_prompts = 2;
    report.prompts[1].n_runs = 0;
    st_buf out = {0};
    const char *text = markdown(&report, &out);
    assert_non_null(strstr(text, "## TL;DR\n\n**Incomplete: 2 of 4 prompts were probed**"));
    assert_non_null(strstr(text, "## Verdict\n\n**Incomplete**: the run ended early, and 2 of 4 prompts"));
    assert_null(strstr(text, "over all prompts ("));
    assert_null(strstr(text, "Do NOT pursue"));
    st_buf_free(&out);
    json_t *json = st_spike_json(&report, NULL), *prompts = json_object_get(json, "prompts");
    assert_string_equal(json_string_value(json_object_get(json, "overlap")), "undecided");
    assert_true(json_is_true(json_object_get(json_array_get(prompts, 0), "ids_equal")));
    assert_true(json_is_null(json_object_get(json_array_get(prompts, 1), "ids_equal")));
    json_decref(json);
}

static void the_log_has_every_trial(void **state) {
    (void)state;
    st_spike_record record;
    spike_fill(&record, 5.12, 7.39, 12.66, 12.26, 0.01);
    record.ns[ST_SPIKE_B][9] = 8000000;
    st_buf out = {0};
    st_spike_log(&out, &record, "[Spike] ");
    assert_string_equal(
        out.data, "[Spike] chunk 1 on cpu:0+1 || chunk 3 on cpu:0+1: 10 trials each, caches warm\n"
                  "[Spike] solo_a ms: 5.120 5.120 5.120 5.120 5.120 5.120 5.120 5.120 5.120 5.120\n"
                  "[Spike] solo_b ms: 7.390 7.390 7.390 7.390 7.390 7.390 7.390 7.390 7.390 8.000\n"
                  "[Spike] serial ms: 12.660 12.660 12.660 12.660 12.660 12.660 12.660 12.660 12.660 12.660\n"
                  "[Spike] parallel ms: 12.260 12.260 12.260 12.260 12.260 12.260 12.260 12.260 12.260 12.260\n"
                  "[Spike] medians: c1 5.120 ms, c3 7.390 ms, serial both 12.660 ms, parallel 12.260 ms\n"
                  "[Spike] overlap factor 0.05 (0.04 to 0.06); with the measured serial time 0.08 (0.07 to 0.09)\n");
    st_buf_free(&out);
    record.complete = false;
    record.trials[ST_SPIKE_B] = 2;
    record.trials[ST_SPIKE_SERIAL] = record.trials[ST_SPIKE_PARALLEL] = 0;
    st_spike_log(&out, &record, "");
    assert_non_null(strstr(out.data, "solo_b ms: 7.390 7.390\n"));
    assert_null(strstr(out.data, "medians"));
    st_buf_free(&out);
}

static void the_json_has_the_raw_nanoseconds(void **state) {
    (void)state;
    st_spike_report report;
    report_fill(&report);
    json_t *json = st_spike_json(&report, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "stretto-spike/1");
    assert_string_equal(json_string_value(json_object_get(json, "overlap")), "serialises");
    json_t *prompt = json_array_get(json_object_get(json, "prompts"), 1), *probe = json_object_get(prompt, "probe");
    assert_string_equal(json_string_value(json_object_get(prompt, "category")), "code-complete-sum");
    assert_int_equal(json_array_size(json_object_get(json_object_get(probe, "samples"), "parallel_ns")), 10);
    assert_int_equal(
        json_integer_value(json_array_get(json_object_get(json_object_get(probe, "samples"), "solo_a_ns"), 0)),
        5100000);
    assert_non_null(json_object_get(json_object_get(probe, "overlap_factor_serial"), "lo"));
    schema_check(json, ST_SPIKE_SCHEMA);
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_tables_come_out),           cmocka_unit_test(other_numbers_say_other_things),
        cmocka_unit_test(an_early_interrupt_still_makes_a_report), cmocka_unit_test(the_log_has_every_trial),
        cmocka_unit_test(the_json_has_the_raw_nanoseconds),        cmocka_unit_test(an_interrupted_run_has_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
