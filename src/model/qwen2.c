/* SPDX-License-Identifier: MIT
 * qwen2: biases on Q, K and V, RoPE by halves. */
#include "model/arch.h"
#include "model/hparams.h"

static int qwen2_shape(st_model *m, st_binder *bind, stretto_error *err) {
    m->act = ST_SILU;
    return st_hparams_plain(bind, true, err);
}

static int qwen2_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    return st_bind_biases(bind, &m->layers[i], i, true, err);
}

const st_arch st_arch_qwen2 = {.name = "qwen2", .shape = qwen2_shape, .layer = qwen2_layer};
