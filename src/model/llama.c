/* SPDX-License-Identifier: MIT
 * llama: Llama 2 and 3, SmolLM2, Mistral. Files of this architecture have Q and K permuted, so RoPE turns neighbouring
 * pairs. */
#include "model/arch.h"
#include "model/hparams.h"

static int llama_shape(st_model *m, st_binder *bind, stretto_error *err) {
    m->act = ST_SILU;
    return st_hparams_plain(bind, false, err);
}

/* Some files of this architecture have biases on Q, K and V. */
static int llama_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    return st_bind_biases(bind, &m->layers[i], i, false, err);
}

const st_arch st_arch_llama = {.name = "llama", .shape = llama_shape, .layer = llama_layer};
