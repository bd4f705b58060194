/* SPDX-License-Identifier: MIT
 * Every shape that `stretto synth` knows, shrunk, against llama.cpp's logits for the same file (tests/golden/
 * synth-shapes.json says which build): the real numbers of layers, periods, shared KV, windows and RoPE. Prompts of 700
 * tokens reach beyond the windows of 512. */
#include "support/fixture.h"

#include "model/synth.h"

#include <math.h>
#include <unistd.h>

#define TOLERANCE 1e-3f /* of a logit; measured 8e-6 */

/* First of n kernel tables for long prompts; the thread sanitizer, which finds nothing new there, does without them. */
#ifdef __SANITIZE_THREAD__
#define LONG_TABLE(n) (n)
#else
#define LONG_TABLE(n) ((n)-1)
#endif

typedef struct expected {
    const json_t *at; /* [{"position", "logits": [[id, logit], ...]}, ...] */
    unsigned met;
    float worst;
} expected;

static int compare_row(void *arg, uint32_t pos, const float *row, int32_t argmax) {
    expected *e = arg;
    size_t i, k;
    json_t *at, *pair;
    json_array_foreach(e->at, i, at) {
        if (json_integer_value(json_object_get(at, "position")) != (json_int_t)pos) continue;
        e->met++;
        json_array_foreach(json_object_get(at, "logits"), k, pair) {
            const json_int_t id = json_integer_value(json_array_get(pair, 0));
            const float off = fabsf(row[id] - (float)json_real_value(json_array_get(pair, 1)));
            if (off > e->worst || isnan(off)) e->worst = off;
            if (k == 0) assert_int_equal(argmax, id); /* the first is the highest */
        }
    }
    return 0;
}

static int32_t *make_ids(uint32_t n, uint32_t n_vocab) {
    int32_t *ids = calloc(n, sizeof *ids);
    assert_non_null(ids);
    for (uint64_t i = 1; i < n; i++) ids[i] = (int32_t)((i * 2654435761u >> 7) % n_vocab);
    ids[0] = 2;
    return ids;
}

static void check(const char *path, const json_t *model, const char *kern) {
    fixture f;
    stretto_error err = {0};
    const uint32_t n = (uint32_t)json_integer_value(json_object_get(model, "n"));
    expected e = {.at = json_object_get(model, "at")};
    fixture_open(&f, path, kern);
    assert_int_equal(f.model->n_vocab, json_integer_value(json_object_get(model, "vocabulary")));
    fixture_unit(&f, 0, 2);
    int32_t *ids = make_ids(n, f.model->n_vocab);
    st_chain *chain = fixture_chain(&f, NULL, ST_KV_F32, n, 64, 64, NULL);
    fixture_check(st_chain_forward(chain, ids, n, ST_WANT_ALL, compare_row, &e, &err), &err);
    assert_int_equal(e.met, json_array_size(e.at));
    if (!(e.worst <= TOLERANCE)) fail_msg("%s, %u tokens, %s: a logit is off by %g", path, n, kern, (double)e.worst);
    st_chain_close(chain);
    free(ids);
    fixture_close(&f);
}

static void as_llama_cpp(void **state) {
    (void)state;
    json_t *golden = golden_load("synth-shapes.json"), *model;
    const st_kern *tables[8];
    const size_t n_tables = st_kern_list(tables, 8);
    char folder[] = "/tmp/stretto-shapes-XXXXXX", path[64];
    size_t i;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    json_array_foreach(json_object_get(golden, "models"), i, model) {
        stretto_error err = {0};
        const st_synth_options options = {.like = json_string_value(json_object_get(model, "like")),
                                          .type = (uint32_t)st_type_by_name("f32"),
                                          .scale_num = 1,
                                          .scale_den = 32,
                                          .seed = 1};
        fixture_check(st_synth_write(path, &options, &err), &err);
        const bool is_long = json_integer_value(json_object_get(model, "n")) > 100; /* slow: the best kernels only */
        for (size_t t = is_long ? LONG_TABLE(n_tables) : FIRST_TABLE(n_tables); t < n_tables; t++)
            check(path, model, tables[t]->name);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(i, 10);
    assert_int_equal(rmdir(folder), 0);
    json_decref(golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_llama_cpp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
