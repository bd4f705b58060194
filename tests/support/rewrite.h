/* SPDX-License-Identifier: MIT
 * A copy of a GGUF file with one thing changed, for tests of what must be refused. */
#ifndef ST_TEST_REWRITE_H
#define ST_TEST_REWRITE_H

#include "gguf/gguf.h"
#include "gguf/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct rewrite {
    const char *drop_key; /* left out */
    const char *u32_key;  /* written with u32_value instead (added when missing) */
    uint32_t u32_value;
    const char *f32_key;
    float f32_value;
    const char *string_key;
    const char *string_value;
    const char *drop_tensor;   /* left out */
    const char *add_tensor;    /* four zeros of f32 by this name, at the end */
    const char *cut_tensor;    /* its last dimension is one less */
    const char *poison_tensor; /* two bytes at poison_at become those of an infinite or NaN f16 or the top of a f32 */
    size_t poison_at;
    const char *flood_tensor; /* f32, all flood_value; or flood_count items from flood_from on */
    float flood_value;
    size_t flood_from, flood_count;
    const char *fill_tensor, *fill_from; /* the first one gets the contents of the second, of the same shape and type */
    const char *retype_tensor;           /* written as `retype` of as many bytes as that needs, zeros */
    uint32_t retype;
} rewrite;

static inline void rewrite_key(char *text, size_t size, st_str s) {
    snprintf(text, size, "%.*s", (int)s.len, s.data);
}

static inline void rewrite_strings(st_gguf_writer *w, const char *key, const st_value *v) {
    const char **values = calloc(v->count + 1, sizeof *values);
    size_t *lens = calloc(v->count + 1, sizeof *lens), cursor = 0;
    for (uint64_t i = 0; i < v->count; i++) {
        st_str s = st_value_next_string(v, &cursor);
        values[i] = s.data;
        lens[i] = s.len;
    }
    st_writer_strings(w, key, values, lens, v->count);
    free(values);
    free(lens);
}

static inline void rewrite_value(st_gguf_writer *w, const st_gguf *g, const st_value *v) {
    char key[256];
    stretto_error err;
    rewrite_key(key, sizeof key, v->key);
    if (v->type == ST_V_ARRAY) {
        if (v->item_type == ST_V_STRING)
            rewrite_strings(w, key, v);
        else
            st_writer_array(w, key, v->item_type, v->data, v->count);
    } else if (v->type == ST_V_STRING) {
        st_str s = {0};
        assert_int_equal(st_gguf_str(g, key, true, &s, &err), 0);
        st_writer_string(w, key, s.data, s.len);
    } else if (v->type == ST_V_F32) {
        float f = 0;
        assert_int_equal(st_gguf_f32(g, key, true, &f, &err), 0);
        st_writer_f32(w, key, f);
    } else if (v->type == ST_V_BOOL) {
        bool b = false;
        assert_int_equal(st_gguf_bool(g, key, true, &b, &err), 0);
        st_writer_bool(w, key, b);
    } else if (v->type == ST_V_U32) {
        uint32_t u = 0;
        assert_int_equal(st_gguf_u32(g, key, true, &u, &err), 0);
        st_writer_u32(w, key, u);
    } else {
        fail_msg("the fixtures have no %s of this type", key);
    }
}

static inline bool rewrite_is(st_str name, const char *text) {
    return text && st_str_equal(name, text);
}

static inline void rewrite_metadata(st_gguf_writer *w, const st_gguf *g, const rewrite *r) {
    for (size_t i = 0; i < g->n_values; i++) {
        const st_value *v = &g->values[i];
        if (rewrite_is(v->key, r->drop_key) || rewrite_is(v->key, r->u32_key) || rewrite_is(v->key, r->f32_key) ||
            rewrite_is(v->key, r->string_key))
            continue;
        rewrite_value(w, g, v);
    }
    if (r->u32_key) st_writer_u32(w, r->u32_key, r->u32_value);
    if (r->f32_key) st_writer_f32(w, r->f32_key, r->f32_value);
    if (r->string_key) st_writer_string(w, r->string_key, r->string_value, strlen(r->string_value));
}

static inline size_t rewrite_bytes(const st_tensor *t, uint32_t type, uint64_t rows) {
    const st_type_info *info = st_type_find(type);
    return (size_t)(t->dims[0] / info->block_len * info->block_bytes * rows);
}

static inline uint64_t rewrite_rows(const st_tensor *t, const rewrite *r) {
    uint64_t rows = t->dims[1] * t->dims[2] * t->dims[3];
    return rewrite_is(t->name, r->cut_tensor) ? rows - 1 : rows;
}

static inline void rewrite_declare(st_gguf_writer *w, const st_tensor *t, const rewrite *r) {
    char name[256];
    rewrite_key(name, sizeof name, t->name);
    uint64_t dims[2] = {t->dims[0], rewrite_rows(t, r)};
    bool vector = t->n_dims == 1 && rewrite_is(t->name, r->cut_tensor);
    if (vector) dims[0]--;
    st_writer_tensor(w, name, rewrite_is(t->name, r->retype_tensor) ? r->retype : t->type, dims, t->n_dims);
}

static inline void rewrite_data(st_gguf_writer *w, const st_gguf *g, const st_tensor *t, const rewrite *r) {
    bool retyped = rewrite_is(t->name, r->retype_tensor);
    size_t bytes = rewrite_bytes(t, retyped ? r->retype : t->type, rewrite_rows(t, r));
    if (t->n_dims == 1 && rewrite_is(t->name, r->cut_tensor)) bytes = t->bytes - t->bytes / (size_t)t->dims[0];
    uint8_t *copy = calloc(1, bytes + 4);
    assert_non_null(copy);
    if (!retyped) memcpy(copy, t->data, bytes);
    if (rewrite_is(t->name, r->fill_tensor)) memcpy(copy, st_gguf_tensor(g, r->fill_from)->data, bytes);
    if (rewrite_is(t->name, r->poison_tensor)) {
        copy[r->poison_at] = 0x80;
        copy[r->poison_at + 1] = 0x7f;
    }
    size_t flood_end = r->flood_count ? r->flood_from + r->flood_count : bytes / sizeof(float);
    for (size_t i = r->flood_from; rewrite_is(t->name, r->flood_tensor) && i < flood_end; i++)
        memcpy(copy + i * sizeof(float), &r->flood_value, sizeof(float));
    st_writer_data(w, copy, bytes);
    free(copy);
}

/* Writes the changed copy of g to path. */
static inline void rewrite_file(const st_gguf *g, const char *path, const rewrite *r) {
    stretto_error err = {0};
    st_gguf_writer *w = NULL;
    assert_int_equal(st_writer_open(&w, path, &err), 0);
    rewrite_metadata(w, g, r);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!rewrite_is(g->tensors[i].name, r->drop_tensor)) rewrite_declare(w, &g->tensors[i], r);
    if (r->add_tensor) st_writer_tensor(w, r->add_tensor, ST_F32, (const uint64_t[]){4}, 1);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!rewrite_is(g->tensors[i].name, r->drop_tensor)) rewrite_data(w, g, &g->tensors[i], r);
    if (r->add_tensor) st_writer_data(w, (const float[4]){0}, 4 * sizeof(float));
    if (st_writer_finish(w, &err)) fail_msg("%s", err.text);
}

#endif
