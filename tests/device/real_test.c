/* SPDX-License-Identifier: MIT
 * The real models against llama.cpp on the same weights expanded to f32 (tests/golden/real-*.json): greedy ids as far
 * as the reference is sure of them, the same argmax teacher-forced, and the mean negative log likelihood of the long
 * prompt. Our activations are quantized to 8 bits, the reference's are not: that moves logits by up to MARGIN. */
#include "support/fixture.h"
#include "support/real_model.h"

#include <math.h>

#define MARGIN 0.7 /* the reference's top1 - top2 from which our argmax must agree */
#define NLL_TOLERANCE 0.01

static fixture f;
static json_t *json;
static const char *golden_name;

/* Mean negative log likelihood of tokens 1..n-1, and disagreements of argmax with the next id. */
typedef struct likelihood {
    const int32_t *ids;
    uint32_t n, width;
    double sum;
} likelihood;

static int add_likelihood(void *arg, uint32_t pos, const float *logits, int32_t argmax) {
    likelihood *l = arg;
    if (pos + 1 >= l->n) return 0;
    double sum = 0, top = (double)logits[argmax];
    for (uint32_t i = 0; i < l->width; i++) sum += exp((double)logits[i] - top);
    l->sum += log(sum) + top - (double)logits[l->ids[pos + 1]];
    return 0;
}

static double golden_nll(void) {
    json_t *all = golden_load("perplexity.json"), *row;
    size_t i;
    double found = NAN;
    json_array_foreach(json_object_get(all, "rows"), i, row) {
        if (!strcmp(json_string_value(json_object_get(row, "model")), golden_name) &&
            !strcmp(json_string_value(json_object_get(row, "which")), "dequantized_f32"))
            found = json_number_value(json_object_get(row, "mean_nll"));
    }
    json_decref(all);
    return found;
}

static void likelihood_matches(void **state) {
    (void)state;
    json_t *prompt;
    size_t i;
    json_array_foreach(json_object_get(json, "prompts"), i, prompt) {
        if (strcmp(json_string_value(json_object_get(prompt, "name")), "long")) continue;
        likelihood l = {.width = f.model->n_vocab};
        stretto_error err = {0};
        int32_t *ids = golden_ids(json_object_get(prompt, "ids"), &l.n);
        l.ids = ids;
        st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 2048, 32, 32, NULL);
        fixture_check(st_chain_forward(chain, ids, l.n, ST_WANT_ALL, add_likelihood, &l, &err), &err);
        double mean = l.sum / (l.n - 1), expected = golden_nll();
        printf("%s: mean nll %.5f, reference %.5f\n", golden_name, mean, expected);
        assert_true(fabs(mean - expected) < NLL_TOLERANCE);
        st_chain_close(chain);
        free(ids);
        return;
    }
    fail_msg("no long prompt");
}

/* Teacher-forced over the prompt and the reference's own greedy ids: the same argmax wherever it is sure. Up to the
 * first id that it is not sure of, this is what we generate too. */
static void forced_matches(const json_t *prompt) {
    const json_t *reference = json_object_get(prompt, "dequantized_f32");
    const json_t *greedy = json_object_get(reference, "greedy"), *margins = json_object_get(reference, "greedy_margin");
    uint32_t n, sure = 0;
    stretto_error err = {0};
    int32_t *ids = golden_ids(json_object_get(prompt, "ids"), &n);
    st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 2048, 0, 1, NULL);
    fixture_check(st_chain_forward(chain, ids, n, ST_WANT_LAST, NULL, NULL, &err), &err);
    for (size_t i = 0; i < json_array_size(greedy); i++) {
        int32_t id = (int32_t)json_integer_value(json_array_get(greedy, i));
        if (json_number_value(json_array_get(margins, i)) > MARGIN) {
            assert_int_equal(st_chain_argmax(chain), id);
            sure++;
        }
        fixture_check(st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, &err), &err);
    }
    printf("%s, %s: all %u sure ids agree\n", golden_name, json_string_value(json_object_get(prompt, "name")), sure);
    assert_true(sure > 0);
    st_chain_close(chain);
    free(ids);
}

static void ids_match(void **state) {
    (void)state;
    json_t *prompt;
    size_t i;
    json_array_foreach(json_object_get(json, "prompts"), i, prompt) forced_matches(prompt);
}

static int check(const char *name, const char *golden, const char *file) {
    char path[512];
    if (!test_real_model(file, path, sizeof path)) return TEST_SKIPPED;
    golden_name = name;
    json = golden_load(golden);
    fixture_open(&f, path, NULL);
    fixture_unit(&f, 0, 2);
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_match), cmocka_unit_test(likelihood_matches)};
    int failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    fixture_close(&f);
    json_decref(json);
    return failed;
}

int main(void) {
    int a = check("smollm2", "real-smollm2.json", TEST_SMOLLM2),
        b = check("gemma3-270m", "real-gemma3-270m.json", TEST_GEMMA3);
    if (a == TEST_SKIPPED && b == TEST_SKIPPED) return TEST_SKIPPED;
    return (a != TEST_SKIPPED && a) || (b != TEST_SKIPPED && b);
}
