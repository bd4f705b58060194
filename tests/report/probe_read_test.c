/* SPDX-License-Identifier: MIT
 * A probe's JSON read back, and what is no such JSON. */
#include "report/probe_read.h"

#include "report/machine.h"
#include "report/probe_report.h"

#include <stdio.h>
#include <stdlib.h>

static void noisy_probe(rig *r) {
    machine_open(r, (st_mock_options){.bytes_per_ns = MACHINE_BYTES_PER_NS, .sigma = 0.02, .seed = 3});
    r->setup.limits.rounds = 10;
    rig_run(r);
    assert_int_equal(r->code, 0);
}

static const st_host host = {.cpu_model = "A processor", .isa = "AVX2", .kernel = "6.1"};
static const st_origin origin = {.version = "1.2.3", .host = &host, .when = 1700000000};

/* Reads the document as text; takes it. */
static int read_json(st_probe_record *record, st_probe_source *source, json_t *json, stretto_error *err) {
    st_buf text = {0};
    st_json_write(&text, json, false);
    assert_false(text.failed);
    int code = st_probe_read(record, source, text.data, text.len, err);
    st_buf_free(&text);
    return code;
}

static void same_interval(const st_interval *a, const st_interval *b) {
    assert_near(a->value, b->value, 1e-9);
    assert_near(a->lo, b->lo, 1e-9);
    assert_near(a->hi, b->hi, 1e-9);
}

static void same_row(const st_probe_row *a, const st_probe_row *b) {
    assert_string_equal(a->name[0], b->name[0]);
    assert_string_equal(a->name[1], b->name[1]);
    assert_string_equal(a->unit[0], b->unit[0]);
    assert_string_equal(a->unit[1], b->unit[1]);
    assert_ptr_equal(a->arrangement, b->arrangement);
    assert_int_equal(a->n_rounds, b->n_rounds);
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->cause, b->cause);
    assert_int_equal(a->stop, b->stop);
    assert_string_equal(a->evidence, b->evidence);
    assert_string_equal(a->error.text, b->error.text);
    if (a->n_rounds == 0) return;
    assert_int_equal(a->one_unit, b->one_unit);
    assert_int_equal(a->arms, b->arms);
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) assert_near(a->median_ns[arm], b->median_ns[arm], 1e-6);
    same_interval(&a->overlap, &b->overlap);
    same_interval(&a->overlap_serial, &b->overlap_serial);
    same_interval(&a->overlap_unit, &b->overlap_unit);
    same_interval(&a->speedup, &b->speedup);
    assert_near(a->slowdown[0], b->slowdown[0], 1e-9);
    assert_near(a->slowdown[1], b->slowdown[1], 1e-9);
}

static void what_was_written_is_read(void **state) {
    (void)state;
    rig r;
    st_probe_record record;
    st_probe_source source;
    noisy_probe(&r);
    assert_int_equal(read_json(&record, &source, st_probe_json(&r.record, &origin), NULL), 0);
    assert_string_equal(record.title, "a mock");
    assert_int_equal(record.cache, r.record.cache);
    assert_int_equal(record.seed, r.record.seed);
    assert_int_equal(record.n_processes, 1);
    assert_string_equal(source.version, "1.2.3");
    assert_string_equal(source.time, "2023-11-14T22:13:20Z");
    assert_string_equal(source.cpu, "A processor");
    assert_string_equal(source.isa, "AVX2");
    assert_string_equal(source.kernel, "6.1");
    assert_int_equal(record.n_rows, 3);
    for (size_t i = 0; i < 3; i++) same_row(&record.rows[i], &r.record.rows[i]);
    st_probe_record_free(&record);
    rig_close(&r);
}

static void batches_and_processes_are_read(void **state) {
    (void)state;
    rig r;
    st_probe_record record;
    st_probe_source source;
    const st_mock_unit_options unit = {.name = "cpu:0"};
    rig_open(&r, (st_mock_options){.sigma = 0.02}, &unit, 1, (rig_pair){.a_ns = 900000, .b_ns = 1200000});
    r.jobs[0] = (st_probe_job){.arrangement = st_arrangement_find("batch-2", NULL), .side = {0, 1}};
    rig_run(&r);
    assert_int_equal(r.code, 0);
    r.record.n_processes = 3;
    r.record.rows[0].rounds[4].process = 2;
    assert_int_equal(read_json(&record, &source, st_probe_json(&r.record, &origin), NULL), 0);
    same_row(&record.rows[0], &r.record.rows[0]);
    assert_int_equal(record.rows[0].k, 2);
    assert_int_equal(record.n_processes, 3);
    assert_int_equal(record.rows[0].rounds[4].process, 2);
    st_probe_record_free(&record);
    rig_close(&r);
}

/* What must be refused: the document with one value replaced. path: "pairs.0.samples.solo_a_ns.3", NULL: removed. */
typedef struct bad {
    const char *path, *json;
    const char *says[2];
} bad;

static const bad bads[] = {
    {"schema", "\"stretto-probe/2\"", {"stretto-probe/1", "stretto-probe/2"}},
    {"schema", NULL, {"\"schema\" is missing", NULL}},
    {"schema", "1", {"schema: expected a text", "found 1"}},
    {"title", "[]", {"title: expected a text", "a list"}},
    {"cache", "\"lukewarm\"", {"cache", "lukewarm"}},
    {"seed", "-1", {"seed", "found -1"}},
    {"seed", "1.5", {"seed: expected an integer", "1.5"}},
    {"processes", "0", {"processes", "found 0"}},
    {"pairs", "{}", {"pairs: expected a list", "an object"}},
    {"pairs", NULL, {"\"pairs\" is missing", NULL}},
    {"pairs.1", "7", {"pairs[1]: expected an object", "found 7"}},
    {"pairs.1.a", NULL, {"pairs[1]: \"a\" is missing", NULL}},
    {"pairs.1.b", NULL, {"pairs[1]: \"b\" is missing", NULL}},
    {"pairs.1.a", "\"a name that is far longer than any name of a side that is written\"", {"pairs[1].a", "47 bytes"}},
    {"pairs.1.arrangement", "\"two-unit\"", {"pairs[1].arrangement", "did you mean \"two-units\"?"}},
    {"pairs.1.overlap", "\"perhaps\"", {"pairs[1].overlap", "perhaps"}},
    {"pairs.1.cause", NULL, {"pairs[1]: \"cause\" is missing", NULL}},
    {"pairs.1.stop", "\"bored\"", {"pairs[1].stop", "bored"}},
    {"pairs.1.rounds", "-10", {"pairs[1].rounds", "found -10"}},
    {"pairs.1.rounds", "9000000000000000000", {"pairs[1].samples.solo_a_ns", "9000000000000000000 rounds, found 10"}},
    {"pairs.1.samples", NULL, {"pairs[1]: \"samples\" is missing", NULL}},
    {"pairs.1.samples.serial_ns", NULL, {"pairs[1].samples: \"serial_ns\" is missing", NULL}},
    {"pairs.1.samples.serial_ns", "[1, 2]", {"pairs[1].samples.serial_ns", "found 2"}},
    {"pairs.1.samples.serial_ns.3", "0", {"pairs[1].samples.serial_ns[3]", "found 0"}},
    {"pairs.1.samples.serial_ns.3", "1e9", {"pairs[1].samples.serial_ns[3]: expected an integer", "1e+09"}},
    {"pairs.1.samples.serial_ns.3", "9223372036854775807", {"pairs[1].samples.serial_ns[3]", "9223372036854775807"}},
    {"pairs.1.samples.parallel_b_end_ns.0", "\"soon\"", {"pairs[1].samples.parallel_b_end_ns[0]", "soon"}},
    {"pairs.1.samples.process.2", "1", {"pairs[1].samples.process[2]", "from 0 to 0, found 1"}},
    {"pairs.1.samples.process", "[]", {"process", "10 rounds, found 0"}},
    {"pairs.1.bootstrap_level", "1.5", {"pairs[1].bootstrap_level", "1.5"}},
    {"host", "[]", {NULL, NULL}}, /* only told, not needed */
    {"version", NULL, {NULL, NULL}},
};

static void replace(json_t *document, const char *path, const char *json) {
    char words[96], *save, *last = NULL;
    json_t *at = document, *above = NULL,
           *value = json ? json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    snprintf(words, sizeof words, "%s", path);
    for (char *word = strtok_r(words, ".", &save); word; word = strtok_r(NULL, ".", &save)) {
        above = at;
        last = word;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(word)) : json_object_get(at, word);
    }
    assert_true(above && last && (!json || value));
    if (json_is_array(above))
        json_array_set_new(above, (size_t)atoi(last), value);
    else if (value)
        json_object_set_new(above, last, value);
    else
        json_object_del(above, last);
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    rig r;
    noisy_probe(&r);
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        const bad *b = &bads[i];
        st_probe_record record;
        st_probe_source source;
        stretto_error err = {0};
        json_t *json = st_probe_json(&r.record, &origin);
        replace(json, b->path, b->json);
        int code = read_json(&record, &source, json, &err);
        if (code != (b->says[0] ? STRETTO_E_INPUT : STRETTO_OK))
            print_error("%s = %s: %s\n", b->path, b->json, err.text);
        assert_int_equal(code, b->says[0] ? STRETTO_E_INPUT : STRETTO_OK);
        for (unsigned k = 0; k < 2 && b->says[k]; k++) {
            if (!strstr(err.text, b->says[k])) print_error("%s = %s: %s\n", b->path, b->json, err.text);
            assert_non_null(strstr(err.text, b->says[k]));
        }
        if (code) assert_true(record.n_rows == 0 && !record.rows);
        st_probe_record_free(&record);
    }
    rig_close(&r);
}

static void no_json_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "GGUF", "[]", "3", "{", "{\"schema\": \"stretto-probe/1\"", "{\"a\": 1, \"a\": 2}", "{\"schema\": \xff}",
    };
    st_probe_record record;
    st_probe_source source;
    stretto_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(st_probe_read(&record, &source, texts[i], strlen(texts[i]), &err), STRETTO_E_INPUT);
        assert_true(*err.text);
    }
    char *deep = malloc(1000000);
    memset(deep, '[', 1000000);
    assert_int_equal(st_probe_read(&record, &source, deep, 1000000, &err), STRETTO_E_INPUT);
    free(deep);
    assert_int_equal(st_probe_read(&record, &source, "", ST_PROBE_READ_MAX + 1, &err), STRETTO_E_INPUT);
}

/* Whatever bytes are changed, a report is read or refused. */
static void broken_reports_do_no_harm(void **state) {
    (void)state;
    rig r;
    st_rng rng;
    st_buf text = {0};
    noisy_probe(&r);
    st_json_write(&text, st_probe_json(&r.record, &origin), true);
    st_rng_seed(&rng, 5);
    for (unsigned i = 0; i < 400; i++) {
        static const char bytes[] = "0-9eE.,:[]{}\"\\ \x01\xff";
        char *copy = malloc(text.len);
        size_t len = st_rng_below(&rng, 4) ? text.len : st_rng_below(&rng, text.len);
        st_probe_record record;
        st_probe_source source;
        stretto_error err = {0};
        memcpy(copy, text.data, text.len);
        for (uint64_t k = 1 + st_rng_below(&rng, 3); k > 0; k--)
            copy[st_rng_below(&rng, text.len)] = bytes[st_rng_below(&rng, sizeof bytes - 1)];
        int code = st_probe_read(&record, &source, copy, len, &err);
        assert_true(code == STRETTO_OK || (code == STRETTO_E_INPUT && *err.text));
        st_probe_record_free(&record);
        free(copy);
    }
    st_buf_free(&text);
    rig_close(&r);
}

/* Names end on terminals. */
static void control_characters_are_taken_out(void **state) {
    (void)state;
    rig r;
    st_probe_record record;
    st_probe_source source;
    noisy_probe(&r);
    json_t *json = st_probe_json(&r.record, &origin);
    json_object_set_new(json, "title",
                        json_string("a\033[31m\nb\x7f\xc2\x9b"
                                    "c\xc3\xa9"));
    assert_int_equal(read_json(&record, &source, json, NULL), 0);
    assert_string_equal(record.title, "a?[31m?b???c\xc3\xa9");
    st_probe_record_free(&record);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),  cmocka_unit_test(batches_and_processes_are_read),
        cmocka_unit_test(what_is_wrong_is_named),    cmocka_unit_test(no_json_is_refused),
        cmocka_unit_test(broken_reports_do_no_harm), cmocka_unit_test(control_characters_are_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
