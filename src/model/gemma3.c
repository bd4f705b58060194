/* SPDX-License-Identifier: MIT
 * gemma3 (text): sliding and full layers with RoPE bases of their own, norms on the heads of Q and K and after
 * attention and feed-forward, embedding scaled by sqrt(d_model). Norm weights in files are 1 + w already. */
#include "model/arch.h"
#include "model/hparams.h"

#include <math.h>

enum { ROPE_FULL, ROPE_SLIDING };

#define FULL_EVERY 6     /* layers, where the file does not say */
#define LAYERS_OF_27B 62 /* the one size whose scores are scaled by d_model / heads instead of the head size */

static int gemma3_shape(st_model *m, st_binder *bind, stretto_error *err) {
    uint32_t head_dim = 0;
    float base = 1e6f, base_sliding = 1e4f, factor = 1.0f;
    int code = st_hparams_read(bind, err);
    if (!code) code = st_hparams_head_dim(bind, "attention.key_length", "attention.value_length", &head_dim, err);
    if (!code) code = st_hparams_windows(bind, FULL_EVERY, err);
    if (!code) code = st_hparam_f32(bind, "rope.freq_base", false, &base, err);
    if (!code) code = st_hparam_f32(bind, "rope.freq_base_swa", false, &base_sliding, err);
    if (!code) code = st_hparams_rotated(bind, "rope.dimension_count", head_dim, err);
    if (!code) code = st_hparams_softcap(bind, err);
    /* Stretched positions concern the full layers only. */
    if (!code) code = st_hparams_rope_scaling(bind, &factor, err);
    if (!code) code = st_rope_make(bind, ROPE_FULL, head_dim, base, factor, NULL, true, err);
    if (!code) code = st_rope_make(bind, ROPE_SLIDING, head_dim, base_sliding, 1.0f, NULL, true, err);
    if (code) return code;
    m->act = ST_GELU_TANH;
    m->embed_scale = sqrtf((float)m->d_model);
    uint32_t scaled_by = m->n_layers == LAYERS_OF_27B ? m->d_model / m->layers[0].n_heads : head_dim;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        m->layers[i].head_dim = head_dim;
        m->layers[i].attn_scale = 1.0f / sqrtf((float)scaled_by);
        m->layers[i].rope = m->layers[i].window ? ROPE_SLIDING : ROPE_FULL;
    }
    return 0;
}

static int gemma3_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    int code = st_bind_head_norms(bind, &m->layers[i], i, err);
    return code ? code : st_bind_post_norms(bind, &m->layers[i], i, err);
}

const st_arch st_arch_gemma3 = {.name = "gemma3", .shape = gemma3_shape, .layer = gemma3_layer};
