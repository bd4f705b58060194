/* SPDX-License-Identifier: MIT
 * Binding: from a tensor's name and the shape it must have to a place in the model. Vectors are expanded to f32 at
 * once; matrices are noted and packed together at the end, in parallel. */
#ifndef ST_MODEL_BIND_H
#define ST_MODEL_BIND_H

#include "model/model.h"

typedef struct st_pack {
    const st_tensor *tensor;
    st_matrix *matrix;
    size_t offset; /* of its strips in the region */
} st_pack;

typedef struct st_binder {
    st_model *model;
    const st_gguf *gguf;
    const st_kern *kern;
    const st_log *log;
    const atomic_bool *stop;
    bool *used;     /* [n_tensors of the file] bound, or known to be spare; owned by whoever made the binder */
    st_pack *packs; /* [n_packs], owned by the binder */
    size_t n_packs, cap_packs;
    size_t region_bytes;
} st_binder;

/* The architecture's key "ARCH.suffix", valid until the next call with the same buffer. */
#define ST_KEY_MAX 128
const char *st_key(const st_binder *bind, char key[ST_KEY_MAX], const char *suffix);
/* Hyper-parameters by suffix, as the st_gguf_ getters. */
int st_hparam_u32(const st_binder *bind, const char *suffix, bool required, uint32_t *value, stretto_error *err);
int st_hparam_f32(const st_binder *bind, const char *suffix, bool required, float *value, stretto_error *err);

/* Memory that lives as long as the model; zeroed. */
void *st_model_alloc(st_model *model, size_t count, size_t size, stretto_error *err);
void st_arena_free(st_model *model);

/* A tensor of n values as f32. Layer names: fmt with one %u. A missing one is an error when required, else *out stays
 * NULL. Errors name the tensor, expected and found shapes; NaN and Inf are refused. */
int st_bind_vector(st_binder *bind, const float **out, uint64_t n, bool required, stretto_error *err, const char *fmt,
                   uint32_t layer);
/* A matrix of rows x cols. */
int st_bind_matrix(st_binder *bind, st_matrix *out, uint64_t rows, uint64_t cols, stretto_error *err, const char *fmt,
                   uint32_t layer);
/* A tensor of rows x cols that stays in the map and is read a row at a time. */
int st_bind_rows(st_binder *bind, const st_tensor **out, uint64_t rows, uint64_t cols, stretto_error *err,
                 const char *name);
/* Biases of Q, K and V. */
int st_bind_biases(st_binder *bind, st_layer *layer, uint32_t i, bool required, stretto_error *err);
/* Norms of the heads of Q and K. */
int st_bind_head_norms(st_binder *bind, st_layer *layer, uint32_t i, stretto_error *err);
/* Norms after attention and after the feed-forward. */
int st_bind_post_norms(st_binder *bind, st_layer *layer, uint32_t i, stretto_error *err);

bool st_bind_has(const st_binder *bind, const char *fmt, uint32_t layer);
/* Marks a tensor that a file may carry although nothing reads it. */
void st_bind_spare(st_binder *bind, const char *fmt, uint32_t layer);
/* After all was bound: STRETTO_E_INPUT for a tensor of a layer that the metadata do not count; a warning that names the
 * first of those that nothing reads. */
int st_bind_rest(const st_binder *bind, stretto_error *err);

/* Packs all noted matrices into model->weights, strips shared out over the pool's workers, and drops the source pages.
 * STRETTO_E_STOPPED after bind->stop. */
int st_bind_pack(st_binder *bind, st_pool *pool, stretto_error *err);

#endif
