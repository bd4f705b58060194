/* SPDX-License-Identifier: MIT
 * Keys and values of one stream in one chunk: a ring per owned layer, and references to the layers it borrows. */
#ifndef ST_CHUNK_KV_H
#define ST_CHUNK_KV_H

#include "chunk/split.h"

typedef struct st_kv_layer {
    uint8_t *k,
        *v; /* n_kv_heads rings each: K [capacity/16][head_dim][16], V [capacity][head_dim]; NULL when not owned */
    uint32_t capacity; /* positions, a multiple of ST_ATTN_BLOCK */
    size_t head_bytes; /* of one head's ring */
} st_kv_layer;

typedef struct st_kv {
    const st_model *model;
    st_span span;
    enum st_kv_type type;
    uint32_t n_ctx;              /* positions a full layer can hold */
    st_kv_layer *own;            /* [last - first + 1] */
    const st_kv_layer **visible; /* [n_layers] own layers and bound borrowed ones, else NULL */
    uint8_t *memory;
    size_t bytes;
} st_kv;

/* Room for n_ctx positions in full layers; a sliding layer has its window plus the largest batch, rounded up to the
 * attention's block (or n_ctx when that is less). */
int st_kv_create(st_kv **out, const st_model *model, st_span span, enum st_kv_type type, uint32_t n_ctx,
                 uint32_t max_batch, stretto_error *err);
/* Its bytes, without making one. */
uint64_t st_kv_size(const st_model *model, st_span span, enum st_kv_type type, uint32_t n_ctx, uint32_t max_batch);
void st_kv_free(st_kv *kv); /* NULL is fine; nobody may borrow from it any more */

/* Lets kv read layer `layer` of `from`, which stays the owner and must outlive kv. */
void st_kv_borrow(st_kv *kv, uint32_t layer, const st_kv *from);

/* Bytes of keys and values that a token at position `pos` reads in layers first..last. */
uint64_t st_kv_read_bytes(const st_model *model, st_span span, enum st_kv_type type, uint32_t pos);

#endif
