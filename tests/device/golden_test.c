/* SPDX-License-Identifier: MIT
 * The tiny models against float32 references (tests/golden/README says where they come from): logits, traces, argmax
 * and greedy ids, through a chain of chunks on a CPU lane. */
#include "support/fixture.h"

#include <math.h>

#define F32_TOLERANCE 1e-3
#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct golden {
    fixture f;
    json_t *json;
    int32_t *ids;
    uint32_t n;
    const char *trace_problem;
    double worst_trace;
} golden;

static void golden_open(golden *g, const char *name, const char *kern) {
    char path[512], file[128];
    memset(g, 0, sizeof *g);
    snprintf(file, sizeof file, "%s.json", name);
    g->json = golden_load(file);
    snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, name);
    fixture_open(&g->f, path, kern);
    fixture_unit(&g->f, 0, 1);
    g->ids = golden_ids(json_object_get(g->json, "ids"), &g->n);
}

static void golden_close(golden *g) {
    fixture_close(&g->f);
    free(g->ids);
    json_decref(g->json);
}

/* ---- logits ---- */

static double worst_difference(const json_t *expected, const float *found) {
    double worst = 0;
    for (size_t i = 0; i < json_array_size(expected); i++) {
        double d = fabs(json_number_value(json_array_get(expected, i)) - (double)found[i]);
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

static double rms_difference(const json_t *expected, const float *found) {
    double sum = 0;
    size_t n = json_array_size(expected);
    for (size_t i = 0; i < n; i++) {
        double d = json_number_value(json_array_get(expected, i)) - (double)found[i];
        sum += d * d;
    }
    return sqrt(sum / (double)n);
}

typedef struct seen {
    const golden *g;
    bool exact;
    double worst;
    unsigned compared, wrong_argmax;
} seen;

static int see_logits(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    seen *s = arg;
    char key[16];
    snprintf(key, sizeof key, "%u", pos);
    const json_t *expected = json_object_get(json_object_get(s->g->json, "logits"), key);
    if (expected) {
        double d = s->exact ? worst_difference(expected, logits) : rms_difference(expected, logits);
        if (!(d <= s->worst)) s->worst = d;
        s->compared++;
    }
    if (argmax != json_integer_value(json_array_get(json_object_get(s->g->json, "argmax_per_position"), pos)))
        s->wrong_argmax++;
    return 0;
}

/* Greedy ids as long as the reference's own margin is above `margin`. */
static void check_greedy(const golden *g, st_chain *chain, double margin) {
    const json_t *greedy = json_object_get(g->json, "greedy"), *margins = json_object_get(g->json, "greedy_margin");
    stretto_error err = {0};
    for (size_t i = 0; i < json_array_size(greedy); i++) {
        if (json_number_value(json_array_get(margins, i)) < margin) return;
        int32_t id = st_chain_argmax(chain);
        assert_int_equal(id, json_integer_value(json_array_get(greedy, i)));
        fixture_check(st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, &err), &err);
    }
}

static void check_f32(const char *name, const char *kern) {
    golden g;
    golden_open(&g, name, kern);
    stretto_error err = {0};
    st_chain *chain = fixture_chain(&g.f, NULL, ST_KV_F32, 128, 32, 32, NULL);
    seen s = {.g = &g, .exact = true};
    fixture_check(st_chain_forward(chain, g.ids, g.n, ST_WANT_ALL, see_logits, &s, &err), &err);
    printf("%-18s %-6s worst logit difference %.2g over %u positions\n", name, kern, s.worst, s.compared);
    assert_int_equal(s.compared, json_object_size(json_object_get(g.json, "logits")));
    assert_true(s.worst < F32_TOLERANCE);
    assert_int_equal(s.wrong_argmax, 0);
    check_greedy(&g, chain, 0.01);
    st_chain_close(chain);
    golden_close(&g);
}

/* Activations are quantized, so logits differ from the dequantized reference by about what llama.cpp's differ. */
static void check_quantized(const char *name, const char *kern) {
    golden g;
    golden_open(&g, name, kern);
    stretto_error err = {0};
    double theirs = json_number_value(json_object_get(json_object_get(g.json, "llamacpp"), "rms_diff"));
    st_chain *chain = fixture_chain(&g.f, NULL, ST_KV_F32, 128, 32, 32, NULL);
    seen s = {.g = &g, .exact = false};
    fixture_check(st_chain_forward(chain, g.ids, g.n, ST_WANT_ALL, see_logits, &s, &err), &err);
    printf("%-18s %-6s rms difference %.3g (llama.cpp %.3g), %u of %u argmaxes differ\n", name, kern, s.worst, theirs,
           s.wrong_argmax, g.n);
    assert_true(s.compared > 0);
    assert_true(s.worst < 2.0 * theirs + F32_TOLERANCE);
    check_greedy(&g, chain, 6.0 * theirs + 0.01);
    st_chain_close(chain);
    golden_close(&g);
}

/* ---- traces ---- */

static void see_trace(void *arg, enum st_trace_point point, uint32_t layer, const float *rows, uint32_t n,
                      uint32_t width, size_t stride) {
    golden *g = arg;
    static const char *const keys[] = {[ST_TRACE_EMBED] = "embed_scaled",
                                       [ST_TRACE_PLE] = "per_layer_input",
                                       [ST_TRACE_ATTN] = "attn_out",
                                       [ST_TRACE_LAYER] = "layer_out",
                                       [ST_TRACE_NORM] = "final_norm"};
    const json_t *expected = json_object_get(json_object_get(g->json, "trace_last_position"), keys[point]);
    const float *last = rows + (n - 1) * stride;
    uint32_t parts = 1;
    if (point == ST_TRACE_ATTN || point == ST_TRACE_LAYER) expected = json_array_get(expected, layer);
    if (point == ST_TRACE_PLE) parts = g->f.model->n_layers;
    for (uint32_t p = 0; p < parts; p++) {
        const json_t *part = parts > 1 ? json_array_get(expected, p) : expected;
        if (json_array_size(part) != width / parts) {
            g->trace_problem = keys[point];
            return;
        }
        double w = worst_difference(part, last + (size_t)p * (width / parts));
        if (!(w <= g->worst_trace)) g->worst_trace = w;
    }
}

static void check_trace(const char *name) {
    golden g;
    golden_open(&g, name, "scalar");
    stretto_error err = {0};
    st_trace trace = {.fn = see_trace, .arg = &g};
    st_chain *chain = fixture_chain(&g.f, "2", ST_KV_F32, 128, 64, 1, &trace);
    fixture_check(st_chain_forward(chain, g.ids, g.n, ST_WANT_LAST, NULL, NULL, &err), &err);
    printf("%-18s worst trace difference %.2g\n", name, g.worst_trace);
    if (g.trace_problem) fail_msg("%s: trace %s has another width", name, g.trace_problem);
    assert_true(g.worst_trace > 0);
    assert_true(g.worst_trace < F32_TOLERANCE);
    st_chain_close(chain);
    golden_close(&g);
}

/* ---- the list ---- */

static const char *const f32_models[] = {"tiny-llama-F32", "tiny-gemma3-F32", "tiny-qwen2-F32", "tiny-qwen3-F32",
                                         "tiny-gemma4-F32"};
static const char *const quantized_models[] = {"tiny-llama-Q4_1",  "tiny-llama-Q8_0",    "tiny-gemma3-Q4_0",
                                               "tiny-qwen2-F16",   "tiny-qwen3-Q5_0",    "tiny-gemma4-Q4_0",
                                               "tiny-gemma4-Q8_0", "tiny-gemma4w-Q4_K_M"};

static void for_each_kern(void (*check)(const char *, const char *), const char *const *names, size_t n) {
    const st_kern *tables[8];
    size_t n_tables = st_kern_list(tables, COUNT(tables));
    for (size_t t = FIRST_TABLE(n_tables); t < n_tables; t++)
        for (size_t i = 0; i < n; i++) check(names[i], tables[t]->name);
}

static void f32_matches(void **state) {
    (void)state;
    for_each_kern(check_f32, f32_models, COUNT(f32_models));
}

static void quantized_matches(void **state) {
    (void)state;
    for_each_kern(check_quantized, quantized_models, COUNT(quantized_models));
}

static void traces_match(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(f32_models); i++) check_trace(f32_models[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(f32_matches), cmocka_unit_test(traces_match),
                                       cmocka_unit_test(quantized_matches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
