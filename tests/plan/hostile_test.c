/* SPDX-License-Identifier: MIT
 * Files that somebody broke: whatever bytes come, they are refused with a reason, or make sense. */
#include "base/rng.h"
#include "support.h"

#define ROUNDS 6000

static const char schedule[] =
    "{\"schema\": \"stretto-schedule/1\", \"kind\": \"staged\", \"units\": [\"cpu:0\", \"cpu:1\"], \"chunks\": "
    "[{\"chunk\": 1, "
    "\"layers\": [0, 2], \"unit\": \"cpu:0\"}, {\"chunk\": 2, \"layers\": [3, 5], \"unit\": \"cpu:1\", \"after\": "
    "[1]}], "
    "\"streams\": 4, \"batch\": 2, \"micro_batch\": 32, \"pipelined\": true, \"host_beside\": false}";
static const char table[] =
    "{\"schema\": \"stretto-costs/1\", \"chunks\": [{\"name\": \"1\", \"weight_bytes\": 9}], \"units\": [{\"name\": "
    "\"a\", "
    "\"cores\": [0, 1]}, {\"name\": \"b\", \"memory\": \"m\"}], \"memories\": [{\"name\": \"m\", \"bytes\": 99}], "
    "\"costs\": "
    "[{\"chunk\": \"1\", \"unit\": \"a\", \"decode_ns\": [[1, 5], [4, 9]], \"prefill_ns\": 7}], \"slowdowns\": "
    "[{\"chunk\": "
    "\"1\", \"slowdown\": 1.5}], \"transfers\": [{\"fixed_ns\": 1}], \"host\": {\"choose_ns\": 2}, \"acceptance\": "
    "{\"model\": 0.5}}";
static const char probe[] =
    "{\"schema\": \"stretto-probe/1\", \"pairs\": [{\"a\": \"1\", \"b\": \"2\", \"unit_a\": \"cpu:0-3\", \"unit_b\": "
    "\"cpu:4+5\", \"solo_a_ns\": 10, \"solo_b_ns\": 20, \"slowdown_a\": 1.5, \"slowdown_b\": 1.2}, {\"a\": \"1\", "
    "\"unit_a\": \"x\", \"k\": 4, \"solo_a_ns\": 11, \"batched_ns\": 30}]}";

/* A few bytes changed, cut out, or doubled. */
static size_t mutate(st_rng *rng, const char *text, size_t len, char *out) {
    static const char bytes[] = "{}[]\",:0123456789-.eEtrufalsn \\x\x80\xff";
    memcpy(out, text, len);
    for (uint64_t n = 1 + st_rng_below(rng, 3); n > 0; n--) {
        size_t at = (size_t)st_rng_below(rng, len), size = 1 + (size_t)st_rng_below(rng, 12);
        if (at + size > len) size = len - at;
        switch (st_rng_below(rng, 3)) {
        case 0:
            out[at] = bytes[st_rng_below(rng, sizeof bytes - 1)];
            break;
        case 1:
            memmove(out + at, out + at + size, len - at - size);
            len -= size;
            break;
        default:
            memmove(out + at + size, out + at, len - at);
            len += size;
        }
        if (len == 0) break;
    }
    return len;
}

static void check_schedule(const char *text, size_t len, unsigned *accepted) {
    static st_schedule s;
    stretto_error err = {0};
    int code = st_schedule_parse(&s, text, len, &err);
    if (code) {
        assert_int_equal(code, STRETTO_E_INPUT);
        assert_true(err.text[0] != '\0');
        return;
    }
    ++*accepted;
    assert_int_equal(st_schedule_check(&s, NULL), STRETTO_OK);
    json_t *json = st_schedule_json(&s);
    assert_non_null(json);
    json_decref(json);
}

static void check_costs(int (*parse)(st_costs *, const char *, size_t, stretto_error *), const char *text, size_t len,
                        unsigned *accepted) {
    st_costs costs;
    stretto_error err = {0};
    int code = parse(&costs, text, len, &err);
    if (code) {
        assert_int_equal(code, STRETTO_E_INPUT);
        assert_true(err.text[0] != '\0');
        return;
    }
    ++*accepted;
    for (uint32_t c = 0; c < costs.n_chunks; c++) {
        for (uint32_t u = 0; u < costs.n_units; u++) assert_true(st_cost_ns(&costs, c, u, ST_WORK_PREFILL, 100) >= 0);
    }
    st_costs_free(&costs);
}

static void broken_files_are_refused_or_make_sense(void **state) {
    (void)state;
    st_rng rng;
    unsigned accepted[3] = {0};
    st_rng_seed(&rng, 5);
    char text[4096];
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t len = mutate(&rng, schedule, sizeof schedule - 1, text);
        check_schedule(text, len, &accepted[0]);
        len = mutate(&rng, table, sizeof table - 1, text);
        check_costs(st_costs_parse, text, len, &accepted[1]);
        len = mutate(&rng, probe, sizeof probe - 1, text);
        check_costs(st_costs_parse_probe, text, len, &accepted[2]);
    }
    for (unsigned i = 0; i < 3; i++) assert_in_range(accepted[i], 10, ROUNDS / 2); /* both happen */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_files_are_refused_or_make_sense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
