/* SPDX-License-Identifier: MIT
 * A loaded model: hyper-parameters and weights by layer, shape-checked against the file's own metadata. One file an
 * architecture turns names into this structure; everything above sees only the structure. A model is read-only after
 * loading: any number of threads, chunks and streams may use it at once. */
#ifndef ST_MODEL_MODEL_H
#define ST_MODEL_MODEL_H

#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "gguf/gguf.h"
#include "kern/kern.h"
#include "stretto/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ST_MODEL_ROPES 2

/* Rotary embedding of one kind of layer. */
typedef struct st_rope {
    float *inv_freq;  /* [n_pairs] angle per position, owned by the model */
    uint32_t n_pairs; /* pairs that turn */
    uint32_t head_dim;
    bool neox; /* pairs (i, i + half), else (2i, 2i + 1) */
} st_rope;

typedef struct st_layer {
    uint32_t n_heads, n_kv_heads, head_dim, n_ff;
    uint32_t window;   /* positions a token sees, itself included; 0 = all */
    uint32_t rope;     /* index into st_model.ropes */
    uint32_t kv_layer; /* whose keys and values this layer reads: its own number unless it borrows */
    float attn_scale;
    bool v_norm;     /* values are RMS-normed per head, without weight */
    bool v_from_k;   /* values are the keys, as they are before bias, norm and RoPE */
    float out_scale; /* of the layer's output, 1 for most */

    /* f32, owned by the model; NULL where the architecture has none */
    const float *attn_norm, *post_attn_norm, *ffn_norm, *post_ffn_norm; /* [d_model] */
    const float *q_norm, *k_norm;                                       /* [head_dim] */
    const float *q_bias, *k_bias, *v_bias;                              /* [heads * head_dim] */
    const float *ple_norm;                                              /* [d_model] */

    st_matrix q;        /* [n_heads * head_dim, d_model] */
    st_matrix k, v;     /* [n_kv_heads * head_dim, d_model]; rows = 0 in a layer that borrows; v's also with v_from_k */
    st_matrix o;        /* [d_model, n_heads * head_dim] */
    st_matrix gate, up; /* [n_ff, d_model] */
    st_matrix down;     /* [d_model, n_ff] */
    st_matrix ple_gate; /* [d_ple, d_model]; rows = 0 without per-layer embeddings */
    st_matrix ple_proj; /* [d_model, d_ple] */
} st_layer;

typedef struct st_arch st_arch;

typedef struct st_model {
    const st_arch *arch;
    const st_gguf *gguf; /* must outlive the model */
    const st_kern *kern;
    char name[96]; /* general.name, or the file's name */

    uint32_t n_layers, d_model, n_vocab, n_ctx_train;
    float eps;         /* of the RMS norms */
    float embed_scale; /* embedding rows are multiplied by it */
    float softcap;     /* of the logits, 0 = none */
    enum st_activation act;
    st_layer *layers; /* [n_layers] */
    st_rope ropes[ST_MODEL_ROPES];
    uint32_t n_ropes;

    const st_tensor *embed;  /* token_embd.weight, read a row at a time from the map */
    const float *final_norm; /* [d_model] */
    st_matrix head;          /* [n_vocab, d_model] */
    bool tied;               /* the head is token_embd */

    uint32_t d_ple;              /* per-layer embedding size, 0 = none */
    const st_tensor *ple_embed;  /* [n_vocab] rows of n_layers * d_ple, read a row at a time from the map */
    st_matrix ple_model;         /* [n_layers * d_ple, d_model] */
    const float *ple_model_norm; /* [d_ple] */

    st_region weights; /* packed matrices */
    uint64_t memory;   /* bytes that these and all that works with them may take; 0: nothing is packed */
    void *arena;       /* small owned arrays */
    uint64_t load_ns;  /* time spent in st_model_load */
} st_model;

typedef struct st_model_options {
    const st_kern *kern;
    st_pool *pool;    /* packs in parallel; NULL: the calling thread alone */
    bool shapes_only; /* bind and check shapes, pack nothing: matrices have no data */
    uint64_t memory;  /* bytes that weights, and what works with them, may take; 0: st_host_memory_most */
    const st_log *log;
    const atomic_bool *stop; /* another thread or a signal handler sets it to end packing early; NULL: never */
} st_model_options;

/* Binds and packs. STRETTO_E_INPUT with tensor, expected and found shapes; an unknown architecture lists those
 * supported; a type without kernels is named with its tensor, and a part of a model is told by its number.
 * STRETTO_E_MEMORY also when the packed weights are more than there is room for: the system would end the process while
 * they are packed. STRETTO_E_STOPPED after stop, once each
 * worker is through with a megabyte or so. On failure *out is NULL. */
int st_model_load(st_model **out, const st_gguf *gguf, const st_model_options *options, stretto_error *err);
void st_model_free(st_model *model); /* NULL is fine */

/* Weight bytes that one decode step reads in a layer, and in the head with its norm: file bytes, before repacking. */
uint64_t st_layer_bytes(const st_model *model, uint32_t layer);
uint64_t st_head_bytes(const st_model *model);
/* Multiply-adds of the same (matrices only). */
uint64_t st_layer_operations(const st_model *model, uint32_t layer);
uint64_t st_head_operations(const st_model *model);

/* The matrices of a layer, for walking over them; some have no rows. */
#define ST_LAYER_MATRICES 9
const st_matrix *st_layer_matrix(const st_layer *layer, uint32_t i);

/* The rows of a token in the tables that stay in the map, which loading does not read: STRETTO_E_INPUT when one holds
 * NaN or Inf, by tensor and row. */
int st_model_check_row(const st_model *model, int32_t id, stretto_error *err);

const char *st_model_arch_name(const st_model *model);

#endif
