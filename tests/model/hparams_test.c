/* SPDX-License-Identifier: MIT
 * What hyper-parameters mean that files may leave out, or write in more than one way. The expected answers are those of
 * llama.cpp for the same files. */
#include "model/copies.h"

#include <math.h>

typedef struct loaded {
    st_gguf *gguf;
    st_model *model;
} loaded;

static loaded load_copy(const char *name, const rewrite *r) {
    stretto_error err = {0};
    loaded l = {.gguf = open_copy(name, r)};
    if (load(l.gguf, &l.model, NULL, &err)) fail_msg("%s", err.text);
    return l;
}

static void unload(loaded *l) {
    st_model_free(l->model);
    st_gguf_close(l->gguf);
}

/* Positions of rope `which` of the copy are those of the original over `factor`. */
static void expect_stretched(const char *name, const rewrite *r, uint32_t which, float factor) {
    loaded plain = load_copy(name, &(rewrite){0}), changed = load_copy(name, r);
    const st_rope *a = &plain.model->ropes[which], *b = &changed.model->ropes[which];
    assert_true(a->n_pairs > 1);
    assert_int_equal(a->n_pairs, b->n_pairs);
    for (uint32_t i = 0; i < a->n_pairs; i++) assert_float_equal(b->inv_freq[i] * factor / a->inv_freq[i], 1.0f, 1e-5f);
    unload(&plain);
    unload(&changed);
}

static void a_factor_without_a_type_is_linear(void **state) {
    (void)state;
    expect_stretched("tiny-llama-F32", &(rewrite){.f32_key = "llama.rope.scaling.factor", .f32_value = 4}, 0, 4);
    expect_stretched("tiny-qwen2-F32", &(rewrite){.f32_key = "qwen2.rope.scaling.factor", .f32_value = 4}, 0, 4);
    expect_stretched("tiny-llama-F32", &(rewrite){.f32_key = "llama.rope.scaling.attn_factor", .f32_value = 1}, 0, 1);
    expect_stretched("tiny-llama-F32", &(rewrite){.f32_key = "llama.rope.scaling.factor", .f32_value = 0}, 0, 1);
}

static void the_old_key_of_a_factor(void **state) {
    (void)state;
    rewrite r = {.f32_key = "llama.rope.scale_linear", .f32_value = 2};
    expect_stretched("tiny-llama-F32", &r, 0, 2);
    r.string_key = "llama.rope.scaling.type";
    r.string_value = "linear";
    expect_stretched("tiny-llama-F32", &r, 0, 2);
    r.string_value = "none";
    expect_stretched("tiny-llama-F32", &r, 0, 1);
}

static void only_full_layers_are_stretched(void **state) {
    (void)state;
    const rewrite gemma3 = {.f32_key = "gemma3.rope.scaling.factor", .f32_value = 8};
    const rewrite gemma4 = {.f32_key = "gemma4.rope.scaling.factor", .f32_value = 8};
    for (uint32_t which = 0; which < 2; which++) {
        expect_stretched("tiny-gemma3-F32", &gemma3, which, which == 0 ? 8 : 1);
        expect_stretched("tiny-gemma4-F32", &gemma4, which, which == 0 ? 8 : 1);
    }
}

static void gemma4_caps_logits_unless_told_otherwise(void **state) {
    (void)state;
    static const char key[] = "gemma4.final_logit_softcapping";
    loaded said = load_copy("tiny-gemma4-F32", &(rewrite){.f32_key = key, .f32_value = 20});
    loaded silent = load_copy("tiny-gemma4-F32", &(rewrite){.drop_key = key});
    loaded none = load_copy("tiny-gemma4-F32", &(rewrite){.f32_key = key, .f32_value = 0});
    assert_float_equal(said.model->softcap, 20, 0);
    assert_float_equal(silent.model->softcap, 30, 0);
    assert_float_equal(none.model->softcap, 0, 0);
    unload(&said);
    unload(&silent);
    unload(&none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_without_a_type_is_linear),
        cmocka_unit_test(the_old_key_of_a_factor),
        cmocka_unit_test(only_full_layers_are_stretched),
        cmocka_unit_test(gemma4_caps_logits_unless_told_otherwise),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
