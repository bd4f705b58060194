/* SPDX-License-Identifier: MIT
 * Schedules as JSON: what is written is read back, and what makes no sense is refused with its reason. */
#include "support.h"
#include "json/build.h"

#define HEAD "{\"schema\": \"stretto-schedule/1\", "
#define TWO "\"units\": [\"cpu:0\", \"cpu:1\"], "
#define PLACES "\"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\"}, {\"chunk\": 2, \"unit\": \"cpu:1\"}]"

static int parse(st_schedule *s, const char *text, stretto_error *err) {
    return st_schedule_parse(s, text, strlen(text), err);
}

static void a_staged_schedule_is_read(void **state) {
    (void)state;
    st_schedule s;
    stretto_error err = {0};
    const char *text =
        HEAD "\"kind\": \"staged\", " TWO "\"chunks\": [{\"chunk\": 2, \"unit\": \"cpu:1\", \"layers\": [3, 5], "
             "\"after\": [1]}, {\"chunk\": 1, \"unit\": \"cpu:0\", \"layers\": [0, 2]}], \"streams\": 4, "
             "\"micro_batch\": 32, \"pipelined\": true, \"note\": \"by hand\"}";
    assert_int_equal(parse(&s, text, &err), STRETTO_OK);
    assert_int_equal(s.kind, ST_SCHEDULE_STAGED);
    assert_int_equal(s.n_chunks, 2);
    assert_int_equal(s.chunks[1].unit, 1);
    assert_int_equal(s.chunks[1].first, 3);
    assert_int_equal(s.chunks[0].last, 2);
    assert_int_equal(s.streams, 4);
    assert_int_equal(s.batch, 1);
    assert_int_equal(s.micro_batch, 32);
    assert_true(s.pipelined);
    assert_false(s.host_beside);
    assert_int_equal(st_schedule_stages(&s), 2);
    st_buf title = {0};
    st_schedule_title(&title, &s);
    assert_string_equal(title.data,
                        "staged on cpu:0 (chunk 1) and cpu:1 (2), 4 streams, prompts in micro-batches of 32");
    st_buf_free(&title);
}

static void what_is_left_out_has_its_usual_value(void **state) {
    (void)state;
    st_schedule s;
    stretto_error err = {0};
    assert_int_equal(parse(&s,
                           HEAD "\"kind\": \"batched\", \"units\": [\"cpu:0\"], \"streams\": 8, \"chunks\": "
                                "[{\"chunk\": 1, \"unit\": \"cpu:0\"}]}",
                           &err),
                     STRETTO_OK);
    assert_int_equal(s.batch, 8);
    assert_int_equal(s.micro_batch, 256);
    assert_int_equal(s.draft, ST_DRAFT_NONE);
    assert_int_equal(
        parse(&s, HEAD "\"kind\": \"replicas\", " TWO "\"streams\": 2, \"chunks\": [{\"chunk\": 1}]}", &err),
        STRETTO_OK);
    assert_int_equal(st_schedule_unit(&s, 0, false, 1), 1);
}

static void each_unit_has_its_threads(void **state) {
    (void)state;
    st_schedule s, again;
    stretto_error err = {0};
    st_buf text = {0};
    const char *staged = HEAD "\"kind\": \"staged\", \"streams\": 2, " TWO PLACES;
    char with[512];
    snprintf(with, sizeof with, "%s, \"threads\": [2, 0]}", staged);
    if (parse(&s, with, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.threads[0], 2);
    st_json_write(&text, st_schedule_json(&s), false);
    assert_int_equal(parse(&again, text.data, &err), STRETTO_OK);
    assert_memory_equal(again.threads, s.threads, sizeof s.threads);
    st_buf_free(&text);
    snprintf(with, sizeof with, "%s, \"threads\": [2]}", staged);
    assert_int_equal(parse(&s, with, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "threads: expected a number for each of 2 units, found 1");
    snprintf(with, sizeof with, "%s, \"threads\": [2, -1]}", staged);
    assert_int_equal(parse(&s, with, &err), STRETTO_E_INPUT);
    assert_int_equal(parse(&s,
                           HEAD "\"kind\": \"serial\", \"units\": [\"cpu:0-1\"], \"threads\": [2], \"chunks\": "
                                "[{\"chunk\": 1, \"unit\": \"cpu:0-1\"}]}",
                           &err),
                     STRETTO_E_INPUT);
    assert_string_equal(err.text, "\"serial\" runs on one thread, not on 2; \"threads\" has several");
}

static void long_titles_are_cut_short(void **state) {
    (void)state;
    st_schedule s = {.kind = ST_SCHEDULE_REPLICAS, .n_chunks = 1, .n_units = 8, .streams = 8, .batch = 1};
    for (unsigned u = 0; u < 8; u++) snprintf(s.units[u], ST_PLAN_NAME, "u%u", u);
    st_buf title = {0};
    st_schedule_title(&title, &s);
    assert_string_equal(title.data, "the whole model on u0, u1, u2 and 5 more units, 8 streams");
    st_buf_free(&title);
}

static void names_cannot_steer_a_terminal(void **state) {
    (void)state;
    static st_schedule s;
    stretto_error err = {0};
    assert_int_equal(parse(&s,
                           HEAD "\"kind\": \"serial\", \"units\": [\"a\\u001b[2J\"], \"chunks\": [{\"chunk\": 1, "
                                "\"unit\": \"a?[2J\"}]}",
                           &err),
                     STRETTO_OK);
    assert_string_equal(s.units[0], "a?[2J");
}

/* Everything that a schedule can say, written and read again. */
static void what_is_written_is_read_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "\"kind\": \"handover\", " TWO
             "\"prompt_unit\": \"cpu:1\", \"model\": \"SmolLM2\", \"chunks\": [{\"chunk\": "
             "1, \"unit\": \"cpu:0\"}], \"streams\": 3, \"batch\": 3, \"host_beside\": true}",
        HEAD "\"kind\": \"threads\", " TWO "\"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:1\", \"layers\": [0, 29]}], "
             "\"speculation\": {\"draft\": \"model\", \"longest\": 4, \"unit\": \"cpu:0\", \"model\": \"smollm2\"}}",
        HEAD "\"kind\": \"placed\", " TWO PLACES ", \"speculation\": {\"draft\": \"lookup\", \"longest\": 8}}",
        HEAD "\"kind\": \"replicas\", " TWO "\"streams\": 5, \"batch\": 3, \"chunks\": [{\"chunk\": 1}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static st_schedule first, second;
        stretto_error err = {0};
        assert_int_equal(parse(&first, texts[i], &err), STRETTO_OK);
        st_buf out = {0};
        st_json_write(&out, st_schedule_json(&first), false);
        assert_false(out.failed);
        assert_int_equal(st_schedule_parse(&second, out.data, out.len, &err), STRETTO_OK);
        assert_memory_equal(&first, &second, sizeof first);
        st_buf_free(&out);
    }
}

typedef struct refusal {
    const char *text, *reason;
} refusal;

static const refusal refusals[] = {
    {"{", "line 1, column 1"},
    {"[]", "expected"},
    {"{}", "\"schema\" is missing"},
    {"{\"schema\": \"stretto-schedule/9\"}",
     "no \"stretto-schedule/9\" is known; did you mean \"stretto-schedule/1\"?"},
    {HEAD "\"kindd\": 1}", "unknown key \"kindd\"; did you mean \"kind\"?"},
    {HEAD "\"kind\": \"stagd\"}", "kind: no \"stagd\" is known; did you mean \"staged\"?"},
    {HEAD "\"kind\": 4}", "kind: expected a text, found 4"},
    {HEAD "\"kind\": \"staged\", \"units\": [\"cpu:0\", 3], " PLACES "}", "units[1]: expected a text, found 3"},
    {HEAD "\"kind\": \"staged\", " TWO "\"streams\": 0, " PLACES "}",
     "streams: expected an integer from 1 to 4096, found 0"},
    {HEAD "\"kind\": \"staged\", " TWO "\"streams\": 2, \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:7\"}]}",
     "chunks[0].unit: no \"cpu:7\" is known; did you mean \"cpu:0\"?"},
    {HEAD "\"kind\": \"staged\", " TWO
          "\"streams\": 2, \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\"}, {\"chunk\": 3, "
          "\"unit\": \"cpu:1\"}]}",
     "such as 2, is missing"},
    {HEAD "\"kind\": \"staged\", " TWO
          "\"streams\": 2, \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\"}, {\"chunk\": 1, "
          "\"unit\": \"cpu:1\"}]}",
     "chunk 1 is listed twice"},
    {HEAD "\"kind\": \"staged\", " TWO
          "\"streams\": 2, \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\", \"after\": [3]}, "
          "{\"chunk\": 2, \"unit\": \"cpu:1\"}, {\"chunk\": 3, \"unit\": \"cpu:1\"}]}",
     "a cycle: chunk 1 waits for 3, which needs 2, which needs 1"},
    {HEAD "\"kind\": \"staged\", " TWO
          "\"streams\": 2, \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\", \"after\": [1]}]}",
     "a cycle: chunk 1 waits for itself"},
    {HEAD "\"kind\": \"placed\", \"prompt_unit\": \"cpu:0\", " TWO PLACES "}",
     "\"prompt_unit\" has no meaning here: only a handover has one"},
    {HEAD "\"kind\": \"placed\", " TWO PLACES
          ", \"speculation\": {\"draft\": \"lookup\", \"longest\": 2, \"unit\": \"cpu:9\"}}",
     "speculation: \"unit\" has no meaning here: only a draft model has one"},
    {HEAD "\"kind\": \"placed\", " TWO PLACES
          ", \"speculation\": {\"draft\": \"lookup\", \"longest\": 2, \"model\": \"smollm2\"}}",
     "speculation: \"model\" has no meaning here: only a draft model has one"},
    {HEAD "\"kind\": \"placed\", " TWO PLACES ", \"speculation\": {\"draft\": \"none\", \"longest\": 2}}",
     "speculation: \"longest\" has no meaning here: there is no draft"},
    {HEAD "\"kind\": \"staged\", " TWO PLACES "}", "token, 1, ..., 2, token"},
    {HEAD "\"kind\": \"placed\", " TWO "\"streams\": 2, " PLACES "}", "one stream in flight, not 2"},
    {HEAD "\"kind\": \"serial\", " TWO PLACES "}", "decodes on one unit, but the chunks are on 2"},
    {HEAD "\"kind\": \"serial\", " TWO "\"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\"}]}",
     "unit cpu:1 is listed, but nothing runs there"},
    {HEAD "\"kind\": \"placed\", \"units\": [\"cpu:0\"], \"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\"}]}",
     "wants chunks on several units; all are on cpu:0"},
    {HEAD "\"kind\": \"placed\", \"units\": [\"a\", \"a\"], \"chunks\": [{\"chunk\": 1, \"unit\": \"a\"}]}",
     "unit a is listed twice"},
    {HEAD "\"kind\": \"placed\", " TWO
          "\"chunks\": [{\"chunk\": 1, \"unit\": \"cpu:0\", \"layers\": [0, 4]}, {\"chunk\": 2, "
          "\"unit\": \"cpu:1\", \"layers\": [6, 9]}]}",
     "chunk 2: layers 6 to 9, expected them to begin at 5"},
    {HEAD "\"kind\": \"handover\", \"units\": [\"a\"], \"prompt_unit\": \"a\", \"chunks\": [{\"chunk\": 1, \"unit\": "
          "\"a\"}]}",
     "not both on a"},
    {HEAD "\"kind\": \"placed\", " TWO PLACES ", \"speculation\": {\"draft\": \"model\", \"longest\": 2, \"unit\": "
          "\"cpu:1\", \"model\": \"m\"}}",
     "cpu:1 drafts and runs chunks"},
    {HEAD "\"kind\": \"staged\", \"streams\": 4, \"batch\": 2, " TWO PLACES
          ", \"speculation\": {\"draft\": \"lookup\", "
          "\"longest\": 2}}",
     "a call has one stream, not 2"},
    {HEAD "\"kind\": \"serial\", \"units\": [\"a\"], \"chunks\": [{\"chunk\": 1, \"unit\": \"a\"}], "
          "\"host_beside\": true, \"speculation\": {\"draft\": \"lookup\", \"longest\": 2}}",
     "\"host_beside\" with \"speculation\""},
    {HEAD "\"kind\": \"replicas\", \"streams\": 2, " TWO PLACES "}", "\"unit\" has no meaning here"},
};

static void nonsense_is_refused_with_its_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        static st_schedule s;
        stretto_error err = {0};
        assert_int_equal(parse(&s, refusals[i].text, &err), STRETTO_E_INPUT);
        if (!strstr(err.text, refusals[i].reason)) fail_msg("%s\n  instead of: %s", err.text, refusals[i].reason);
    }
}

static void a_schedule_is_bound_to_a_machine(void **state) {
    (void)state;
    static st_schedule s;
    stretto_error err = {0};
    assert_int_equal(parse(&s, HEAD "\"kind\": \"placed\", " TWO PLACES "}", &err), STRETTO_OK);
    static const char *const here[] = {"cpu:1", "cpu:0-1", "cpu:0"}, *const elsewhere[] = {"cpu:0", "cpu:2"};
    uint32_t unit_of[2];
    assert_int_equal(st_schedule_bind(&s, 2, here, 3, unit_of, &err), STRETTO_OK);
    assert_int_equal(unit_of[0], 2);
    assert_int_equal(unit_of[1], 0);
    assert_int_equal(st_schedule_bind(&s, 2, elsewhere, 2, NULL, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "no unit cpu:1 here; did you mean cpu:0?");
    assert_int_equal(st_schedule_bind(&s, 4, here, 3, NULL, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "chunk 3 is missing: the model has 4 chunks, the schedule places 2");
    assert_int_equal(st_schedule_bind(&s, 1, here, 3, NULL, &err), STRETTO_E_INPUT);
}

static void other_streams_are_in_as_many_calls(void **state) {
    (void)state;
    static const struct {
        enum st_schedule_kind kind;
        enum st_draft draft;
        uint32_t n_units, streams, batch, then, expected;
    } cases[] = {
        {ST_SCHEDULE_BATCHED, ST_DRAFT_NONE, 1, 2, 2, 5, 5},  {ST_SCHEDULE_BATCHED, ST_DRAFT_NONE, 1, 1, 1, 5, 5},
        {ST_SCHEDULE_STAGED, ST_DRAFT_NONE, 2, 8, 4, 4, 2}, /* two calls: each of the two units has its own */
        {ST_SCHEDULE_STAGED, ST_DRAFT_NONE, 2, 8, 4, 20, 10}, {ST_SCHEDULE_STAGED, ST_DRAFT_NONE, 2, 8, 4, 3, 2},
        {ST_SCHEDULE_STAGED, ST_DRAFT_NONE, 2, 4, 1, 8, 1},   {ST_SCHEDULE_STAGED, ST_DRAFT_LOOKUP, 2, 4, 1, 8, 1},
        {ST_SCHEDULE_REPLICAS, ST_DRAFT_NONE, 2, 8, 4, 4, 2}, {ST_SCHEDULE_REPLICAS, ST_DRAFT_NONE, 2, 3, 2, 9, 5},
        {ST_SCHEDULE_REPLICAS, ST_DRAFT_NONE, 2, 2, 1, 9, 5}, {ST_SCHEDULE_REPLICAS, ST_DRAFT_LOOKUP, 2, 2, 1, 9, 1},
        {ST_SCHEDULE_HANDOVER, ST_DRAFT_NONE, 2, 4, 4, 7, 7}, {ST_SCHEDULE_HANDOVER, ST_DRAFT_NONE, 2, 4, 1, 7, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_schedule s = {.kind = cases[i].kind,
                         .draft = cases[i].draft,
                         .n_units = cases[i].n_units,
                         .streams = cases[i].streams,
                         .batch = cases[i].batch};
        st_schedule_set_streams(&s, cases[i].then);
        assert_int_equal(s.streams, cases[i].then);
        assert_int_equal(s.batch, cases[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_staged_schedule_is_read),           cmocka_unit_test(what_is_left_out_has_its_usual_value),
        cmocka_unit_test(each_unit_has_its_threads),           cmocka_unit_test(long_titles_are_cut_short),
        cmocka_unit_test(names_cannot_steer_a_terminal),       cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(nonsense_is_refused_with_its_reason), cmocka_unit_test(a_schedule_is_bound_to_a_machine),
        cmocka_unit_test(other_streams_are_in_as_many_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
