/* SPDX-License-Identifier: MIT */
#include "model/bind.h"
#include "model/finite.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 128

typedef struct arena_block {
    struct arena_block *next;
} arena_block;

void *st_model_alloc(st_model *model, size_t count, size_t size, stretto_error *err) {
    if (size && count > (SIZE_MAX - ST_ALIGN) / size) {
        st_fail_memory(err, "model", SIZE_MAX);
        return NULL;
    }
    arena_block *block = st_alloc(1, ST_ALIGN + count * size);
    if (!block) {
        st_fail_memory(err, "model", count * size);
        return NULL;
    }
    block->next = model->arena;
    model->arena = block;
    return (uint8_t *)block + ST_ALIGN;
}

void st_arena_free(st_model *model) {
    for (arena_block *block = model->arena; block;) {
        arena_block *next = block->next;
        st_free(block);
        block = next;
    }
    model->arena = NULL;
}

const char *st_key(const st_binder *bind, char key[ST_KEY_MAX], const char *suffix) {
    snprintf(key, ST_KEY_MAX, "%s.%s", st_model_arch_name(bind->model), suffix);
    return key;
}

int st_hparam_u32(const st_binder *bind, const char *suffix, bool required, uint32_t *value, stretto_error *err) {
    char key[ST_KEY_MAX];
    return st_gguf_u32(bind->gguf, st_key(bind, key, suffix), required, value, err);
}

int st_hparam_f32(const st_binder *bind, const char *suffix, bool required, float *value, stretto_error *err) {
    char key[ST_KEY_MAX];
    return st_gguf_f32(bind->gguf, st_key(bind, key, suffix), required, value, err);
}

static void layer_name(char name[NAME_MAX_LEN], const char *fmt, uint32_t layer) {
    const char *at = strstr(fmt, "%u");
    if (at)
        snprintf(name, NAME_MAX_LEN, "%.*s%u%s", (int)(at - fmt), fmt, layer, at + 2);
    else
        snprintf(name, NAME_MAX_LEN, "%s", fmt);
}

bool st_bind_has(const st_binder *bind, const char *fmt, uint32_t layer) {
    char name[NAME_MAX_LEN];
    layer_name(name, fmt, layer);
    return st_gguf_tensor(bind->gguf, name) != NULL;
}

static int shape_error(const st_binder *bind, const st_tensor *t, uint64_t cols, uint64_t rows, stretto_error *err) {
    char found[96];
    int n = 0;
    for (uint32_t i = 0; i < t->n_dims; i++)
        n += snprintf(found + n, sizeof found - (size_t)n, "%s%" PRIu64, i ? " x " : "", t->dims[i]);
    if (rows == 1)
        return st_fail(err, STRETTO_E_INPUT, "%s: tensor %.*s has shape %s, but the metadata ask for %" PRIu64,
                       bind->gguf->path, (int)t->name.len, t->name.data, found, cols);
    return st_fail(err, STRETTO_E_INPUT,
                   "%s: tensor %.*s has shape %s, but the metadata ask for %" PRIu64 " x %" PRIu64, bind->gguf->path,
                   (int)t->name.len, t->name.data, found, cols, rows);
}

static void mark(const st_binder *bind, const st_tensor *t) {
    bind->used[t - bind->gguf->tensors] = true;
}

void st_bind_spare(st_binder *bind, const char *fmt, uint32_t layer) {
    char name[NAME_MAX_LEN];
    layer_name(name, fmt, layer);
    const st_tensor *t = st_gguf_tensor(bind->gguf, name);
    if (t) mark(bind, t);
}

/* N of "blk.N."; false for a tensor outside the layers. A number beyond all bounds becomes UINT32_MAX. */
static bool layer_of(const st_tensor *t, uint32_t *layer) {
    static const char before[] = "blk.";
    size_t at = sizeof before - 1;
    if (t->name.len <= at || memcmp(t->name.data, before, at) != 0) return false;
    uint64_t n = 0;
    size_t first = at;
    for (; at < t->name.len && t->name.data[at] >= '0' && t->name.data[at] <= '9'; at++)
        if (n <= UINT32_MAX) n = 10 * n + (uint64_t)(t->name.data[at] - '0');
    *layer = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
    return at > first && at < t->name.len && t->name.data[at] == '.';
}

int st_bind_rest(const st_binder *bind, stretto_error *err) {
    const st_gguf *g = bind->gguf;
    const st_tensor *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const st_tensor *t = &g->tensors[i];
        uint32_t layer = 0;
        if (bind->used[i]) continue;
        if (layer_of(t, &layer) && layer >= bind->model->n_layers)
            return st_fail(err, STRETTO_E_INPUT, "%s: tensor %.*s is of layer %u, but %s.block_count is %u", g->path,
                           (int)t->name.len, t->name.data, layer, st_model_arch_name(bind->model),
                           bind->model->n_layers);
        if (n++ == 0) first = t;
    }
    if (first)
        st_warn(bind->log, "%s: %zu tensor%s nothing here reads, the first is %.*s: the original may do more", g->path,
                n, n == 1 ? " that" : "s that", (int)first->name.len, first->name.data);
    return STRETTO_OK;
}

/* Finds a tensor of rows x cols; rows 1 also takes a one-dimensional one. */
static int find_shaped(const st_binder *bind, const st_tensor **out, uint64_t rows, uint64_t cols, stretto_error *err,
                       const char *name) {
    const st_tensor *t = NULL;
    int code = st_tensor_require(bind->gguf, name, &t, err);
    if (code) return code;
    if (t->dims[0] != cols || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1)
        return shape_error(bind, t, cols, rows, err);
    mark(bind, t);
    *out = t;
    return 0;
}

int st_bind_vector(st_binder *bind, const float **out, uint64_t n, bool required, stretto_error *err, const char *fmt,
                   uint32_t layer) {
    char name[NAME_MAX_LEN];
    layer_name(name, fmt, layer);
    if (!required && !st_gguf_tensor(bind->gguf, name)) return 0;
    const st_tensor *t = NULL;
    int code = find_shaped(bind, &t, 1, n, err, name);
    if (code) return code;
    float *values = st_model_alloc(bind->model, n, sizeof *values, err);
    if (!values) return STRETTO_E_MEMORY;
    st_dequantize(t->type, t->data, values, n);
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return st_not_finite(bind->gguf, t, 0, err);
    *out = values;
    return 0;
}

static int note_pack(st_binder *bind, const st_tensor *t, st_matrix *m, stretto_error *err) {
    if (bind->n_packs == bind->cap_packs) {
        size_t cap = bind->cap_packs ? 2 * bind->cap_packs : 256;
        st_pack *grown = realloc(bind->packs, cap * sizeof *grown);
        if (!grown) return st_fail_memory(err, "list of matrices", cap * sizeof *grown);
        bind->packs = grown;
        bind->cap_packs = cap;
    }
    bind->packs[bind->n_packs++] = (st_pack){.tensor = t, .matrix = m, .offset = bind->region_bytes};
    size_t bytes = m->strip_bytes * st_matrix_strips(m);
    bind->region_bytes += (bytes + ST_ALIGN - 1) / ST_ALIGN * ST_ALIGN;
    return 0;
}

int st_bind_matrix(st_binder *bind, st_matrix *out, uint64_t rows, uint64_t cols, stretto_error *err, const char *fmt,
                   uint32_t layer) {
    char name[NAME_MAX_LEN];
    layer_name(name, fmt, layer);
    const st_tensor *t = NULL;
    int code = find_shaped(bind, &t, rows, cols, err, name);
    if (code) return code;
    const st_kern_format *format = t->type < ST_TYPE_COUNT ? bind->kern->formats[t->type] : NULL;
    size_t strip = format ? st_strip_bytes(format, (uint32_t)cols) : 0;
    if (!strip || rows > UINT32_MAX || cols > UINT32_MAX)
        return st_fail(err, STRETTO_E_INPUT, "%s: tensor %s is of type %s, which cannot be a matrix here",
                       bind->gguf->path, name, st_type_find(t->type)->name);
    *out = (st_matrix){
        .format = format, .rows = (uint32_t)rows, .cols = (uint32_t)cols, .strip_bytes = strip, .file_bytes = t->bytes};
    return note_pack(bind, t, out, err);
}

int st_bind_rows(st_binder *bind, const st_tensor **out, uint64_t rows, uint64_t cols, stretto_error *err,
                 const char *name) {
    return find_shaped(bind, out, rows, cols, err, name);
}

int st_bind_biases(st_binder *bind, st_layer *l, uint32_t i, bool required, stretto_error *err) {
    uint64_t heads = (uint64_t)l->n_heads * l->head_dim, kv = (uint64_t)l->n_kv_heads * l->head_dim;
    int code = st_bind_vector(bind, &l->q_bias, heads, required, err, "blk.%u.attn_q.bias", i);
    if (!code) code = st_bind_vector(bind, &l->k_bias, kv, required, err, "blk.%u.attn_k.bias", i);
    if (!code) code = st_bind_vector(bind, &l->v_bias, kv, required, err, "blk.%u.attn_v.bias", i);
    return code;
}

int st_bind_head_norms(st_binder *bind, st_layer *l, uint32_t i, stretto_error *err) {
    int code = st_bind_vector(bind, &l->q_norm, l->head_dim, true, err, "blk.%u.attn_q_norm.weight", i);
    if (!code) code = st_bind_vector(bind, &l->k_norm, l->head_dim, true, err, "blk.%u.attn_k_norm.weight", i);
    return code;
}

int st_bind_post_norms(st_binder *bind, st_layer *l, uint32_t i, stretto_error *err) {
    uint64_t d = bind->model->d_model;
    int code = st_bind_vector(bind, &l->post_attn_norm, d, true, err, "blk.%u.post_attention_norm.weight", i);
    if (!code) code = st_bind_vector(bind, &l->post_ffn_norm, d, true, err, "blk.%u.post_ffw_norm.weight", i);
    return code;
}
