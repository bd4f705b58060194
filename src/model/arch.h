/* SPDX-License-Identifier: MIT
 * What an architecture's file provides: hyper-parameters from metadata, then weights by name. */
#ifndef ST_MODEL_ARCH_H
#define ST_MODEL_ARCH_H

#include "model/bind.h"
#include "model/model.h"

struct st_arch {
    const char *name; /* general.architecture */
    /* Fills everything but weights. model->layers is allocated and holds what st_hparams_read found. */
    int (*shape)(st_model *model, st_binder *bind, stretto_error *err);
    /* Binds the weights of one layer beyond those that all architectures share. NULL: none. */
    int (*layer)(st_model *model, st_binder *bind, uint32_t i, stretto_error *err);
    /* Binds weights outside the layers beyond the shared ones. NULL: none. */
    int (*whole)(st_model *model, st_binder *bind, stretto_error *err);
};

extern const st_arch st_arch_llama, st_arch_qwen2, st_arch_qwen3, st_arch_gemma3, st_arch_gemma4;

#endif
