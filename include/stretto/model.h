/* SPDX-License-Identifier: MIT
 * Models: weights and hyper-parameters from a GGUF file. */
#ifndef STRETTO_MODEL_H
#define STRETTO_MODEL_H

#include "stretto/error.h"
#include "stretto/export.h"
#include "stretto/log.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read-only once it is open: any number of threads, chains and streams may use one at the same time. */
typedef struct stretto_model stretto_model;

/* Zeroed is the default of everything. */
typedef struct stretto_model_options {
    const char *kernels;    /* "scalar", "avx2", ...: these and no others; NULL or "": the best that this CPU can run */
    unsigned threads;       /* that repack the weights; 0: as many as there are cores allowed here */
    const stretto_log *log; /* NULL: silence */
} stretto_model_options;

/* Maps the file, checks every shape against the file's own metadata and repacks the weights for this CPU; afterwards
 * the repacked ones are resident and the file's pages are not.
 *
 * path: not kept. options: NULL is as good as zeroed. *out: owned by the caller, stretto_model_close; NULL on failure.
 * STRETTO_OK, STRETTO_E_IO (the file cannot be opened or mapped), STRETTO_E_INPUT (it is malformed, truncated,
 * contradicts itself, or is of an architecture or weight type that is not supported: the reason names key or tensor,
 * expected and found), STRETTO_E_USAGE (there are no such kernels, or not for this CPU), STRETTO_E_UNIT (no core is
 * allowed here, or threads cannot be made), STRETTO_E_MEMORY. Any thread. */
STRETTO_API int stretto_model_open(stretto_model **out, const char *path, const stretto_model_options *options,
                                   stretto_error *err);

/* Nothing may use the model any more: close its chains first. NULL is fine. */
STRETTO_API void stretto_model_close(stretto_model *model);

typedef struct stretto_model_info {
    char name[96];         /* general.name, or the file's name */
    char architecture[32]; /* "llama", "gemma3", ... */
    char kernels[16];      /* which run it */
    uint32_t n_layers;
    uint32_t d_model; /* width of the hidden state that passes between chunks */
    uint32_t n_vocab;
    uint32_t n_ctx_train; /* positions that it was trained for, 0: the file does not say */
    uint64_t step_bytes;  /* of weights that one decode step reads, as they are in the file */
    uint64_t operations;  /* multiply-adds of one decode step, without attention */
    uint64_t load_ns;     /* that opening took, without reading the file's directory */
} stretto_model_info;

/* Any thread. */
STRETTO_API void stretto_model_info_get(const stretto_model *model, stretto_model_info *info);

#ifdef __cplusplus
}
#endif
#endif
