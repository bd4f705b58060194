/* SPDX-License-Identifier: MIT
 * Which tensors a synthetic file has and which metadata: names, keys and shapes as llama.cpp's converter writes them.
 *
 * Weights are drawn so that activations stay near 1 through any number of layers: a matrix has standard deviation
 * 1/sqrt(fan-in), so that normed input gives output of variance 1; norms multiply by about 1. Gemma's embedding is
 * scaled by sqrt(d_model) when read, so 1/sqrt(d_model) suits all of them, and a tied head gives logits of variance 1.
 */
#include "gguf/gguf.h"
#include "model/synth_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

/* What rows that are not whole blocks are written as; llama.cpp's quantizer falls back the same way. */
static uint32_t smaller_block(uint32_t type) {
    switch (type) {
    case ST_Q2_K:
    case ST_Q3_K:
        return ST_Q4_0;
    case ST_Q4_K:
        return ST_Q5_0;
    case ST_Q5_K:
        return ST_Q5_1;
    case ST_Q6_K:
        return ST_Q8_0;
    case ST_IQ4_XS:
        return ST_IQ4_NL;
    default:
        return ST_F16;
    }
}

static synth_tensor *plan_add(synth_plan *plan) {
    if (plan->failed) return NULL;
    if (plan->n == plan->cap) {
        size_t cap = plan->cap ? 2 * plan->cap : 256;
        synth_tensor *grown = realloc(plan->tensors, cap * sizeof *grown);
        if (!grown) {
            plan->failed = true;
            return NULL;
        }
        plan->tensors = grown;
        plan->cap = cap;
    }
    synth_tensor *t = &plan->tensors[plan->n++];
    *t = (synth_tensor){.type = ST_F32, .n_dims = 1, .rows = 1};
    return t;
}

/* PREFIX is "" or "blk.N."; the tensor is called PREFIX + part + ".weight". */
static void add_matrix(synth_plan *plan, const char *prefix, const char *part, uint32_t type, uint64_t cols,
                       uint64_t rows) {
    synth_tensor *t = plan_add(plan);
    if (!t) return;
    snprintf(t->name, sizeof t->name, "%s%s.weight", prefix, part);
    t->type = type;
    while (cols % st_type_find(t->type)->block_len) {
        t->type = smaller_block(t->type);
        t->fell_back = true;
    }
    t->n_dims = 2;
    t->cols = cols;
    t->rows = rows;
    t->content = SYNTH_WEIGHT;
    t->a = 1.0f / sqrtf((float)cols);
}

static void add_vector(synth_plan *plan, const char *prefix, const char *part, uint64_t n, enum synth_content content,
                       float lo, float hi) {
    synth_tensor *t = plan_add(plan);
    if (!t) return;
    snprintf(t->name, sizeof t->name, "%s%s.weight", prefix, part);
    t->cols = n;
    t->content = content;
    t->a = lo;
    t->b = hi;
}

static void add_norm(synth_plan *plan, const char *prefix, const char *part, uint64_t n, float around) {
    add_vector(plan, prefix, part, n, SYNTH_GAIN, 0.8f * around, 1.2f * around);
}

static void plan_attention(synth_plan *plan, const synth_shape *s, const char *blk, uint32_t layer, uint32_t type) {
    uint32_t hd = st_synth_slides(s, layer) ? s->head_dim_swa : s->head_dim;
    add_norm(plan, blk, "attn_norm", s->d_model, 1.0f);
    add_matrix(plan, blk, "attn_q", type, s->d_model, (uint64_t)s->n_heads * hd);
    add_matrix(plan, blk, "attn_k", type, s->d_model, (uint64_t)s->n_kv_heads * hd);
    add_matrix(plan, blk, "attn_v", type, s->d_model, (uint64_t)s->n_kv_heads * hd);
    add_matrix(plan, blk, "attn_output", type, (uint64_t)s->n_heads * hd, s->d_model);
    if (strcmp(s->arch, "llama") == 0) return;
    /* Gemma 4 does not scale its scores, so its norms do: two vectors of norm hd^(1/4) have products near 1. */
    float around = s->vocab == SYNTH_GEMMA4 ? 1.0f / sqrtf(sqrtf((float)hd)) : 1.0f;
    add_norm(plan, blk, "attn_q_norm", hd, around);
    add_norm(plan, blk, "attn_k_norm", hd, around);
}

static void plan_layer(synth_plan *plan, const synth_shape *s, uint32_t layer, uint32_t type) {
    char blk[24];
    snprintf(blk, sizeof blk, "blk.%u.", layer);
    bool gemma = strncmp(s->arch, "gemma", 5) == 0;
    uint64_t ff = (uint64_t)s->n_ff * (layer >= s->n_layers - s->n_shared ? s->wide : 1);
    plan_attention(plan, s, blk, layer, type);
    if (gemma) add_norm(plan, blk, "post_attention_norm", s->d_model, 1.0f);
    add_norm(plan, blk, "ffn_norm", s->d_model, 1.0f);
    add_matrix(plan, blk, "ffn_gate", type, s->d_model, ff);
    add_matrix(plan, blk, "ffn_up", type, s->d_model, ff);
    add_matrix(plan, blk, "ffn_down", type, ff, s->d_model);
    if (gemma) add_norm(plan, blk, "post_ffw_norm", s->d_model, 1.0f);
    if (!s->d_ple) return;
    add_matrix(plan, blk, "inp_gate", type, s->d_model, s->d_ple);
    add_matrix(plan, blk, "proj", type, s->d_ple, s->d_model);
    add_norm(plan, blk, "post_norm", s->d_model, 1.0f);
    add_vector(plan, blk, "layer_output_scale", 1, SYNTH_GAIN, 0.9f, 1.05f);
}

void st_synth_plan(synth_plan *plan, const synth_shape *s, uint32_t type) {
    if (s->rope_factor > 0)
        add_vector(plan, "", "rope_freqs", s->head_dim / 2, SYNTH_ROPE_LLAMA3, s->rope_factor, s->rope_base);
    if (s->d_ple) add_vector(plan, "", "rope_freqs", s->head_dim / 2, SYNTH_ROPE_PART, 0, 0);
    add_matrix(plan, "", "token_embd", type, s->d_model, s->n_vocab);
    if (s->d_ple) {
        uint64_t width = (uint64_t)s->n_layers * s->d_ple;
        add_matrix(plan, "", "per_layer_token_embd", type, width, s->n_vocab);
        if (!plan->failed) plan->tensors[plan->n - 1].a = 1.0f / sqrtf((float)s->d_ple); /* read times sqrt(d_ple) */
        /* Quantizers leave this one alone: BF16 in real files. */
        add_matrix(plan, "", "per_layer_model_proj", type == ST_F32 || type == ST_F16 ? type : ST_BF16, s->d_model,
                   width);
        add_norm(plan, "", "per_layer_proj_norm", s->d_ple, 1.0f);
    }
    for (uint32_t i = 0; i < s->n_layers; i++) plan_layer(plan, s, i, type);
    add_norm(plan, "", "output_norm", s->d_model, 1.0f);
}

/* ---- metadata ---- */

typedef struct keys {
    st_gguf_writer *w;
    const char *arch;
    char key[96];
} keys;

static const char *key_of(keys *k, const char *suffix) {
    snprintf(k->key, sizeof k->key, "%s.%s", k->arch, suffix);
    return k->key;
}
static void put_u32(keys *k, const char *suffix, uint32_t value) {
    st_writer_u32(k->w, key_of(k, suffix), value);
}
static void put_f32(keys *k, const char *suffix, float value) {
    st_writer_f32(k->w, key_of(k, suffix), value);
}

/* llama.cpp's llama_ftype, which is only for people to read. */
static uint32_t file_type(uint32_t type) {
    /* clang-format off */
    static const struct { uint8_t type, file; } table[] = {
        {ST_F32, 0}, {ST_F16, 1}, {ST_Q4_0, 2}, {ST_Q4_1, 3}, {ST_Q8_0, 7}, {ST_Q5_0, 8}, {ST_Q5_1, 9}, {ST_Q2_K, 10},
        {ST_Q3_K, 11}, {ST_Q4_K, 14}, {ST_Q5_K, 16}, {ST_Q6_K, 18}, {ST_IQ4_NL, 25}, {ST_IQ4_XS, 30}, {ST_BF16, 32},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].type == type) return table[i].file;
    return 1024; /* guessed */
}

static void put_gemma4(keys *k, const synth_shape *s) {
    int32_t ff[SYNTH_MAX_LAYERS];
    uint8_t slides[SYNTH_MAX_LAYERS]; /* bools of a GGUF file are bytes */
    for (uint32_t i = 0; i < s->n_layers; i++) {
        ff[i] = (int32_t)(s->n_ff * (i >= s->n_layers - s->n_shared ? s->wide : 1));
        slides[i] = st_synth_slides(s, i);
    }
    if (s->wide > 1)
        st_writer_array(k->w, key_of(k, "feed_forward_length"), ST_V_I32, ff, s->n_layers);
    else
        put_u32(k, "feed_forward_length", s->n_ff);
    st_writer_array(k->w, key_of(k, "attention.sliding_window_pattern"), ST_V_BOOL, slides, s->n_layers);
    put_u32(k, "attention.key_length_swa", s->head_dim_swa);
    put_u32(k, "attention.value_length_swa", s->head_dim_swa);
    put_u32(k, "attention.shared_kv_layers", s->n_shared);
    put_u32(k, "embedding_length_per_layer_input", s->d_ple);
    put_u32(k, "rope.dimension_count", s->head_dim);
    put_u32(k, "rope.dimension_count_swa", s->head_dim_swa);
    put_f32(k, "rope.freq_base_swa", s->rope_base_swa);
    put_f32(k, "final_logit_softcapping", s->softcap);
}

void st_synth_metadata(st_gguf_writer *w, const synth_shape *s, const st_synth_options *options) {
    keys k = {.w = w, .arch = s->arch};
    char name[96];
    int n = snprintf(name, sizeof name, "%s synthetic, seed %llu", s->name, (unsigned long long)options->seed);
    st_writer_string(w, "general.architecture", s->arch, strlen(s->arch));
    st_writer_string(w, "general.type", "model", 5);
    st_writer_string(w, "general.name", name, (size_t)n);
    st_writer_u32(w, "general.file_type", file_type(options->type));
    st_writer_u32(w, "general.quantization_version", 2);
    put_u32(&k, "block_count", s->n_layers);
    put_u32(&k, "context_length", s->n_ctx);
    put_u32(&k, "embedding_length", s->d_model);
    put_u32(&k, "vocab_size", s->n_vocab);
    put_u32(&k, "attention.head_count", s->n_heads);
    put_u32(&k, "attention.head_count_kv", s->n_kv_heads);
    put_u32(&k, "attention.key_length", s->head_dim);
    put_u32(&k, "attention.value_length", s->head_dim);
    put_f32(&k, "attention.layer_norm_rms_epsilon", s->eps);
    put_f32(&k, "rope.freq_base", s->rope_base);
    if (s->window) put_u32(&k, "attention.sliding_window", s->window);
    if (s->vocab == SYNTH_GEMMA4) {
        put_gemma4(&k, s);
        return;
    }
    put_u32(&k, "feed_forward_length", s->n_ff);
    if (strcmp(s->arch, "llama") == 0) put_u32(&k, "rope.dimension_count", s->head_dim);
}
