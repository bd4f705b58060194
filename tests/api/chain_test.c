/* SPDX-License-Identifier: MIT
 * Models and chains through the public interface: the golden answers, independence of the cut, errors. */
#include "support.h"

#include "stretto/version.h"

#include <math.h>

static void the_version_is_the_projects(void **state) {
    (void)state;
    assert_string_equal(stretto_version(), PROJECT_VERSION);
}

/* ---- golden answers ---- */

/* All logits of an append, copied. */
typedef struct kept {
    float *logits; /* [cap][n_vocab] */
    int32_t *argmax;
    uint32_t n, n_vocab;
} kept;

static int keep(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    kept *k = arg;
    assert_int_equal(pos, k->n);
    memcpy(k->logits + (size_t)k->n * k->n_vocab, logits, k->n_vocab * sizeof *logits);
    k->argmax[k->n++] = argmax;
    return 0;
}

static kept append_all(stretto_chain *chain, const stretto_model *model, const int32_t *ids, size_t n) {
    stretto_model_info info;
    stretto_error err = {0};
    stretto_model_info_get(model, &info);
    kept k = {.n_vocab = info.n_vocab};
    k.logits = calloc(n, info.n_vocab * sizeof *k.logits);
    k.argmax = calloc(n, sizeof *k.argmax);
    assert_true(k.logits && k.argmax);
    must(stretto_chain_append(chain, ids, n, keep, &k, &err), &err);
    assert_int_equal(k.n, n);
    return k;
}

static void free_kept(kept *k) {
    free(k->logits);
    free(k->argmax);
}

static void check_logits(const kept *k, const json_t *root, const char *file) {
    const char *at;
    json_t *row;
    json_object_foreach(json_object_get(root, "logits"), at, row) {
        const float *found = k->logits + (size_t)atoi(at) * k->n_vocab;
        assert_int_equal(json_array_size(row), k->n_vocab);
        for (size_t i = 0; i < k->n_vocab; i++) {
            double wanted = json_number_value(json_array_get(row, i));
            if (fabs((double)found[i] - wanted) > 1e-3)
                fail_msg("%s: logit %zu at %s is %g, wanted %g", file, i, at, (double)found[i], wanted);
        }
    }
}

static void check_greedy(stretto_chain *chain, const json_t *root, const char *file) {
    size_t n;
    stretto_error err = {0};
    int32_t *greedy = golden_ids(json_object_get(root, "greedy"), &n);
    for (size_t i = 0; i < n; i++) {
        int32_t id = stretto_chain_argmax(chain);
        if (id != greedy[i]) fail_msg("%s: greedy id %zu is %d, wanted %d", file, i, id, greedy[i]);
        must(stretto_chain_append(chain, &id, 1, NULL, NULL, &err), &err);
    }
    free(greedy);
}

static void check_golden(const char *name) {
    char gguf[256], json[256];
    snprintf(gguf, sizeof gguf, ST_GOLDEN "/tiny-%s-F32.gguf", name);
    snprintf(json, sizeof json, ST_GOLDEN "/tiny-%s-F32.json", name);
    json_t *root = golden_json(json);
    size_t n;
    int32_t *ids = golden_ids(json_object_get(root, "ids"), &n);
    stretto_model *model = open_model(gguf);
    stretto_chain *chain = NULL;
    stretto_error err = {0};
    stretto_chain_options options = {.kv_type = STRETTO_KV_F32, .max_logits = 16};
    must(stretto_chain_open(&chain, model, &options, &err), &err);
    kept k = append_all(chain, model, ids, n);
    check_logits(&k, root, gguf);
    check_greedy(chain, root, gguf);
    free_kept(&k);
    free(ids);
    stretto_chain_close(chain);
    stretto_model_close(model);
    json_decref(root);
}

static void golden_logits_and_greedy_ids(void **state) {
    (void)state;
    static const char *const names[] = {"llama", "gemma3", "qwen2", "qwen3", "gemma4"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_golden(names[i]);
}

/* ---- independence ---- */

static void any_cut_on_any_units_is_bit_equal(void **state) {
    (void)state;
    static const char *const cuts[] = {"1", "2", "4", "9", "0-1,2-6,7-8"};
    stretto_error err = {0};
    json_t *root = golden_json(GOLDEN("tiny-gemma4-F32.json"));
    size_t n;
    int32_t *ids = golden_ids(json_object_get(root, "ids"), &n);
    stretto_model *model = open_model(GOLDEN("tiny-gemma4-F32.gguf"));
    stretto_unit *units[2] = {NULL, NULL};
    stretto_cpu_options cpu = {.unpinned = true};
    must(stretto_unit_open_cpu(&units[0], "cpu:0", &cpu, &err), &err);
    must(stretto_unit_open_cpu(&units[1], NULL, &cpu, &err), &err);
    kept first = {0};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        stretto_chain *chain = NULL;
        stretto_chain_options options = {
            .chunks = cuts[i], .units = units, .n_units = 1 + i % 2, .n_ctx = 64, .max_logits = 24};
        must(stretto_chain_open(&chain, model, &options, &err), &err);
        kept k = append_all(chain, model, ids, n);
        if (i == 0)
            first = k;
        else {
            assert_memory_equal(first.logits, k.logits, n * k.n_vocab * sizeof *k.logits);
            free_kept(&k);
        }
        stretto_chain_close(chain);
    }
    free_kept(&first);
    stretto_unit_close(units[0]);
    stretto_unit_close(units[1]);
    stretto_model_close(model);
    free(ids);
    json_decref(root);
}

static void reset_and_truncate_give_the_same_again(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 20, 30, 40, 50};
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-llama-Q8_0.gguf"));
    stretto_model_info info;
    stretto_model_info_get(model, &info);
    stretto_chain *chain = NULL;
    must(stretto_chain_open(&chain, model, NULL, &err), &err);
    must(stretto_chain_append(chain, ids, 5, NULL, NULL, &err), &err);
    float *logits = malloc(info.n_vocab * sizeof *logits);
    memcpy(logits, stretto_chain_logits(chain), info.n_vocab * sizeof *logits);
    must(stretto_chain_truncate(chain, 2, &err), &err);
    assert_int_equal(stretto_chain_length(chain), 2);
    must(stretto_chain_append(chain, ids + 2, 3, NULL, NULL, &err), &err);
    assert_memory_equal(logits, stretto_chain_logits(chain), info.n_vocab * sizeof *logits);
    stretto_chain_reset(chain);
    assert_int_equal(stretto_chain_length(chain), 0);
    for (int i = 0; i < 5; i++) must(stretto_chain_append(chain, &ids[i], 1, NULL, NULL, &err), &err);
    assert_memory_equal(logits, stretto_chain_logits(chain), info.n_vocab * sizeof *logits);
    free(logits);
    stretto_chain_close(chain);
    stretto_model_close(model);
}

static int stop_at_two(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    (void)logits;
    (void)argmax;
    ++*(unsigned *)arg;
    return pos == 2;
}

static void a_callback_can_stop(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 20, 30, 40, 50};
    unsigned calls = 0;
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-llama-Q8_0.gguf"));
    stretto_chain *chain = NULL;
    must(stretto_chain_open(&chain, model, NULL, &err), &err);
    must_fail(stretto_chain_append(chain, ids, 5, stop_at_two, &calls, &err), STRETTO_E_STOPPED, &err, "stopped");
    assert_int_equal(calls, 3);
    assert_in_range(stretto_chain_length(chain), 3, 5);
    stretto_chain_close(chain);
    stretto_model_close(model);
}

/* ---- what is told ---- */

static void model_and_chunks_tell_what_they_are(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-gemma3-F32.gguf"));
    stretto_model_info info;
    stretto_model_info_get(model, &info);
    assert_string_equal(info.name, "tiny random gemma3");
    assert_string_equal(info.architecture, "gemma3");
    assert_string_equal(info.kernels, "scalar");
    assert_int_equal(info.n_layers, 8);
    assert_int_equal(info.d_model, 64);
    assert_int_equal(info.n_vocab, 448);
    assert_int_equal(info.n_ctx_train, 512);
    stretto_chain *chain = NULL;
    stretto_chain_options options = {.chunks = "0-3,4-7", .n_ctx = 128};
    must(stretto_chain_open(&chain, model, &options, &err), &err);
    assert_int_equal(stretto_chain_n_chunks(chain), 2);
    assert_int_equal(stretto_chain_ctx(chain), 128);
    uint64_t bytes = 0, operations = 0;
    for (size_t i = 0; i < 2; i++) {
        stretto_chunk_info chunk;
        must(stretto_chain_chunk(chain, i, &chunk, &err), &err);
        assert_int_equal(chunk.first, 4 * i);
        assert_int_equal(chunk.last, 4 * i + 3);
        assert_int_equal(chunk.head, i == 1);
        assert_memory_equal(chunk.unit, "cpu:", 4);
        bytes += chunk.bytes;
        operations += chunk.operations;
    }
    assert_int_equal(bytes, info.step_bytes);
    assert_int_equal(operations, info.operations);
    static const int32_t id = 5;
    must(stretto_chain_append(chain, &id, 1, NULL, NULL, &err), &err);
    stretto_chunk_info a, b;
    must(stretto_chain_chunk(chain, 0, &a, &err), &err);
    must(stretto_chain_chunk(chain, 1, &b, &err), &err);
    assert_true(a.start_ns < a.end_ns && a.end_ns <= b.start_ns && b.start_ns < b.end_ns);
    must_fail(stretto_chain_chunk(chain, 2, &a, &err), STRETTO_E_USAGE, &err, "no chunk 2");
    stretto_chain_close(chain);
    stretto_model_close(model);
}

/* ---- errors ---- */

static void bad_files_are_refused(void **state) {
    (void)state;
    stretto_model *model = (stretto_model *)&model;
    stretto_error err = {0};
    must_fail(stretto_model_open(&model, "/no/such/model.gguf", NULL, &err), STRETTO_E_IO, &err, "/no/such/model.gguf");
    assert_null(model);
    must_fail(stretto_model_open(&model, GOLDEN("tiny-llama-F32.json"), NULL, &err), STRETTO_E_INPUT, &err,
              "tiny-llama-F32.json");
    must_fail(stretto_model_open(&model, GOLDEN("quants.gguf"), NULL, &err), STRETTO_E_INPUT, &err, "quants.gguf");
    stretto_model_options options = {.kernels = "abacus"};
    must_fail(stretto_model_open(&model, GOLDEN("tiny-llama-F32.gguf"), &options, &err), STRETTO_E_USAGE, &err,
              "abacus");
    assert_int_equal(stretto_model_open(&model, "/no/such/model.gguf", NULL, NULL), STRETTO_E_IO); /* err may be NULL */
    stretto_model_close(NULL);
}

static void chains_say_what_is_wrong(void **state) {
    (void)state;
    stretto_error err = {0};
    stretto_model *model = open_model(GOLDEN("tiny-llama-F32.gguf"));
    stretto_chain *chain = NULL;
    stretto_chain_options options = {.chunks = "7"};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "7");
    assert_null(chain);
    options.chunks = "0-1,3-3";
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "3");
    options = (stretto_chain_options){.kv_type = (enum stretto_kv_type)7};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "7");
    options = (stretto_chain_options){.n_ctx = 1u << 31};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "2147483648");
    stretto_unit *units[2] = {NULL, NULL};
    must(stretto_unit_open_cpu(&units[0], NULL, NULL, &err), &err);
    options = (stretto_chain_options){.units = units, .n_units = 2};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "unit 1 of 2 is NULL");
    options = (stretto_chain_options){.n_units = 1};
    must_fail(stretto_chain_open(&chain, model, &options, &err), STRETTO_E_USAGE, &err, "unit 0 of 1 is NULL");
    assert_null(chain);
    stretto_unit_close(units[0]);
    options = (stretto_chain_options){.n_ctx = 4};
    must(stretto_chain_open(&chain, model, &options, &err), &err);
    static const int32_t many[5] = {1, 2, 3, 4, 5}, wrong[2] = {1, 448}, negative = -1;
    must_fail(stretto_chain_append(chain, many, 5, NULL, NULL, &err), STRETTO_E_INPUT, &err, "1 too many");
    must_fail(stretto_chain_append(chain, wrong, 2, NULL, NULL, &err), STRETTO_E_INPUT, &err, "448");
    must_fail(stretto_chain_append(chain, &negative, 1, NULL, NULL, &err), STRETTO_E_INPUT, &err, "-1");
    assert_int_equal(stretto_chain_length(chain), 0);
    must_fail(stretto_chain_truncate(chain, 1, &err), STRETTO_E_USAGE, &err, "1");
    must(stretto_chain_append(chain, many, 4, NULL, NULL, &err), &err);
    stretto_chain_close(chain);
    stretto_chain_close(NULL);
    stretto_model_close(model);
}

/* Who wants no reason gets the same codes. */
static void reasons_can_be_left_out(void **state) {
    (void)state;
    static const int32_t many[5] = {1, 2, 3, 4, 5}, negative = -1;
    stretto_model *model = NULL, *loaded = open_model(GOLDEN("tiny-llama-Q8_0.gguf"));
    stretto_model_options options = {.kernels = "magic"};
    stretto_chain *chain = NULL;
    stretto_unit *unit = NULL;
    stretto_chunk_info info;
    assert_int_equal(stretto_model_open(&model, "/nowhere", NULL, NULL), STRETTO_E_IO);
    assert_int_equal(stretto_model_open(&model, GOLDEN("real-smollm2.json"), NULL, NULL), STRETTO_E_INPUT);
    assert_int_equal(stretto_model_open(&model, GOLDEN("tiny-llama-Q8_0.gguf"), &options, NULL), STRETTO_E_USAGE);
    assert_int_equal(stretto_unit_open_cpu(&unit, "cpu:99999", NULL, NULL), STRETTO_E_USAGE);
    assert_int_equal(stretto_chain_open(&chain, loaded, &(stretto_chain_options){.chunks = "0-9"}, NULL),
                     STRETTO_E_USAGE);
    assert_int_equal(stretto_chain_open(&chain, loaded, &(stretto_chain_options){.n_ctx = 4}, NULL), STRETTO_OK);
    assert_int_equal(stretto_chain_append(chain, many, 5, NULL, NULL, NULL), STRETTO_E_INPUT);
    assert_int_equal(stretto_chain_append(chain, &negative, 1, NULL, NULL, NULL), STRETTO_E_INPUT);
    assert_int_equal(stretto_chain_truncate(chain, 1, NULL), STRETTO_E_USAGE);
    assert_int_equal(stretto_chain_chunk(chain, 99, &info, NULL), STRETTO_E_USAGE);
    stretto_chain_close(chain);
    stretto_model_close(loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_the_projects),
        cmocka_unit_test(golden_logits_and_greedy_ids),
        cmocka_unit_test(any_cut_on_any_units_is_bit_equal),
        cmocka_unit_test(reset_and_truncate_give_the_same_again),
        cmocka_unit_test(a_callback_can_stop),
        cmocka_unit_test(model_and_chunks_tell_what_they_are),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(chains_say_what_is_wrong),
        cmocka_unit_test(reasons_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
