/* SPDX-License-Identifier: MIT
 * The cost table: interpolation, slowdowns, memory, and its JSON forms. */
#include "support.h"
#include "json/build.h"

static const char table[] =
    "{\"schema\": \"stretto-costs/1\", \"title\": \"a toy\", \"measured\": \"once\", \"depth\": 64,"
    " \"chunks\": [{\"name\": \"1\", \"layers\": [0, 3], \"weight_bytes\": 1000, \"kv_bytes_per_token\": 10},"
    "              {\"name\": \"2\", \"layers\": [4, 7], \"weight_bytes\": 3000, \"kv_bytes_per_token\": 20}],"
    " \"memories\": [{\"name\": \"host\", \"bytes\": 100000}],"
    " \"units\": [{\"name\": \"cpu:0\", \"cores\": [0], \"threads\": 1, \"memory\": \"host\", \"dispatch_ns\": 5},"
    "             {\"name\": \"cpu:0-1\", \"cores\": [0, 1], \"memory\": \"host\"}, {\"name\": \"npu\", \"choose_ns\": "
    "0, \"draft_ns\": "
    "7, \"draft_read_ns\": 2}],"
    " \"costs\": [{\"chunk\": \"1\", \"unit\": \"cpu:0\", \"decode_ns\": [[1, 100], [5, 140]], \"prefill_ns\": [[64, "
    "730]]},"
    "             {\"chunk\": \"2\", \"unit\": \"cpu:0\", \"decode_ns\": 200},"
    "             {\"chunk\": \"1\", \"unit\": \"npu\", \"decode_ns\": 50, \"prefill_ns\": [[16, 60], [64, 80]]}],"
    " \"transfers\": [{\"from\": \"cpu:0\", \"fixed_ns\": 3, \"ns_per_token\": 0.5, \"kv_ns_per_token\": 2}],"
    " \"slowdowns\": [{\"slowdown\": 1.25}, {\"unit\": \"cpu:0\", \"beside\": \"npu\", \"chunk\": \"1\", \"work\": "
    "\"decode\", \"slowdown\": 1.5}, {\"unit\": \"cpu:0\", \"beside\": \"npu\", \"work\": \"batch\", \"slowdown\": "
    "1.125}],"
    " \"host\": {\"choose_ns\": 11, \"text_ns\": 12}, \"acceptance\": {\"lookup\": 0.5}}";

static int parse_table(st_costs *costs, stretto_error *err) {
    return st_costs_parse(costs, table, sizeof table - 1, err);
}

static void check_table(const st_costs *costs) {
    assert_string_equal(costs->measured, "once");
    assert_int_equal(costs->n_chunks, 2);
    assert_int_equal(costs->n_units, 3);
    assert_float_equal(st_cost_ns(costs, 0, 0, ST_WORK_DECODE, 1), 100, 1e-9);
    assert_float_equal(st_cost_ns(costs, 0, 0, ST_WORK_DECODE, 3), 120, 1e-9);
    assert_float_equal(st_cost_ns(costs, 0, 0, ST_WORK_DECODE, 9), 180, 1e-9); /* along the last line */
    assert_float_equal(st_cost_ns(costs, 1, 0, ST_WORK_DECODE, 4), 800, 1e-9); /* through the origin */
    assert_float_equal(st_cost_ns(costs, 0, 0, ST_WORK_PREFILL, 64), 730, 1e-9);
    assert_float_equal(st_cost_ns(costs, 0, 0, ST_WORK_PREFILL, 22), 310, 1e-9); /* from a decode of one */
    assert_float_equal(st_cost_ns(costs, 1, 0, ST_WORK_PREFILL, 2), 400, 1e-9);  /* as a decode where not known */
    assert_float_equal(st_cost_ns(costs, 0, 2, ST_WORK_PREFILL, 40), 70, 1e-9);
    assert_float_equal(st_cost_ns(costs, 1, 2, ST_WORK_DECODE, 1), 0, 1e-9);
    assert_float_equal(st_cost_slowdown(costs, 0, 0, ST_WORK_DECODE, 2, 1, ST_WORK_PREFILL), 1.5, 1e-6);
    assert_float_equal(st_cost_slowdown(costs, 0, 1, ST_WORK_DECODE, 2, 1, ST_WORK_PREFILL), 1.25, 1e-6);
    assert_float_equal(st_cost_slowdown(costs, 2, 0, ST_WORK_DECODE, 0, 1, ST_WORK_DECODE), 1.25, 1e-6);
    assert_float_equal(st_cost_slowdown(costs, 0, 0, ST_WORK_BATCH, 2, 1, ST_WORK_PREFILL), 1.5, 1e-6); /* as decode */
    assert_float_equal(st_cost_slowdown(costs, 0, 1, ST_WORK_BATCH, 2, 1, ST_WORK_BATCH), 1.125, 1e-6);
    assert_float_equal(st_cost_slowdown(costs, 0, 1, ST_WORK_DECODE, 2, 1, ST_WORK_BATCH), 1.25, 1e-6);
    assert_true(st_costs_share_core(costs, 0, 1));
    assert_false(st_costs_share_core(costs, 0, 2));
    assert_float_equal(costs->transfers[2].kv_token_ns, 2, 1e-9);
    assert_float_equal(costs->transfers[6].fixed_ns, 0, 1e-9);
    assert_float_equal(costs->acceptance[ST_DRAFT_LOOKUP], 0.5, 1e-9);
    assert_true(costs->acceptance[ST_DRAFT_MODEL] < 0);
    assert_int_equal(costs->units[0].memory, 0);
    assert_int_equal(costs->units[2].memory, ST_COST_NONE);
    assert_float_equal(costs->units[2].draft_ns, 7, 1e-9);
    assert_float_equal(st_cost_draft_read_ns(costs, 2, 30), 60, 1e-9);
    assert_float_equal(costs->host.choose_ns, 11, 1e-9);
    assert_float_equal(st_cost_choose_ns(costs, 0), 11, 1e-9); /* the host's */
    assert_float_equal(st_cost_choose_ns(costs, 2), 0, 1e-9);
}

static void a_table_by_hand_is_read_and_written(void **state) {
    (void)state;
    st_costs costs, again;
    stretto_error err = {0};
    assert_int_equal(parse_table(&costs, &err), STRETTO_OK);
    check_table(&costs);
    st_buf out = {0};
    st_json_write(&out, st_costs_json(&costs), false);
    assert_int_equal(st_costs_parse(&again, out.data, out.len, &err), STRETTO_OK);
    check_table(&again);
    st_buf_free(&out);
    st_costs_free(&costs);
    st_costs_free(&again);
}

static void nonsense_is_refused_with_its_reason(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *reason;
    } cases[] = {
        {"\"slowdowns\"", "\"slowdown\"", "unknown key \"slowdown\"; did you mean \"slowdowns\"?"},
        {"\"choose_ns\": 0", "\"chose_ns\": 0", "unknown key \"chose_ns\"; did you mean \"choose_ns\"?"},
        {"\"choose_ns\": 0", "\"choose_ns\": -1", "units[2].choose_ns: expected a number from 0"},
        {"\"chunk\": \"2\"", "\"chunk\": \"3\"", "costs[1].chunk: no \"3\" is known"},
        {"\"name\": \"2\"", "\"name\": \"1\"", "chunks[1]: chunk \"1\" is listed twice"},
        {"[5, 140]", "[0, 140]", "costs[0].decode_ns[1][0]: expected an integer from 1 to 4096, found 0"},
        {"[5, 140]", "[5]     ", "costs[0].decode_ns[1]: expected tokens and nanoseconds"},
        {"[5, 140]", "[5, -1] ", "expected nanoseconds from 1 to 1e+15, found -1"},
        {"[0, 3]", "[3, 1]", "chunks[0].layers: chunk \"1\" has layers 3 to 1: the first comes after the last"},
        {"[0, 3]", "[1, 3]", "chunks[0].layers: chunk \"1\" has layers 1 to 3, expected them to begin at 0"},
        {"[0, 3]", "[-1, 3]", "chunks[0].layers[0]: expected"},
        {"[0, 3]", "[0]", "chunks[0].layers: chunk \"1\": expected the first and the last layer"},
        {"[4, 7]", "[3, 7]", "chunks[1].layers: chunk \"2\" has layers 3 to 7, expected them to begin at 4"},
        {"[4, 7]", "[5, 7]", "chunks[1].layers: chunk \"2\" has layers 5 to 7, expected them to begin at 4"},
        {"[5, 140]", "[1, 140]", "costs[0].decode_ns[1]: 1 tokens are listed twice"},
        {"\"chunk\": \"2\", \"unit\": \"cpu:0\"", "\"chunk\": \"1\", \"unit\": \"cpu:0\"",
         "costs[1]: chunk \"1\" on \"cpu:0\" is listed twice"},
        {"{\"name\": \"host\", \"bytes\": 100000}", "{\"name\": \"host\"}, {\"name\": \"host\"}",
         "memories[1]: memory \"host\" is listed twice"},
        {"\"memory\": \"host\"", "\"memory\": \"hots\"",
         "units[0].memory: no \"hots\" is known; did you mean \"host\"?"},
        {"\"slowdown\": 1.25", "\"slowdown\": 0.00",
         "slowdowns[0].slowdown: expected a number from 0.1 to 1000, found 0"},
        {"\"lookup\": 0.5", "\"lookup\": 1.5", "acceptance.lookup: expected a number from 0 to 1, found 1.5"},
        {"\"decode_ns\": 200", "\"prefill_ns\":200", "\"decode_ns\" is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[sizeof table + 32];
        const char *at = strstr(table, cases[i].from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - table), table, cases[i].to, at + strlen(cases[i].from));
        st_costs costs;
        stretto_error err = {0};
        assert_int_equal(st_costs_parse(&costs, text, strlen(text), &err), STRETTO_E_INPUT);
        if (!strstr(err.text, cases[i].reason)) fail_msg("%s\n  instead of: %s", err.text, cases[i].reason);
    }
}

/* Solo 100 and 60; both at 1.5 and 2 times their times: the second ends at 120, the first by then has done 80. */
static void slowdowns_follow_from_both_ends(void **state) {
    (void)state;
    double slowdown[2];
    st_cost_slowdowns_of_pair((double[]){100, 60}, (double[]){140, 120}, slowdown);
    assert_float_equal(slowdown[0], 1.5, 1e-9);
    assert_float_equal(slowdown[1], 2, 1e-9);
    st_cost_slowdowns_of_pair((double[]){60, 100}, (double[]){60, 100}, slowdown);
    assert_float_equal(slowdown[0], 1, 1e-9);
    assert_float_equal(slowdown[1], 1, 1e-9);
}

static void memory_is_weights_once_and_kv_for_each_stream(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err = {0};
    uint64_t need[4];
    uint32_t unit_of[4];
    assert_int_equal(parse_table(&costs, &err), STRETTO_OK);
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0, 0});
    assert_int_equal(st_costs_fit(&costs, &s, 100, unit_of, &err), STRETTO_OK);
    st_costs_memory(&costs, &s, unit_of, 100, need);
    assert_int_equal(need[0], 4000 + 100 * 30);
    s.kind = ST_SCHEDULE_BATCHED;
    s.streams = s.batch = 8;
    st_costs_memory(&costs, &s, unit_of, 100, need);
    assert_int_equal(need[0], 4000 + 8 * 100 * 30);
    s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0, 2});
    s.streams = s.batch = 3; /* two on cpu:0, one on the npu, each with weights of its own */
    unit_of[0] = 0, unit_of[1] = 2;
    st_costs_memory(&costs, &s, unit_of, 100, need);
    assert_int_equal(need[0], 4000 + 2 * 100 * 30);
    assert_int_equal(need[1 + 2], 4000 + 100 * 30);
    st_costs_free(&costs);
}

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err = {0};
    uint32_t unit_of[4];
    assert_int_equal(parse_table(&costs, &err), STRETTO_OK);
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 2});
    assert_int_equal(st_costs_fit(&costs, &s, 100, unit_of, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "no cost is known of chunk 2 on npu");
    s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 1});
    assert_int_equal(st_costs_fit(&costs, &s, 100, unit_of, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "cpu:0 and cpu:0-1 share a core, so they cannot run side by side");
    s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0, 0});
    assert_int_equal(st_costs_fit(&costs, &s, 3200, unit_of, &err), STRETTO_OK);
    assert_int_equal(st_costs_fit(&costs, &s, 3201, unit_of, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text,
                        "too little memory: 0.1 MB of weights and KV would be needed in host, which has 0.1 MB");
    st_costs_free(&costs);
}

/* A table of 256 chunks on 64 units, whose slowdowns come from a few short entries. */
static void refuse_slowdowns(unsigned n_entries, const char *entry, const char *reason) {
    st_buf text = {0};
    st_costs costs;
    stretto_error err = {0};
    st_buf_text(&text, "{\"schema\": \"stretto-costs/1\", \"chunks\": [");
    for (unsigned c = 0; c < ST_PLAN_CHUNKS_MAX; c++) st_buf_printf(&text, "%s{\"name\": \"%u\"}", c ? "," : "", c);
    st_buf_text(&text, "], \"units\": [");
    for (unsigned u = 0; u < ST_PLAN_UNITS_MAX; u++) st_buf_printf(&text, "%s{\"name\": \"%u\"}", u ? "," : "", u);
    st_buf_text(&text, "], \"costs\": [], \"slowdowns\": [");
    for (unsigned i = 0; i < n_entries; i++) st_buf_printf(&text, "%s%s", i ? "," : "", entry);
    st_buf_text(&text, "]}");
    assert_int_equal(st_costs_parse(&costs, text.data, text.len, &err), STRETTO_E_INPUT);
    if (!strstr(err.text, reason)) fail_msg("%s\n  instead of: %s", err.text, reason);
    st_buf_free(&text);
}

/* Each would take gigabytes, or minutes. */
static void few_entries_do_not_stand_for_billions(void **state) {
    (void)state;
    refuse_slowdowns(1, "{\"beside_chunk\": \"0\", \"work\": \"decode\", \"slowdown\": 2}",
                     "slowdowns[0]: slowdowns of 256 chunks beside each other on so many of 64 units: too many");
    refuse_slowdowns(999, "{\"unit\": \"0\", \"chunk\": \"0\", \"slowdown\": 2}",
                     "with this entry there are more than 134217728 slowdowns: too many");
}

/* 2^50 bytes a token: 2^14 tokens are 2^64 bytes, which no sum of 64 bits may take for none. */
static void more_memory_than_can_be_counted_does_not_fit(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err = {0};
    uint32_t unit_of[4];
    uint64_t need[4];
    assert_int_equal(parse_table(&costs, &err), STRETTO_OK);
    for (uint32_t c = 0; c < costs.n_chunks; c++) costs.chunks[c].kv_bytes = 1ull << 50;
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0, 0});
    for (uint64_t tokens = 1 << 13; tokens <= 1 << 18; tokens *= 2) {
        assert_int_equal(st_costs_fit(&costs, &s, tokens, unit_of, &err), STRETTO_E_INPUT);
        assert_non_null(strstr(err.text, "too little memory"));
    }
    st_costs_memory(&costs, &s, unit_of, 1 << 14, need);
    assert_true(need[0] == UINT64_MAX);
    st_costs_free(&costs);
}

static const char probe[] =
    "{\"schema\": \"stretto-probe/1\", \"title\": \"a model\", \"host\": {\"memory_bytes\": 5000}, \"pairs\": ["
    " {\"a\": \"1\", \"b\": \"3\", \"arrangement\": \"one-unit\", \"unit_a\": \"cpu:0+1\", \"unit_b\": \"cpu:0+1\","
    "  \"solo_a_ns\": 50, \"solo_b_ns\": 30, \"slowdown_a\": 1.0, \"slowdown_b\": 2.7, \"bytes_a\": 400},"
    " {\"a\": \"1\", \"b\": \"3\", \"arrangement\": \"two-units\", \"unit_a\": \"cpu:0\", \"unit_b\": \"cpu:1\","
    "  \"solo_a_ns\": 100, \"solo_b_ns\": 60, \"slowdown_a\": 1.4, \"slowdown_b\": 2.0},"
    " {\"a\": \"1\", \"b\": \"3\", \"arrangement\": \"processes\", \"unit_a\": \"cpu:0\", \"unit_b\": "
    "\"process:cpu:1\","
    "  \"solo_a_ns\": 90, \"solo_b_ns\": 61, \"slowdown_a\": 1.0, \"slowdown_b\": 1.0},"
    " {\"a\": \"1\", \"arrangement\": \"batch-4\", \"unit_a\": \"cpu:0+1\", \"k\": 4, \"solo_a_ns\": 51, "
    "\"batched_ns\": 80},"
    " {\"a\": \"1\", \"b\": \"2\", \"arrangement\": \"async\", \"unit_a\": \"\", \"stop\": \"skipped\"}]}";

static void a_probe_is_a_table_of_what_it_measured(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err = {0};
    assert_int_equal(st_costs_parse_probe(&costs, probe, sizeof probe - 1, &err), STRETTO_OK);
    assert_int_equal(costs.n_chunks, 3); /* with the one between, of which nothing is known */
    assert_int_equal(costs.n_units, 3);
    assert_float_equal(st_cost_ns(&costs, 0, 0, ST_WORK_DECODE, 1), 50, 1e-9);
    assert_float_equal(st_cost_ns(&costs, 0, 0, ST_WORK_DECODE, 4), 80, 1e-9);
    assert_float_equal(st_cost_ns(&costs, 2, 2, ST_WORK_DECODE, 1), 60, 1e-9);
    assert_float_equal(st_cost_ns(&costs, 1, 0, ST_WORK_DECODE, 1), 0, 1e-9);
    assert_true(st_costs_share_core(&costs, 0, 1));
    assert_false(st_costs_share_core(&costs, 1, 2));
    assert_float_equal(st_cost_slowdown(&costs, 1, 0, ST_WORK_DECODE, 2, 2, ST_WORK_DECODE), 1.5, 1e-6);
    assert_float_equal(st_cost_slowdown(&costs, 2, 2, ST_WORK_DECODE, 1, 0, ST_WORK_DECODE), 2, 1e-6);
    assert_float_equal(st_cost_slowdown(&costs, 2, 0, ST_WORK_PREFILL, 1, 0, ST_WORK_DECODE), 2, 1e-6);
    assert_float_equal(st_cost_slowdown(&costs, 0, 0, ST_WORK_DECODE, 1, 0, ST_WORK_DECODE), 1, 1e-6);
    assert_int_equal(costs.memories[0].bytes, 5000);
    assert_int_equal(costs.chunks[0].weight_bytes, 400);
    st_costs_free(&costs);
    const char *empty = "{\"schema\": \"stretto-probe/1\", \"pairs\": []}";
    assert_int_equal(st_costs_parse_probe(&costs, empty, strlen(empty), &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "pairs: no pair was measured");
}

static const char whole_probe[] =
    "{\"schema\": \"stretto-probe/1\", \"units\": [{\"name\": \"cpu:1\", \"threads\": 3}, {\"name\": \"x\","
    "  \"threads\": 2}], \"pairs\": ["
    " {\"a\": \"1\", \"b\": \"3\", \"arrangement\": \"two-units\", \"unit_a\": \"cpu:0\", \"unit_b\": \"cpu:1\","
    "  \"solo_a_ns\": 100, \"solo_b_ns\": 60, \"slowdown_a\": 1.4, \"slowdown_b\": 2.0, \"bytes_a\": 3}], \"costs\": ["
    " {\"chunk\": \"1\", \"unit\": \"cpu:0\", \"work\": \"decode\", \"tokens\": 1, \"ns\": 170, \"weight_bytes\": 400,"
    "  \"kv_bytes_per_token\": 6},"
    " {\"chunk\": \"2\", \"unit\": \"cpu:0\", \"work\": \"decode\", \"tokens\": 1, \"ns\": 80},"
    " {\"chunk\": \"3\", \"unit\": \"cpu:0\", \"work\": \"decode\", \"tokens\": 1, \"ns\": 90},"
    " {\"chunk\": \"2\", \"unit\": \"cpu:0\", \"work\": \"prefill\", \"tokens\": 16, \"ns\": 800}]}";

static void a_probe_with_costs_of_the_whole_chain_has_no_gaps(void **state) {
    (void)state;
    st_costs costs;
    stretto_error err = {0};
    assert_int_equal(st_costs_parse_probe(&costs, whole_probe, sizeof whole_probe - 1, &err), STRETTO_OK);
    assert_int_equal(costs.n_chunks, 3);
    assert_int_equal(costs.n_units, 2);
    assert_int_equal(costs.units[0].n_threads, 0); /* unknown */
    assert_int_equal(costs.units[1].n_threads, 3);
    assert_float_equal(st_cost_ns(&costs, 0, 0, ST_WORK_DECODE, 1), 170, 1e-9); /* not the pair's 100 */
    assert_float_equal(st_cost_ns(&costs, 1, 0, ST_WORK_DECODE, 1), 80, 1e-9);
    assert_float_equal(st_cost_ns(&costs, 1, 0, ST_WORK_PREFILL, 16), 800, 1e-9);
    assert_float_equal(st_cost_ns(&costs, 2, 1, ST_WORK_DECODE, 1), 0, 1e-9); /* the pair's 60 is of other rounds */
    assert_true(st_cost_slowdown(&costs, 1, 0, ST_WORK_DECODE, 0, 2, ST_WORK_DECODE) > 1.9);
    assert_int_equal(costs.chunks[0].weight_bytes, 400);
    assert_int_equal(costs.chunks[0].kv_bytes, 6);
    st_costs_free(&costs);
    const char *broken = "{\"schema\": \"stretto-probe/1\", \"pairs\": [{\"a\": \"1\", \"unit_a\": \"u\", \"k\": 2,"
                         "\"solo_a_ns\": 9, \"batched_ns\": 9}], \"costs\": [{\"chunk\": \"1\", \"unit\": \"u\","
                         "\"work\": \"rest\", \"tokens\": 1, \"ns\": 9}]}";
    assert_int_equal(st_costs_parse_probe(&costs, broken, strlen(broken), &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "costs"));
}

/* A probe of two chunks on two units that slow each other by so much. */
static int parse_pair(st_costs *costs, const char *a, const char *b, double slowdown, stretto_error *err) {
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"schema\": \"stretto-probe/1\", \"pairs\": [{\"a\": \"%s\", \"b\": \"%s\", \"unit_a\": "
                     "\"cpu:0\", \"unit_b\": \"cpu:1\", \"solo_a_ns\": 100, \"solo_b_ns\": 100, \"slowdown_a\": %g, "
                     "\"slowdown_b\": %g}]}",
                     a, b, slowdown, slowdown);
    return st_costs_parse_probe(costs, text, (size_t)n, err);
}

/* Only names that are spelt as chunks are get chunks between them. */
static void a_probe_s_chunks_keep_their_names(void **state) {
    (void)state;
    static const char *const odd[] = {"01", "+2", " 2", "2 ", "0", "-1", "2.0", "257", "9999999999999999999", "x"};
    st_costs costs;
    stretto_error err = {0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(parse_pair(&costs, "1", odd[i], 1.5, &err), STRETTO_OK);
        assert_int_equal(costs.n_chunks, 2);
        assert_true(st_costs_chunk(&costs, "1") < 2);
        assert_true(st_costs_chunk(&costs, odd[i]) < 2);
        st_costs_free(&costs);
    }
    assert_int_equal(parse_pair(&costs, "256", "2", 1.5, &err), STRETTO_OK);
    assert_int_equal(costs.n_chunks, 256);
    st_costs_free(&costs);
}

/* However much a probe's sides have slowed each other. */
static void a_probe_s_table_can_be_written_and_read(void **state) {
    (void)state;
    static const double slowdowns[] = {0.001, 0.1, 1, 1000, 900000};
    for (size_t i = 0; i < sizeof slowdowns / sizeof *slowdowns; i++) {
        st_costs costs, again;
        stretto_error err = {0};
        st_buf text = {0};
        assert_int_equal(parse_pair(&costs, "1", "2", slowdowns[i], &err), STRETTO_OK);
        st_json_write(&text, st_costs_json(&costs), false);
        if (st_costs_parse(&again, text.data, text.len, &err)) fail_msg("%s", err.text);
        st_buf_free(&text);
        st_costs_free(&again);
        st_costs_free(&costs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_s_chunks_keep_their_names),
        cmocka_unit_test(a_probe_s_table_can_be_written_and_read),
        cmocka_unit_test(a_table_by_hand_is_read_and_written),
        cmocka_unit_test(nonsense_is_refused_with_its_reason),
        cmocka_unit_test(slowdowns_follow_from_both_ends),
        cmocka_unit_test(memory_is_weights_once_and_kv_for_each_stream),
        cmocka_unit_test(few_entries_do_not_stand_for_billions),
        cmocka_unit_test(more_memory_than_can_be_counted_does_not_fit),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(a_probe_is_a_table_of_what_it_measured),
        cmocka_unit_test(a_probe_with_costs_of_the_whole_chain_has_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
