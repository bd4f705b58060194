/* SPDX-License-Identifier: MIT
 * qwen3: RMS norms on the heads of Q and K, RoPE by halves. */
#include "model/arch.h"
#include "model/hparams.h"

static int qwen3_shape(st_model *m, st_binder *bind, stretto_error *err) {
    m->act = ST_SILU;
    return st_hparams_plain(bind, true, err);
}

static int qwen3_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    return st_bind_head_norms(bind, &m->layers[i], i, err);
}

const st_arch st_arch_qwen3 = {.name = "qwen3", .shape = qwen3_shape, .layer = qwen3_layer};
