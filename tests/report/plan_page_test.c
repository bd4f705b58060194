/* SPDX-License-Identifier: MIT
 * The page of a plan whose numbers are known; tests/cli/plan_page_test.py opens one in a browser. */
#include "report/plan_support.h"

static unsigned count(const char *text, const char *word) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
    return n;
}

/* The measured run of a row: n decodes of chunk 3 on its first unit, 1 ms every 2 ms. */
static void measure(st_choice_row *row, size_t n) {
    st_measured *m = &row->measured;
    *m = (st_measured){
        .done = true, .tokens_per_s = 400, .stream_tokens_per_s = 200, .prefill_tokens_per_s = 400, .ttft_ns = 3e6};
    m->events = calloc(n, sizeof *m->events);
    assert_non_null(m->events);
    m->n_events = n;
    for (size_t i = 0; i < n; i++)
        m->events[n - 1 - i] = (st_sim_event){.start_ns = 2e6 * (double)i,
                                              .end_ns = 2e6 * (double)i + 1e6,
                                              .stream = 0,
                                              .tokens = 7,
                                              .what = ST_SIM_DECODE,
                                              .chunk = 2};
}

static void check_order(const char *page, const char *const *parts, size_t n) {
    const char *at = page;
    for (size_t i = 0; i < n; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found) fail_msg("%s\n is not in\n%s", parts[i], at);
        at = found;
    }
}

static void what_is_within_its_margin_is_not_far(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    measure(&choice.rows[0], 12);
    choice.rows[0].measured.ttft_margin = 0.151; /* 25 % off, so at least 9.9 */
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    assert_non_null(strstr(out.data, "data-label=\"first token, difference\">+25 ±15 %</td>"));
    st_buf_free(&out);
    choice.rows[0].measured.ttft_margin = 0.149;
    st_plan_html(&out, &choice, &costs, NULL);
    assert_non_null(strstr(out.data, "data-label=\"first token, difference\" class=\"far\">+25 ±15 %</td>"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void the_answer_comes_first(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    measure(&choice.rows[0], 12);
    snprintf(choice.rows[1].measured.why, sizeof choice.rows[1].measured.why, "a < b");
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    assert_false(out.failed);
    static const char *const parts[] = {
        "<!DOCTYPE html>",
        "<h1>Plan</h1>",
        "<bdi>a model of four chunks</bdi>",
        "1 stream, 1 token of prompt, 11 to generate; for latency",
        "<h2>Which schedule answers soonest?</h2>\n<p class=\"answer\"><strong>threads of cpu:0+1</strong> needs 40 % "
        "less",
        ">measured the fastest</span><div>threads of cpu:0+1<",
        "tokens/s of 1, the first token of 0 of 1 schedules",
        ">critical path</span><div>cpu:0+1 100.0 %",
        "<h2>Predicted and measured</h2>",
        "scope=\"col\">schedule</th><th role=\"columnheader\" "
        "scope=\"col\">ms/token, predicted</th><th role=\"columnheader\" scope=\"col\">tokens/s, predicted</th>",
        "threads of cpu:0+1</a></th><td role=\"cell\" data-label=\"ms/token, predicted\">2.40</td>"
        "<td role=\"cell\" data-label=\"tokens/s, predicted\">417</td>"
        "<td role=\"cell\" data-label=\"measured\">400</td><td role=\"cell\" data-label=\"difference\">-4 %</td>"
        "<td role=\"cell\" data-label=\"first token, ms, predicted\">2.40</td>"
        "<td role=\"cell\" data-label=\"first token, measured\">3.00</td>"
        "<td role=\"cell\" data-label=\"first token, difference\" class=\"far\">+25 %</td>",
        "<td role=\"cell\" data-label=\"measured\">-</td>",
        "id=\"schedule0\"",
        "Each stream: 417 tokens/s (measured 200), 2.40 ms between tokens. All done after 26.4 ms.",
        "aria-label=\"cpu:0+1, 44 calls: predicted 100 % busy, measured 52 %\"",
        "<rect class=\"decode pale\"",
        "<title>decode 2, stream 1, 1 token: 3.00 to 3.60 ms (0.600)</title>",
        "<title>decode 3, stream 1, 7 tokens: 0.00 to 1.00 ms (1.00)</title>", /* below it, in order of time */
        "<title>decode 3, stream 1, 7 tokens: 2.00 to 3.00 ms (1.00)</title>",
        "<bdi>host</bdi>",
        "above: predicted; below: measured",
        "id=\"schedule1\"",
        "Not measured: a &lt; b.",
        "<h2>Not possible</h2>",
        "token, 1, 2, 3, 4, token is a chain",
        "<h2>Words</h2>",
        "<dt>host work beside</dt>",
        "<dt>critical path</dt>",
        "<script type=\"application/json\" id=\"data\">",
        "</html>\n",
    };
    check_order(out.data, parts, sizeof parts / sizeof *parts);
    assert_null(strstr(out.data, "nan"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void what_was_not_measured_has_no_columns(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_TTFT);
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    assert_false(out.failed);
    assert_non_null(strstr(out.data, "<h2>Predicted</h2>"));
    assert_non_null(strstr(out.data, "over the time in which any stream decodes.</p>"));
    assert_null(strstr(out.data, ">measured<"));
    assert_null(strstr(out.data, "data-label=\"measured\""));
    assert_null(strstr(out.data, "ms/token, predicted"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* More calls than a picture has room for share bars; none is wider than the picture. */
static void many_calls_share_bars(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    unsigned before = count(out.data, "<rect");
    st_buf_free(&out);
    measure(&choice.rows[0], 20000);
    st_plan_html(&out, &choice, &costs, NULL);
    assert_false(out.failed);
    unsigned more = count(out.data, "<rect") - before;
    if (more < 200 || more > 500) fail_msg("%u bars for 20,000 calls", more);
    assert_non_null(strstr(out.data, " calls: "));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void hostile_names_stay_text(void **state) {
    (void)state;
    static const char hostile[] = "\"></svg><script>x()</script>\xff";
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 2, ST_GOAL_THROUGHPUT);
    snprintf(costs.title, sizeof costs.title, "%s", hostile);
    for (uint32_t u = 0; u < costs.n_units; u++)
        snprintf(costs.units[u].name, sizeof costs.units[u].name, "%u%s", u, hostile);
    st_choice_free(&choice);
    stretto_error err = {0};
    assert_int_equal(st_choose(&choice, &costs, &(st_workload){2, 1, 3}, ST_GOAL_THROUGHPUT, 1, NULL, &err),
                     STRETTO_OK);
    assert_true(choice.n_possible > 0);
    snprintf(choice.rows[0].measured.why, sizeof choice.rows[0].measured.why, "%s", hostile);
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    assert_int_equal(count(out.data, "<script"), 2);
    assert_int_equal(count(out.data, "</script"), 2);
    assert_int_equal(count(out.data, "<svg"), count(out.data, "</svg"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void a_page_without_a_possible_schedule(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_TTFT);
    st_choice_free(&choice);
    costs.n_memories = 1;
    costs.memories[0] = (st_cost_memory){.name = "host", .bytes = 1000};
    for (uint32_t u = 0; u < costs.n_units; u++) costs.units[u].memory = 0;
    stretto_error err = {0};
    assert_int_equal(st_choose(&choice, &costs, &(st_workload){1, 1, 3}, ST_GOAL_TTFT, 1, NULL, &err), STRETTO_OK);
    assert_int_equal(choice.n_possible, 0);
    st_buf out = {0};
    st_plan_html(&out, &choice, &costs, NULL);
    assert_non_null(strstr(out.data, "<strong>No schedule is possible</strong>"));
    assert_non_null(strstr(out.data, "too little memory"));
    assert_null(strstr(out.data, "<svg"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_comes_first),
        cmocka_unit_test(what_is_within_its_margin_is_not_far),
        cmocka_unit_test(what_was_not_measured_has_no_columns),
        cmocka_unit_test(many_calls_share_bars),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(a_page_without_a_possible_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
