/* SPDX-License-Identifier: MIT */
#include "model/hparams.h"

#include "base/error.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADS 1024
#define MAX_HEAD_DIM 1024

int st_hparams_refuse(const st_binder *bind, stretto_error *err, const char *suffix, uint64_t found,
                      const char *wanted) {
    return st_fail(err, STRETTO_E_INPUT, "%s: %s.%s is %" PRIu64 ", expected %s", bind->gguf->path,
                   st_model_arch_name(bind->model), suffix, found, wanted);
}

/* The widths; every one is bounded by the file before anything is sized with it. */
static int read_widths(st_binder *bind, stretto_error *err) {
    st_model *m = bind->model;
    int code;
    if ((code = st_hparam_u32(bind, "block_count", true, &m->n_layers, err))) return code;
    if (m->n_layers == 0) return st_hparams_refuse(bind, err, "block_count", 0, "at least 1");
    if (m->n_layers > bind->gguf->n_tensors)
        return st_fail(err, STRETTO_E_INPUT, "%s: %s.block_count is %u, but the file has only %zu tensors",
                       bind->gguf->path, st_model_arch_name(m), m->n_layers, bind->gguf->n_tensors);
    if ((code = st_hparam_u32(bind, "embedding_length", true, &m->d_model, err))) return code;
    if (m->d_model == 0 || m->d_model > (1u << 20))
        return st_hparams_refuse(bind, err, "embedding_length", m->d_model, "1 to 1048576");
    if ((code = st_hparam_u32(bind, "context_length", false, &m->n_ctx_train, err))) return code;
    if ((code = st_hparam_f32(bind, "attention.layer_norm_rms_epsilon", true, &m->eps, err))) return code;
    if (!(m->eps >= 0.0f && m->eps < 1.0f))
        return st_fail(err, STRETTO_E_INPUT, "%s: %s.attention.layer_norm_rms_epsilon is %g, expected 0 to 1",
                       bind->gguf->path, st_model_arch_name(m), (double)m->eps);
    uint32_t experts = 0;
    if ((code = st_hparam_u32(bind, "expert_count", false, &experts, err))) return code;
    if (experts)
        return st_hparams_refuse(bind, err, "expert_count", experts, "0: mixtures of experts are not supported");
    return 0;
}

static int read_vocab(st_binder *bind, stretto_error *err) {
    const st_tensor *embed = NULL;
    int code = st_tensor_require(bind->gguf, "token_embd.weight", &embed, err);
    if (code) return code;
    if (embed->dims[1] == 0 || embed->dims[1] > INT32_MAX / 2)
        return st_fail(err, STRETTO_E_INPUT, "%s: tensor token_embd.weight has %" PRIu64 " rows, expected 1 to %d",
                       bind->gguf->path, embed->dims[1], INT32_MAX / 2);
    bind->model->n_vocab = (uint32_t)embed->dims[1];
    uint32_t said = bind->model->n_vocab;
    if ((code = st_hparam_u32(bind, "vocab_size", false, &said, err))) return code;
    if (said != bind->model->n_vocab)
        return st_fail(err, STRETTO_E_INPUT, "%s: tensor token_embd.weight has %u rows, but %s.vocab_size is %u",
                       bind->gguf->path, bind->model->n_vocab, st_model_arch_name(bind->model), said);
    const st_value *tokens = st_gguf_find(bind->gguf, "tokenizer.ggml.tokens");
    if (tokens && tokens->count != bind->model->n_vocab)
        st_warn(bind->log, "%s: tokenizer.ggml.tokens has %" PRIu64 " entries, but token_embd.weight has %u rows",
                bind->gguf->path, tokens->count, bind->model->n_vocab);
    return 0;
}

/* A key with a value for each layer, or one for all, into a u32 field of every layer; a missing one leaves the field.
 */
static int read_per_layer(st_binder *bind, const char *suffix, bool required, uint32_t max, size_t field,
                          stretto_error *err) {
    st_model *m = bind->model;
    uint32_t *values = calloc(m->n_layers, sizeof *values);
    if (!values) return st_fail_memory(err, suffix, m->n_layers * sizeof *values);
    for (uint32_t i = 0; i < m->n_layers; i++) memcpy(&values[i], (uint8_t *)&m->layers[i] + field, sizeof values[i]);
    char key[ST_KEY_MAX];
    int code = st_gguf_u32_per_layer(bind->gguf, st_key(bind, key, suffix), required, m->n_layers, values, err);
    for (uint32_t i = 0; i < m->n_layers && !code; i++) {
        if (values[i] == 0 || values[i] > max)
            code = st_hparams_refuse(bind, err, suffix, values[i], "a positive number within reason");
        memcpy((uint8_t *)&m->layers[i] + field, &values[i], sizeof values[i]);
    }
    free(values);
    return code;
}

static int read_heads(st_binder *bind, stretto_error *err) {
    st_model *m = bind->model;
    int code = read_per_layer(bind, "attention.head_count", true, MAX_HEADS, offsetof(st_layer, n_heads), err);
    /* Without a count of KV heads there is one for each query head. */
    for (uint32_t i = 0; i < m->n_layers; i++) m->layers[i].n_kv_heads = m->layers[i].n_heads;
    if (!code)
        code = read_per_layer(bind, "attention.head_count_kv", false, MAX_HEADS, offsetof(st_layer, n_kv_heads), err);
    if (!code) code = read_per_layer(bind, "feed_forward_length", true, 1u << 22, offsetof(st_layer, n_ff), err);
    for (uint32_t i = 0; i < m->n_layers && !code; i++)
        if (m->layers[i].n_heads % m->layers[i].n_kv_heads)
            code = st_fail(err, STRETTO_E_INPUT, "%s: layer %u has %u heads for %u KV heads, expected a multiple",
                           bind->gguf->path, i, m->layers[i].n_heads, m->layers[i].n_kv_heads);
    return code;
}

int st_hparams_read(st_binder *bind, stretto_error *err) {
    st_model *m = bind->model;
    int code = read_widths(bind, err);
    if (!code) code = read_vocab(bind, err);
    if (code) return code;
    m->layers = st_model_alloc(m, m->n_layers, sizeof *m->layers, err);
    if (!m->layers) return STRETTO_E_MEMORY;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        m->layers[i].kv_layer = i;
        m->layers[i].out_scale = 1.0f;
    }
    m->embed_scale = 1.0f;
    return read_heads(bind, err);
}

int st_hparams_head_dim(const st_binder *bind, const char *key_suffix, const char *value_suffix, uint32_t *head_dim,
                        stretto_error *err) {
    const st_model *m = bind->model;
    uint32_t key = m->d_model / m->layers[0].n_heads;
    int code = st_hparam_u32(bind, key_suffix, false, &key, err);
    if (code) return code;
    uint32_t value = key;
    if ((code = st_hparam_u32(bind, value_suffix, false, &value, err))) return code;
    if (key == 0 || key > MAX_HEAD_DIM || key % 8)
        return st_hparams_refuse(bind, err, key_suffix, key, "a multiple of 8 up to 1024");
    if (value != key) return st_hparams_refuse(bind, err, value_suffix, value, "the same as the key's");
    *head_dim = key;
    return 0;
}

int st_hparams_rotated(const st_binder *bind, const char *suffix, uint32_t head_dim, stretto_error *err) {
    uint32_t rotated = head_dim;
    int code = st_hparam_u32(bind, suffix, false, &rotated, err);
    if (code || rotated == head_dim) return code;
    return st_fail(err, STRETTO_E_INPUT, "%s: %s.%s is %u, expected the head size of %u", bind->gguf->path,
                   st_model_arch_name(bind->model), suffix, rotated, head_dim);
}

int st_hparams_softcap(const st_binder *bind, stretto_error *err) {
    static const char suffix[] = "final_logit_softcapping";
    float *cap = &bind->model->softcap;
    int code = st_hparam_f32(bind, suffix, false, cap, err);
    if (code || (*cap >= 0.0f && isfinite(*cap))) return code;
    return st_fail(err, STRETTO_E_INPUT, "%s: %s.%s is %g, expected 0 (none) or a positive number", bind->gguf->path,
                   st_model_arch_name(bind->model), suffix, (double)*cap);
}

/* The factor that positions are divided by, under its key or the one of files from 2023. It may be missing or 0, which
 * is none, where nothing says that there is one. */
static int read_rope_factor(const st_binder *bind, bool required, float *factor, stretto_error *err) {
    char key[ST_KEY_MAX];
    const char *suffix = "rope.scaling.factor";
    if (!st_gguf_find(bind->gguf, st_key(bind, key, suffix)) &&
        st_gguf_find(bind->gguf, st_key(bind, key, "rope.scale_linear")))
        suffix = "rope.scale_linear";
    *factor = 1.0f;
    int code = st_hparam_f32(bind, suffix, required, factor, err);
    if (!required && *factor == 0.0f) *factor = 1.0f;
    if (code || (*factor > 0.0f && isfinite(*factor))) return code;
    return st_fail(err, STRETTO_E_INPUT, "%s: %s.%s is %g, expected a positive number", bind->gguf->path,
                   st_model_arch_name(bind->model), suffix, (double)*factor);
}

int st_hparams_rope_scaling(const st_binder *bind, float *factor, stretto_error *err) {
    char key[ST_KEY_MAX];
    st_str type = {"linear", 6}; /* what a factor means that comes without a type, as in llama.cpp */
    float turned_by = 1.0f;
    int code = st_hparam_f32(bind, "rope.scaling.attn_factor", false, &turned_by, err);
    if (!code) code = st_gguf_str(bind->gguf, st_key(bind, key, "rope.scaling.type"), false, &type, err);
    if (code) return code;
    if (turned_by != 1.0f)
        return st_fail(err, STRETTO_E_INPUT, "%s: %s.rope.scaling.attn_factor is %g, expected 1", bind->gguf->path,
                       st_model_arch_name(bind->model), (double)turned_by);
    *factor = 1.0f;
    if (st_str_equal(type, "none")) return 0;
    if (!st_str_equal(type, "linear"))
        return st_fail(err, STRETTO_E_INPUT, "%s: %s is \"%.*s\", expected none or linear", bind->gguf->path, key,
                       (int)st_utf8_cut(type.data, type.len, 40), type.data);
    return read_rope_factor(bind, st_gguf_find(bind->gguf, key) != NULL, factor, err);
}

int st_rope_make(st_binder *bind, uint32_t which, uint32_t head_dim, float base, float factor, const float *factors,
                 bool neox, stretto_error *err) {
    st_model *m = bind->model;
    if (!(base > 0.0f && isfinite(base)))
        return st_fail(err, STRETTO_E_INPUT, "%s: a rope base of %g, expected a positive number", bind->gguf->path,
                       (double)base);
    uint32_t half = head_dim / 2, n = 0;
    float *freq = st_model_alloc(m, half, sizeof *freq, err);
    if (!freq) return STRETTO_E_MEMORY;
    for (uint32_t i = 0; i < half; i++) {
        double f = pow((double)base, -2.0 * i / head_dim) / (double)factor;
        if (factors) f /= (double)factors[i];
        freq[i] = (float)f;
        if (!isfinite(freq[i]))
            return st_fail(err, STRETTO_E_INPUT,
                           "%s: pair %u of a rope (base %g, scaling %g, factor %g) turns by %g a position, expected a "
                           "finite number",
                           bind->gguf->path, i, (double)base, (double)factor, factors ? (double)factors[i] : 1.0, f);
        /* Below this no context turns the pair by even one f32 step away from the identity. */
        if (fabs(f) > 1e-20) n = i + 1;
    }
    m->ropes[which] = (st_rope){.inv_freq = freq, .n_pairs = n, .head_dim = head_dim, .neox = neox};
    if (which >= m->n_ropes) m->n_ropes = which + 1;
    return 0;
}

int st_hparams_windows(st_binder *bind, uint32_t period, stretto_error *err) {
    st_model *m = bind->model;
    char key[ST_KEY_MAX];
    uint32_t window = 0;
    int code = st_hparam_u32(bind, "attention.sliding_window", true, &window, err);
    if (code) return code;
    if (window == 0) return st_hparams_refuse(bind, err, "attention.sliding_window", window, "at least 1");
    st_key(bind, key, "attention.sliding_window_pattern");
    const st_value *pattern = st_gguf_find(bind->gguf, key);
    uint32_t *slides = calloc(m->n_layers, sizeof *slides);
    if (!slides) return st_fail_memory(err, "window pattern", m->n_layers * sizeof *slides);
    if (pattern && pattern->type == ST_V_ARRAY) {
        code = st_gguf_u32_per_layer(bind->gguf, key, true, m->n_layers, slides, err);
    } else {
        code = st_gguf_u32(bind->gguf, key, false, &period, err);
        for (uint32_t i = 0; i < m->n_layers; i++) slides[i] = period == 0 || i % period != period - 1;
    }
    for (uint32_t i = 0; i < m->n_layers && !code; i++) m->layers[i].window = slides[i] ? window : 0;
    free(slides);
    return code;
}

int st_hparams_plain(st_binder *bind, bool neox, stretto_error *err) {
    st_model *m = bind->model;
    uint32_t head_dim = 0;
    float base = 10000.0f, factor = 1.0f;
    int code = st_hparams_read(bind, err);
    if (!code) code = st_hparams_head_dim(bind, "attention.key_length", "attention.value_length", &head_dim, err);
    if (code) return code;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        m->layers[i].head_dim = head_dim;
        m->layers[i].attn_scale = 1.0f / sqrtf((float)head_dim);
    }
    if ((code = st_hparams_rotated(bind, "rope.dimension_count", head_dim, err))) return code;
    if ((code = st_hparam_f32(bind, "rope.freq_base", false, &base, err))) return code;
    if ((code = st_hparams_rope_scaling(bind, &factor, err))) return code;
    /* Llama 3.1 and later stretch the slow pairs by factors of their own. */
    const float *factors = NULL;
    if ((code = st_bind_vector(bind, &factors, head_dim / 2, false, err, "rope_freqs.weight", 0))) return code;
    return st_rope_make(bind, 0, head_dim, base, factor, factors, neox, err);
}
