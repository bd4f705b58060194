/* SPDX-License-Identifier: MIT
 * gemma4 (text): per-layer embeddings, sliding and full layers with head sizes of their own, the last layers borrow
 * keys and values, values are normed, scores are not scaled, logits are capped. Full layers of the larger models have
 * no matrix for values, which are the keys before norm and RoPE. */
#include "model/arch.h"
#include "model/hparams.h"

#include "base/error.h"

#include <math.h>

enum { ROPE_FULL, ROPE_SLIDING };

#define FULL_EVERY 5  /* layers, where the file does not say */
#define SOFTCAP 30.0f /* of the logits, likewise */

static int gemma4_ropes(st_binder *bind, uint32_t full, uint32_t sliding, stretto_error *err) {
    float base = 1e6f, base_sliding = 1e4f, factor = 1.0f;
    const float *factors = NULL;
    int code = st_hparam_f32(bind, "rope.freq_base", false, &base, err);
    if (!code) code = st_hparam_f32(bind, "rope.freq_base_swa", false, &base_sliding, err);
    /* Factors of 1e30 stand for pairs that do not turn; without any, all would. */
    if (!code) code = st_hparams_rotated(bind, "rope.dimension_count", full, err);
    if (!code) code = st_hparams_rotated(bind, "rope.dimension_count_swa", sliding, err);
    /* Stretched positions concern the full layers only. */
    if (!code) code = st_hparams_rope_scaling(bind, &factor, err);
    if (!code) code = st_bind_vector(bind, &factors, full / 2, true, err, "rope_freqs.weight", 0);
    if (!code) code = st_rope_make(bind, ROPE_FULL, full, base, factor, factors, true, err);
    if (!code) code = st_rope_make(bind, ROPE_SLIDING, sliding, base_sliding, 1.0f, NULL, true, err);
    return code;
}

/* The last `shared` layers read the KV of the last earlier layer of their own kind. */
static int gemma4_share(st_model *m, const st_binder *bind, uint32_t shared, stretto_error *err) {
    uint32_t own = m->n_layers - shared;
    for (uint32_t i = own; i < m->n_layers; i++) {
        uint32_t from = own;
        while (from > 0 && !m->layers[from - 1].window != !m->layers[i].window) from--;
        if (from == 0)
            return st_fail(err, STRETTO_E_INPUT,
                           "%s: layer %u should borrow the KV of a %s layer below %u, but there is none",
                           bind->gguf->path, i, m->layers[i].window ? "sliding" : "full", own);
        m->layers[i].kv_layer = from - 1;
        if (m->layers[i].n_kv_heads != m->layers[from - 1].n_kv_heads)
            return st_fail(err, STRETTO_E_INPUT,
                           "%s: layer %u has %u KV heads, but layer %u that it borrows from has %u", bind->gguf->path,
                           i, m->layers[i].n_kv_heads, from - 1, m->layers[from - 1].n_kv_heads);
    }
    return 0;
}

static int gemma4_shape(st_model *m, st_binder *bind, stretto_error *err) {
    uint32_t full = 0, sliding = 0, shared = 0;
    int code = st_hparams_read(bind, err);
    if (!code) code = st_hparams_head_dim(bind, "attention.key_length", "attention.value_length", &full, err);
    if (!code)
        code = st_hparams_head_dim(bind, "attention.key_length_swa", "attention.value_length_swa", &sliding, err);
    if (!code) code = st_hparams_windows(bind, FULL_EVERY, err);
    if (!code) code = gemma4_ropes(bind, full, sliding, err);
    if (!code) code = st_hparam_u32(bind, "attention.shared_kv_layers", false, &shared, err);
    if (!code) code = st_hparam_u32(bind, "embedding_length_per_layer_input", false, &m->d_ple, err);
    m->softcap = SOFTCAP;
    if (!code) code = st_hparams_softcap(bind, err);
    if (code) return code;
    if (shared >= m->n_layers)
        return st_hparams_refuse(bind, err, "attention.shared_kv_layers", shared, "fewer than the layers");
    if (m->d_ple > (1u << 16))
        return st_hparams_refuse(bind, err, "embedding_length_per_layer_input", m->d_ple, "at most 65536");
    m->act = ST_GELU_TANH;
    m->embed_scale = sqrtf((float)m->d_model);
    for (uint32_t i = 0; i < m->n_layers; i++) {
        st_layer *l = &m->layers[i];
        l->head_dim = l->window ? sliding : full;
        l->attn_scale = 1.0f;
        l->rope = l->window ? ROPE_SLIDING : ROPE_FULL;
        l->v_norm = true;
        l->v_from_k = !l->window && !st_bind_has(bind, "blk.%u.attn_v.weight", i);
    }
    return gemma4_share(m, bind, shared, err);
}

static int gemma4_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    st_layer *l = &m->layers[i];
    int code = st_bind_vector(bind, &l->q_norm, l->head_dim, true, err, "blk.%u.attn_q_norm.weight", i);
    if (!code && l->kv_layer == i)
        code = st_bind_vector(bind, &l->k_norm, l->head_dim, true, err, "blk.%u.attn_k_norm.weight", i);
    if (!code) code = st_bind_post_norms(bind, l, i, err);
    const float *scale = NULL;
    if (!code) code = st_bind_vector(bind, &scale, 1, false, err, "blk.%u.layer_output_scale.weight", i);
    if (scale) l->out_scale = *scale;
    if (code || !m->d_ple) return code;
    code = st_bind_matrix(bind, &l->ple_gate, m->d_ple, m->d_model, err, "blk.%u.inp_gate.weight", i);
    if (!code) code = st_bind_matrix(bind, &l->ple_proj, m->d_model, m->d_ple, err, "blk.%u.proj.weight", i);
    if (!code) code = st_bind_vector(bind, &l->ple_norm, m->d_model, true, err, "blk.%u.post_norm.weight", i);
    return code;
}

/* Per-layer embeddings that the metadata do not speak of would be left out without a word. */
static int gemma4_whole(st_model *m, st_binder *bind, stretto_error *err) {
    if (!m->d_ple && st_bind_has(bind, "per_layer_token_embd.weight", 0))
        return st_fail(err, STRETTO_E_INPUT,
                       "%s: gemma4.embedding_length_per_layer_input is 0 or missing, but there is a tensor "
                       "per_layer_token_embd.weight",
                       bind->gguf->path);
    if (!m->d_ple) return 0;
    uint64_t width = (uint64_t)m->n_layers * m->d_ple;
    int code = st_bind_rows(bind, &m->ple_embed, m->n_vocab, width, err, "per_layer_token_embd.weight");
    if (!code) code = st_bind_matrix(bind, &m->ple_model, width, m->d_model, err, "per_layer_model_proj.weight", 0);
    if (!code) code = st_bind_vector(bind, &m->ple_model_norm, m->d_ple, true, err, "per_layer_proj_norm.weight", 0);
    return code;
}

const st_arch st_arch_gemma4 = {.name = "gemma4", .shape = gemma4_shape, .layer = gemma4_layer, .whole = gemma4_whole};
