/* SPDX-License-Identifier: MIT
 * A choice whose numbers are known, in all its forms. */
#include "report/plan_support.h"
#include "report/plan_words.h"

static const char *longest_line(const char *text, size_t *length) {
    const char *longest = text;
    *length = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n > *length) longest = text, *length = n;
        text += n + (text[n] == '\n');
    }
    return longest;
}

static void text_begins_with_the_best_and_ends_with_why(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    snprintf(costs.measured, sizeof costs.measured,
             "each call in 1 turn of 34 s, not in 3; calls of 64 rows (14 s) are not measured");
    choice.rows[0].measured = (st_measured){
        .done = true, .tokens_per_s = 400, .stream_tokens_per_s = 400, .prefill_tokens_per_s = 400, .ttft_ns = 3e6};
    choice.rows[1].measured = (st_measured){.done = true,
                                            .rounds = 7,
                                            .rate_margin = 0.124,
                                            .ttft_margin = 0.02,
                                            .tokens_per_s = 100,
                                            .ttft_ns = 9e6,
                                            .decode_pace = 3,
                                            .with_steps = {.tokens_per_s = 80, .ttft_ns = 8.5e6}};
    st_buf out = {0};
    const double others = 0.7;
    const st_host host = {.n_cores = 2, .isa = "AVX2"};
    const st_origin origin = {.host = &host, .others = &others};
    st_plan_text(&out, &choice, &costs, &origin, false);
    assert_false(out.failed);
    static const char *const lines[] = {
        "a model of four chunks\n2 cores, AVX2; busy (other programs use 0.70 CPUs)\n1 stream, 1 token of prompt, 11 "
        "to generate; for latency\n"
        "costs: each call in 1 turn of 34 s, not in 3; calls of 64 rows (14 s) are not\n  measured\n\n",
        "\n  predicted               ms/token tokens/s   each first ms  gap ms     MB  busy\n"
        "  threads of cpu:0+1          2.40      417    417     2.40    2.40      4 100 %\n"
        "    measured -4 %, first +25 %          400    400     3.00\n",
        "\n    measured -60 ±12 %, first +125 ±2 % 100   0.00     9.00\n",
        "\n  in order of ms/token: from handing over to a stream's last token, over its\n",
        "\n  one stream staged through the chunks: token, 1, 2, 3, 4, token is a chain:\n",
        "\n  best: threads of cpu:0+1 needs 40 % less time for each token than ",
        "\n  critical path: cpu:0+1 100.0 %, between them 0.0 %\n"
        "  predicted within 10 %: tokens/s of 1, the first token of 0 of 2 schedules\n"
        "  with steps as they took: tokens/s of 0, the first token of 1 of 1 schedules\n"
        "  means of 7 runs each; ±: half of the 95 % interval of the mean\n"
        "  measured the fastest: threads of cpu:0+1\n",
    };
    const char *at = out.data;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found) fail_msg("%s\n is not in\n%s", lines[i], at);
        at = found;
    }
    size_t length;
    const char *line = longest_line(out.data, &length);
    if (length > 80) fail_msg("%.*s", (int)length, line);
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

/* The second decodes faster, but its prompt takes so long that tokens come later in the mean; the third has the first
 * token soonest. */
static void the_fastest_measured_is_the_goal_s(void **state) {
    (void)state;
    static const size_t best[] = {[ST_GOAL_LATENCY] = 0, [ST_GOAL_THROUGHPUT] = 1, [ST_GOAL_TTFT] = 2};
    for (enum st_goal goal = ST_GOAL_LATENCY; goal <= ST_GOAL_TTFT; goal++) {
        st_costs costs;
        st_choice choice;
        make(&costs, &choice, 1, goal);
        const double rates[] = {100, 110, 50}, first_ns[] = {10e6, 90e6, 5e6};
        for (size_t i = 0; i < 3; i++)
            choice.rows[i].measured = (st_measured){
                .done = true, .tokens_per_s = rates[i], .stream_tokens_per_s = rates[i], .ttft_ns = first_ns[i]};
        assert_ptr_equal(st_plan_check_of(&choice).best, &choice.rows[best[goal]]);
        st_choice_free(&choice);
        st_costs_free(&costs);
    }
}

static void json_has_every_schedule_and_its_reason(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 2, ST_GOAL_THROUGHPUT);
    choice.rows[0].measured =
        (st_measured){.done = true, .decode_pace = 1.25, .with_steps = {.tokens_per_s = 80, .ttft_ns = 8.5e6}};
    json_t *root = st_plan_json(&choice, &costs, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "stretto-plan/1");
    assert_string_equal(json_string_value(json_object_get(root, "goal")), "throughput");
    const json_t *rows = json_object_get(root, "schedules");
    const json_t *steps = json_object_get(json_array_get(rows, 0), "steps_over_planned");
    assert_true(json_real_value(json_object_get(steps, "decode")) == 1.25);
    assert_true(json_is_null(json_object_get(steps, "prefill")));
    const json_t *with_steps = json_object_get(json_array_get(rows, 0), "predicted_with_steps");
    assert_true(json_real_value(json_object_get(with_steps, "ttft_ns")) == 8.5e6);
    assert_null(json_object_get(json_array_get(rows, 1), "predicted_with_steps"));
    assert_int_equal(json_array_size(rows), choice.n_rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool possible = json_is_true(json_object_get(row, "possible"));
        assert_int_equal(possible, i < choice.n_possible);
        assert_non_null(json_object_get(row, possible ? "predicted" : "why"));
        if (!possible) continue;
        char *text = json_dumps(json_object_get(row, "schedule"), 0);
        static st_schedule schedule;
        stretto_error err = {0};
        assert_int_equal(st_schedule_parse(&schedule, text, strlen(text), &err), STRETTO_OK);
        free(text);
        const json_t *units = json_object_get(json_object_get(row, "predicted"), "units");
        assert_int_equal(json_array_size(units), schedule.n_units + 1);
    }
    json_decref(root);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void a_bar_in_a_name_ends_no_cell(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    snprintf(choice.rows[0].title, sizeof choice.rows[0].title, "a|b");
    st_buf out = {0};
    st_plan_markdown(&out, &choice, &costs, NULL);
    assert_non_null(strstr(out.data, "| a\\|b | 2.40 | 417 |"));
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void markdown_says_how_well_was_predicted(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    snprintf(costs.title, sizeof costs.title, "<script>, 4 chunks");
    choice.rows[0].measured = (st_measured){.done = true,
                                            .rounds = 7,
                                            .rate_margin = 0.124,
                                            .tokens_per_s = 400,
                                            .ttft_ns = 3e6,
                                            .with_steps = {.tokens_per_s = 400, .ttft_ns = 3e6}};
    const double others = 0.7;
    const st_host host = {.n_cores = 2, .isa = "AVX2", .cpu_model = "A processor"};
    char *argv[] = {"stretto", "plan", "-m", "a`b"};
    const st_origin origin = {.host = &host, .others = &others, .argc = 4, .argv = argv};
    st_buf out = {0};
    st_plan_markdown(&out, &choice, &costs, &origin);
    static const char *const parts[] = {
        "# Plan\n\n**threads of cpu:0+1 needs 40 % less time",
        "\n\nCritical path: cpu:0+1 100.0 %, between them 0.0 %.\n",
        "- Model: \\<script>, 4 chunks\n",
        "- Host: A processor, 2 cores, AVX2; busy (other programs use 0.70 CPUs)\n",
        "- Command: ``stretto plan -m 'a`b'``\n",
        "| schedule | ms/token | tokens/s |",
        "\nFrom best to worst by the time from handing over to a stream's last token, over its tokens.",
        "| threads of cpu:0+1 | 400 | 417 | -4 ±12 % | 3.00 | 2.40 | +25 % |\n",
        ("- Measured the fastest: threads of cpu:0+1.\n- Predicted within 10 %: tokens/s of 1, "
         "the first token of 0 of 1 "),
        "- Differences: means of 7 runs each; ±: half of the 95 % interval of the mean.\n",
    };
    const char *at = out.data;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found) fail_msg("%s\n is not in\n%s", parts[i], at);
        at = found;
    }
    st_buf_free(&out);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

static void a_trace_has_what_was_predicted_and_measured(void **state) {
    (void)state;
    st_costs costs;
    st_choice choice;
    make(&costs, &choice, 1, ST_GOAL_LATENCY);
    st_measured *m = &choice.rows[0].measured;
    m->done = true;
    m->events = calloc(1, sizeof *m->events);
    m->n_events = 1;
    m->events[0] = (st_sim_event){.start_ns = 2000, .end_ns = 5000, .stream = 0, .tokens = 7, .chunk = 2};
    json_t *root = st_plan_trace(&choice, &costs, NULL), *events = json_object_get(root, "traceEvents");
    size_t slices[3] = {0};
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        json_int_t pid = json_integer_value(json_object_get(e, "pid"));
        if (pid > 2 || strcmp(json_string_value(json_object_get(e, "ph")), "X") != 0) continue;
        slices[pid]++;
        if (pid == 1) continue;
        assert_string_equal(json_string_value(json_object_get(e, "name")), "prefill 3");
        assert_float_equal(json_number_value(json_object_get(e, "ts")), 2, 1e-9);
        assert_float_equal(json_number_value(json_object_get(e, "dur")), 3, 1e-9);
    }
    assert_int_equal(slices[1], 11 * 5); /* four chunks and the host for each token */
    assert_int_equal(slices[2], 1);
    json_decref(root);
    st_choice_free(&choice);
    st_costs_free(&costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_begins_with_the_best_and_ends_with_why),
        cmocka_unit_test(the_fastest_measured_is_the_goal_s),
        cmocka_unit_test(json_has_every_schedule_and_its_reason),
        cmocka_unit_test(a_bar_in_a_name_ends_no_cell),
        cmocka_unit_test(markdown_says_how_well_was_predicted),
        cmocka_unit_test(a_trace_has_what_was_predicted_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
