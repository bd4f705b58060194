/* SPDX-License-Identifier: MIT
 * Files whose shapes contradict their own metadata, that lack something, or hold weights that are no numbers: each is
 * refused by name. What loads is checked against what the fixture says of itself. */
#include "model/copies.h"

#include <math.h>

/* The changed copy of a fixture must be refused with all of these words in the reason. */
static void refused(const char *name, const rewrite *r, const char *const *words) {
    st_gguf *g = open_copy(name, r);
    stretto_error err = {0};
    st_model *model = NULL;
    assert_int_equal(load(g, &model, NULL, &err), STRETTO_E_INPUT);
    assert_null(model);
    for (; *words; words++)
        if (!strstr(err.text, *words)) fail_msg("\"%s\" lacks \"%s\"", err.text, *words);
    st_gguf_close(g);
}
#define REFUSED(name, change, ...) refused(name, &(rewrite)change, (const char *const[]){__VA_ARGS__, NULL})
#define CHANGE(...)                                                                                                    \
    { __VA_ARGS__ }

static void shapes_that_contradict(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.cut_tensor = "blk.1.attn_k.weight"), "blk.1.attn_k.weight", "64 x 31", "64 x 32");
    REFUSED("tiny-llama-F32", CHANGE(.cut_tensor = "blk.3.ffn_norm.weight"), "blk.3.ffn_norm.weight", "63", "64");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.feed_forward_length", .u32_value = 256), "blk.0.ffn_gate.weight",
            "64 x 128", "64 x 256");
    REFUSED("tiny-gemma3-F32", CHANGE(.u32_key = "gemma3.embedding_length", .u32_value = 128), "token_embd.weight",
            "64 x 448", "128 x 448");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.attention.head_count_kv", .u32_value = 1),
            "blk.0.attn_k.weight");
    REFUSED("tiny-gemma3-F32", CHANGE(.cut_tensor = "blk.2.attn_q_norm.weight"), "blk.2.attn_q_norm.weight");
    REFUSED("tiny-gemma4-F32", CHANGE(.cut_tensor = "per_layer_token_embd.weight"), "per_layer_token_embd.weight");
    REFUSED("tiny-gemma4-F32", CHANGE(.u32_key = "gemma4.attention.shared_kv_layers", .u32_value = 9),
            "shared_kv_layers");
    REFUSED("tiny-llama-F32", CHANGE(.cut_tensor = "token_embd.weight"), "token_embd.weight", "447", "vocab_size",
            "448");
    REFUSED("tiny-gemma4-F32", CHANGE(.u32_key = "gemma4.vocab_size", .u32_value = 400), "token_embd.weight", "448",
            "400");
}

/* Layers and tables that the metadata leave out would otherwise be left out without a word. */
static void more_than_counted(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.block_count", .u32_value = 3), "blk.3.", "layer 3",
            "block_count", "3");
    REFUSED("tiny-qwen2-F32", CHANGE(.u32_key = "qwen2.block_count", .u32_value = 1), "blk.", "qwen2.block_count", "1");
    REFUSED("tiny-qwen3-F32", CHANGE(.u32_key = "qwen3.block_count", .u32_value = 2), "blk.", "qwen3.block_count", "2");
    REFUSED("tiny-gemma3-F32", CHANGE(.u32_key = "gemma3.block_count", .u32_value = 7), "blk.7.", "gemma3.block_count");
    REFUSED("tiny-gemma4-F32", CHANGE(.u32_key = "gemma4.embedding_length_per_layer_input", .u32_value = 0),
            "per_layer_token_embd.weight", "embedding_length_per_layer_input");
    REFUSED("tiny-gemma4-F32", CHANGE(.drop_key = "gemma4.embedding_length_per_layer_input"),
            "per_layer_token_embd.weight", "missing");
}

static void missing_parts(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.drop_tensor = "blk.2.attn_v.weight"), "blk.2.attn_v.weight");
    REFUSED("tiny-llama-F32", CHANGE(.drop_tensor = "token_embd.weight"), "token_embd.weight");
    REFUSED("tiny-llama-F32", CHANGE(.drop_tensor = "output_norm.weight"), "output_norm.weight");
    REFUSED("tiny-qwen2-F32", CHANGE(.drop_tensor = "blk.0.attn_q.bias"), "blk.0.attn_q.bias");
    REFUSED("tiny-gemma4-F32", CHANGE(.drop_tensor = "rope_freqs.weight"), "rope_freqs.weight");
    REFUSED("tiny-gemma4-F32", CHANGE(.drop_tensor = "blk.1.attn_v.weight"), "blk.1.attn_v.weight");
    REFUSED("tiny-llama-F32", CHANGE(.string_key = "llama.rope.scaling.type", .string_value = "linear"),
            "llama.rope.scaling.factor is missing");
    REFUSED("tiny-llama-F32", CHANGE(.drop_key = "llama.block_count"), "llama.block_count");
    REFUSED("tiny-llama-F32", CHANGE(.drop_key = "general.architecture"), "general.architecture");
    REFUSED("tiny-gemma3-F32", CHANGE(.drop_key = "gemma3.attention.sliding_window"),
            "gemma3.attention.sliding_window");
}

/* Whatever a part lacks, what is wrong with it is that it is one. */
static void parts_of_models(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "split.count", .u32_value = 3), "part 1 of 3", "--merge");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "split.count", .u32_value = 2, .drop_tensor = "output_norm.weight"),
            "part 1 of 2");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "split.count", .u32_value = 2, .drop_key = "general.architecture"),
            "part 1 of 2");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "split.count", .u32_value = 1, .drop_tensor = "output_norm.weight"),
            "output_norm.weight is missing");
}

static void senseless_numbers(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.block_count", .u32_value = 4000000000u), "block_count",
            "4000000000");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.block_count", .u32_value = 0), "block_count is 0", "at least 1");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.attention.head_count", .u32_value = 0), "head_count");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.attention.head_count_kv", .u32_value = 3), "multiple");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.attention.head_count", .u32_value = 4294967295u), "head_count");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.rope.dimension_count", .u32_value = 6), "rope.dimension_count");
    REFUSED("tiny-llama-F32", CHANGE(.u32_key = "llama.expert_count", .u32_value = 8), "expert_count",
            "mixtures of experts");
    REFUSED("tiny-llama-F32", CHANGE(.f32_key = "llama.rope.freq_base", .f32_value = -1.0f), "rope base");
    REFUSED("tiny-llama-F32", CHANGE(.string_key = "llama.rope.scaling.type", .string_value = "yarn"),
            "rope.scaling.type", "yarn");
    REFUSED("tiny-gemma4-F32", CHANGE(.string_key = "gemma4.rope.scaling.type", .string_value = "yarn"),
            "rope.scaling.type", "yarn");
    REFUSED("tiny-llama-F32", CHANGE(.f32_key = "llama.rope.scaling.factor", .f32_value = -1), "scaling.factor is -1");
    REFUSED("tiny-llama-F32", CHANGE(.f32_key = "llama.rope.scale_linear", .f32_value = -2), "scale_linear is -2");
    REFUSED("tiny-llama-F32", CHANGE(.f32_key = "llama.rope.scaling.attn_factor", .f32_value = 1.5f),
            "attn_factor is 1.5", "expected 1");
    REFUSED("tiny-llama-F32", CHANGE(.f32_key = "llama.rope.freq_base", .f32_value = 1e-45f), "base 1.4", "finite");
    REFUSED("tiny-gemma3-F32", CHANGE(.u32_key = "gemma3.rope.dimension_count", .u32_value = 8), "rope.dimension_count",
            "8");
    REFUSED("tiny-gemma4-F32", CHANGE(.u32_key = "gemma4.rope.dimension_count", .u32_value = 16),
            "rope.dimension_count is 16", "head size of 32");
    REFUSED("tiny-gemma4-F32", CHANGE(.u32_key = "gemma4.rope.dimension_count_swa", .u32_value = 32),
            "rope.dimension_count_swa is 32", "head size of 16");
    REFUSED("tiny-gemma4-F32", CHANGE(.poison_tensor = "rope_freqs.weight", .poison_at = 2), "rope_freqs.weight");
    REFUSED("tiny-gemma4-F32", CHANGE(.f32_key = "gemma4.final_logit_softcapping", .f32_value = NAN),
            "softcapping is nan");
    REFUSED("tiny-gemma4-F32", CHANGE(.f32_key = "gemma4.final_logit_softcapping", .f32_value = -30),
            "softcapping is -30");
    REFUSED("tiny-gemma3-F32", CHANGE(.f32_key = "gemma3.final_logit_softcapping", .f32_value = INFINITY),
            "softcapping is inf");
    REFUSED("tiny-gemma3-F32", CHANGE(.u32_key = "gemma3.attention.sliding_window", .u32_value = 0), "sliding_window");
    REFUSED("tiny-gemma3-F32", CHANGE(.u32_key = "gemma3.attention.key_length", .u32_value = 33), "key_length");
    REFUSED("tiny-llama-F32", CHANGE(.string_key = "llama.block_count", .string_value = "four"), "llama.block_count",
            "string");
}

static void unknown_architecture(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.string_key = "general.architecture", .string_value = "mamba"), "\"mamba\"",
            "llama, qwen2, qwen3, gemma3, gemma4");
}

static void weights_that_are_no_numbers(void **state) {
    (void)state;
    /* bytes 80 7f are the upper half of an infinite f32, and as f16 a NaN */
    REFUSED("tiny-llama-F32", CHANGE(.poison_tensor = "blk.1.ffn_up.weight", .poison_at = 64 * 4 * 5 + 2),
            "blk.1.ffn_up.weight", "row 5");
    REFUSED("tiny-llama-F32", CHANGE(.poison_tensor = "blk.1.ffn_norm.weight", .poison_at = 10),
            "blk.1.ffn_norm.weight");
    REFUSED("tiny-qwen2-F16", CHANGE(.poison_tensor = "blk.0.attn_q.weight", .poison_at = 0), "blk.0.attn_q.weight",
            "row 0");
    REFUSED("tiny-llama-Q4_1", CHANGE(.poison_tensor = "blk.0.attn_q.weight", .poison_at = 2), "blk.0.attn_q.weight");
    REFUSED("tiny-llama-Q8_0", CHANGE(.poison_tensor = "token_embd.weight", .poison_at = 68), "token_embd.weight",
            "row 1");
}

static void types_without_kernels(void **state) {
    (void)state;
    REFUSED("tiny-llama-F32", CHANGE(.retype_tensor = "blk.0.attn_q.weight", .retype = ST_I8), "blk.0.attn_q.weight",
            "I8");
}

static void loads(void **state) {
    (void)state;
    st_gguf *g = open_golden("tiny-gemma4-F32");
    st_model *m = NULL;
    stretto_error err = {0};
    if (load(g, &m, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(m->n_layers, 9);
    assert_int_equal(m->layers[0].window, 16);
    assert_int_equal(m->layers[2].window, 0);
    assert_int_equal(m->layers[0].head_dim, 16);
    assert_int_equal(m->layers[2].head_dim, 32);
    assert_int_equal(m->layers[6].kv_layer, 4);
    assert_int_equal(m->layers[7].kv_layer, 4);
    assert_int_equal(m->layers[8].kv_layer, 5);
    assert_int_equal(m->layers[6].k.rows, 0);
    assert_int_equal(m->layers[8].n_ff, 128);
    assert_true(m->tied);
    assert_int_equal(m->ropes[0].n_pairs, 4); /* a quarter of the 16 pairs of a full layer turn */
    st_model_free(m);
    st_gguf_close(g);
}

typedef struct heard {
    char text[512];
} heard;

static void listen(void *arg, enum st_log_level level, const char *text) {
    if (level == ST_LOG_WARN) snprintf(((heard *)arg)->text, sizeof((heard *)arg)->text, "%s", text);
}

/* The changed copy loads, and what it was warned of has these words. */
static void warned(const char *name, const rewrite *r, uint32_t n_vocab, const char *words) {
    st_gguf *original = open_golden(name), *g = NULL;
    st_model *m = NULL;
    stretto_error err = {0};
    heard h = {""};
    st_log log = {listen, &h};
    rewrite_file(original, path, r);
    st_gguf_close(original);
    if (st_gguf_open(&g, path, NULL, &err)) fail_msg("%s", err.text);
    if (load(g, &m, &log, &err)) fail_msg("%s", err.text);
    assert_int_equal(m->n_vocab, n_vocab);
    if (!strstr(h.text, words)) fail_msg("\"%s\" lacks \"%s\"", h.text, words);
    st_model_free(m);
    st_gguf_close(g);
}

/* A count of tokens that is not that of the embedding's rows is odd, but it can run. */
static void token_count_warns(void **state) {
    (void)state;
    warned("tiny-llama-F32", &(rewrite){.cut_tensor = "token_embd.weight", .drop_key = "llama.vocab_size"}, 447,
           "tokenizer.ggml.tokens has 448 entries");
}

/* Biases in an architecture without, or a head beside the tied one, say that the file is of a kind not known here. */
static void spare_tensors_warn(void **state) {
    (void)state;
    warned("tiny-qwen2-F32", &(rewrite){.add_tensor = "blk.1.attn_sinks.weight"}, 448,
           "1 tensor that nothing here reads, the first is blk.1.attn_sinks.weight");
    st_gguf *g = open_golden("tiny-gemma4-F32");
    st_model *m = NULL;
    stretto_error err = {0};
    heard h = {""};
    st_log log = {listen, &h};
    assert_non_null(st_gguf_tensor(g, "blk.6.attn_k.weight")); /* of a layer that borrows: every such file has them */
    if (load(g, &m, &log, &err)) fail_msg("%s", err.text);
    assert_string_equal(h.text, "");
    st_model_free(m);
    st_gguf_close(g);
}

/* The system ends a process that packs more than there is room for, without a word. */
static void more_weights_than_memory(void **state) {
    (void)state;
    st_gguf *g = open_golden("tiny-llama-F32");
    stretto_error err = {0};
    st_model *m = NULL;
    st_model_options options = {.memory = 100000};
    assert_int_equal(st_kern_select(&options.kern, NULL, &err), 0);
    assert_int_equal(st_model_load(&m, g, &options, &err), STRETTO_E_MEMORY);
    assert_null(m);
    assert_non_null(strstr(err.text, "tiny-llama-F32.gguf: the weights take "));
    assert_non_null(strstr(err.text, "100,000 bytes"));
    options.shapes_only = true; /* takes no memory to speak of */
    assert_int_equal(st_model_load(&m, g, &options, &err), 0);
    st_model_free(m);
    options = (st_model_options){.kern = options.kern, .memory = 100000000};
    assert_int_equal(st_model_load(&m, g, &options, &err), 0);
    st_model_free(m);
    st_gguf_close(g);
}

/* Loading can take minutes. */
static void stopped_while_packing(void **state) {
    (void)state;
    atomic_bool stop = true;
    st_gguf *g = open_golden("tiny-llama-F32");
    stretto_error err = {0};
    st_model *m = NULL;
    st_pool *pool = NULL;
    st_pool_options pool_options = {.count = 2};
    st_model_options options = {.stop = &stop};
    assert_int_equal(st_kern_select(&options.kern, NULL, &err), 0);
    assert_int_equal(st_pool_create(&pool, &pool_options, &err), 0);
    for (int i = 0; i < 2; i++) {
        options.pool = i ? pool : NULL;
        assert_int_equal(st_model_load(&m, g, &options, &err), STRETTO_E_STOPPED);
        assert_null(m);
        assert_non_null(strstr(err.text, "interrupted while loading"));
    }
    stop = false;
    assert_int_equal(st_model_load(&m, g, &options, &err), 0);
    st_model_free(m);
    st_pool_destroy(pool);
    st_gguf_close(g);
}

/* NaN in row `first` of the head, and in row `others` of every other matrix, of a file in memory. */
static void spoil(const st_gguf *g, uint32_t first, uint32_t others) {
    for (size_t i = 0; i < g->n_tensors; i++) {
        const st_tensor *t = &g->tensors[i];
        uint32_t row = strncmp(t->name.data, "token_embd", 10) == 0 ? first : others;
        if (t->n_dims == 2) memset((uint8_t *)t->data + row * (t->bytes / t->dims[1]), 0xff, 4);
    }
}

/* Workers may find many such weights at once: the first in the order of loading is told of. */
static void the_first_of_many_is_named(void **state) {
    (void)state;
    st_gguf *file = open_golden("tiny-llama-F32"), *g = NULL;
    stretto_error err = {0};
    st_pool *pool = NULL;
    const st_kern *kern = NULL;
    uint8_t *bytes = malloc(file->size);
    assert_non_null(bytes);
    assert_int_equal(st_kern_select(&kern, NULL, &err), 0);
    assert_int_equal(st_pool_create(&pool, &(st_pool_options){.count = 4}, &err), 0);
    for (int i = 0; i < 40; i++) {
        memcpy(bytes, file->base, file->size);
        assert_int_equal(st_gguf_parse(&g, bytes, file->size, "spoilt", NULL, &err), 0);
        spoil(g, i % 2 ? 447 : 1, 2);
        st_model *model = NULL;
        const st_model_options options = {.kern = kern, .pool = pool};
        assert_int_equal(st_model_load(&model, g, &options, &err), STRETTO_E_INPUT);
        const char *wanted = i % 2 ? "tensor token_embd.weight has a weight that is not a finite number, in row 447"
                                   : "tensor token_embd.weight has a weight that is not a finite number, in row 1";
        if (!strstr(err.text, wanted)) fail_msg("%d: \"%s\" lacks \"%s\"", i, err.text, wanted);
        st_gguf_close(g);
    }
    st_pool_destroy(pool);
    st_gguf_close(file);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_contradict),
        cmocka_unit_test(more_than_counted),
        cmocka_unit_test(missing_parts),
        cmocka_unit_test(parts_of_models),
        cmocka_unit_test(senseless_numbers),
        cmocka_unit_test(unknown_architecture),
        cmocka_unit_test(weights_that_are_no_numbers),
        cmocka_unit_test(types_without_kernels),
        cmocka_unit_test(loads),
        cmocka_unit_test(more_weights_than_memory),
        cmocka_unit_test(stopped_while_packing),
        cmocka_unit_test(the_first_of_many_is_named),
        cmocka_unit_test(token_count_warns),
        cmocka_unit_test(spare_tensors_warn),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
