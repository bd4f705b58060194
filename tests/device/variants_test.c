/* SPDX-License-Identifier: MIT
 * Files that differ from the fixtures in one thing, against others that must give the same. */
#include "support/fixture.h"
#include "support/rewrite.h"

#include <unistd.h>

/* Logits of the last of the fixture's ids, from a changed copy of the model. */
static float *last_logits(const char *name, const rewrite *change, uint32_t *n_full) {
    char original[512], copy[64], file[128];
    stretto_error err = {0};
    st_gguf *g = NULL;
    fixture f;
    uint32_t n;
    snprintf(original, sizeof original, "%s/%s.gguf", ST_GOLDEN, name);
    snprintf(copy, sizeof copy, "/tmp/stretto-variant-%d.gguf", (int)getpid());
    snprintf(file, sizeof file, "%s.json", name);
    fixture_check(st_gguf_open(&g, original, NULL, &err), &err);
    rewrite_file(g, copy, change);
    st_gguf_close(g);
    fixture_open(&f, copy, NULL);
    unlink(copy);
    fixture_unit(&f, 0, 1);
    json_t *json = golden_load(file);
    int32_t *ids = golden_ids(json_object_get(json, "ids"), &n);
    st_chain *chain = fixture_chain(&f, NULL, ST_KV_F32, 64, 0, 1, NULL);
    fixture_check(st_chain_forward(chain, ids, n, ST_WANT_LAST, NULL, NULL, &err), &err);
    *n_full = 0;
    for (uint32_t i = 0; i < f.model->n_layers; i++) *n_full += f.model->layers[i].window == 0;
    float *logits = malloc(f.model->n_vocab * sizeof *logits);
    assert_non_null(logits);
    memcpy(logits, st_chain_logits(chain), f.model->n_vocab * sizeof *logits);
    st_chain_close(chain);
    free(ids);
    json_decref(json);
    fixture_close(&f);
    return logits;
}

/* A window in the metadata concerns the layers that slide and no others: a file that has one but only full layers runs
 * as if every window were wider than the context. */
static void only_full_layers(void **state) {
    (void)state;
    uint32_t full, none;
    /* Every first layer is full, against windows that nothing reaches with the full layers' rotary base everywhere. */
    float *a = last_logits("tiny-gemma3-F32",
                           &(rewrite){.u32_key = "gemma3.attention.sliding_window_pattern", .u32_value = 1}, &full);
    float *b = last_logits("tiny-gemma3-F32",
                           &(rewrite){.u32_key = "gemma3.attention.sliding_window",
                                      .u32_value = 4096,
                                      .f32_key = "gemma3.rope.freq_base_swa",
                                      .f32_value = 1e6f},
                           &none);
    float *sliding = last_logits("tiny-gemma3-F32", &(rewrite){0}, &none);
    assert_int_equal(full, 8);
    assert_int_equal(none, 1);
    assert_memory_equal(a, b, 448 * sizeof *a);
    assert_memory_not_equal(a, sliding, 448 * sizeof *a);
    free(a);
    free(b);
    free(sliding);
}

/* An architecture without sliding layers does not care for the key. */
static void window_of_a_llama(void **state) {
    (void)state;
    uint32_t full;
    float *a =
        last_logits("tiny-llama-F32", &(rewrite){.u32_key = "llama.attention.sliding_window", .u32_value = 8}, &full);
    assert_int_equal(full, 4);
    float *b = last_logits("tiny-llama-F32", &(rewrite){0}, &full);
    assert_memory_equal(a, b, 448 * sizeof *a);
    free(a);
    free(b);
}

/* A full layer of Gemma 4 that has no matrix for values takes the keys, as its larger models do: as if the file had the
 * same matrix twice. */
static void values_from_keys(void **state) {
    (void)state;
    static const char keys[] = "blk.2.attn_k.weight", values[] = "blk.2.attn_v.weight";
    uint32_t full;
    float *without = last_logits("tiny-gemma4-F32", &(rewrite){.drop_tensor = values}, &full);
    float *twice = last_logits("tiny-gemma4-F32", &(rewrite){.fill_tensor = values, .fill_from = keys}, &full);
    float *plain = last_logits("tiny-gemma4-F32", &(rewrite){0}, &full);
    assert_memory_equal(without, twice, 448 * sizeof *twice);
    assert_memory_not_equal(without, plain, 448 * sizeof *plain);
    free(without);
    free(twice);
    free(plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_full_layers),
        cmocka_unit_test(window_of_a_llama),
        cmocka_unit_test(values_from_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
