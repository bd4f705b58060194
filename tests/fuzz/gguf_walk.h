/* SPDX-License-Identifier: MIT
 * Reads everything that a parsed file offers, and stops the process where a promise of the headers is broken. For the
 * fuzz target and for the mutation test. */
#ifndef ST_TESTS_FUZZ_GGUF_WALK_H
#define ST_TESTS_FUZZ_GGUF_WALK_H

#include "gguf/gguf.h"
#include "gguf/message.h"

#include <stdlib.h>
#include <string.h>

static inline void walk_expect(bool promise) {
    if (!promise) abort();
}

/* Touches every byte, so that a sanitizer sees one that is out of bounds. */
static inline unsigned walk_sum(const void *bytes, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)bytes)[i];
    return sum;
}

static inline void walk_inside(const st_gguf *g, const void *data, size_t bytes) {
    walk_expect(bytes <= g->size && (const uint8_t *)data >= g->base);
    walk_expect((size_t)((const uint8_t *)data - g->base) <= g->size - bytes);
    volatile unsigned sum = walk_sum(data, bytes);
    (void)sum;
}

/* A name as a C string, or false when it has a NUL inside or is too long for out. */
static inline bool walk_c_string(st_str name, char *out, size_t size) {
    if (name.len >= size || memchr(name.data, 0, name.len)) return false;
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return true;
}

static inline void walk_items(const st_gguf *g, const st_value *v) {
    bool number = v->item_type != ST_V_STRING && v->item_type != ST_V_ARRAY;
    if (v->type == ST_V_ARRAY && v->item_type == ST_V_STRING) {
        size_t cursor = 0;
        for (uint64_t i = 0; i < v->count; i++) {
            st_str text = st_value_next_string(v, &cursor);
            walk_inside(g, text.data, text.len);
        }
        walk_expect(cursor == v->bytes);
        walk_expect(st_value_next_string(v, &cursor).len == 0);
    }
    volatile double sum = 0;
    for (uint64_t i = 0; number && i < v->count; i++) sum += (double)st_value_int(v, i) + st_value_float(v, i);
    (void)sum;
}

static inline void walk_getters(const st_gguf *g, const char *key, const st_value *v) {
    uint32_t u32 = 7, layers[3];
    float f32 = 7;
    bool flag = false;
    st_str text = {0};
    const st_value *array;
    stretto_error err;
    if (st_gguf_u32(g, key, true, &u32, &err)) walk_expect(err.code == STRETTO_E_INPUT && u32 == 7);
    if (st_gguf_f32(g, key, true, &f32, &err)) walk_expect(err.code == STRETTO_E_INPUT && v->type != ST_V_F32);
    if (st_gguf_bool(g, key, true, &flag, &err)) walk_expect(err.code == STRETTO_E_INPUT);
    walk_expect((st_gguf_str(g, key, true, &text, &err) == 0) == (v->type == ST_V_STRING));
    walk_inside(g, text.data ? (const void *)text.data : g->base, text.len);
    for (uint32_t type = 0; type <= ST_V_F64; type++) {
        int code = st_gguf_array(g, key, true, type, &array, &err);
        walk_expect((code == 0) == (v->type == ST_V_ARRAY && v->item_type == type));
        walk_expect((array == v) == (code == 0));
    }
    st_gguf_u32_per_layer(g, key, true, 3, layers, &err);
}

static inline void walk_value(const st_gguf *g, const st_value *v) {
    char key[256], printable[ST_NAME_SIZE];
    walk_inside(g, v->key.data, v->key.len);
    walk_inside(g, v->data, v->bytes);
    walk_expect(strlen(st_printable(printable, v->key)) < sizeof printable);
    walk_expect(strcmp(st_value_type_name(v->type), "unknown") != 0);
    walk_items(g, v);
    if (!walk_c_string(v->key, key, sizeof key)) return;
    walk_expect(st_gguf_find(g, key) == v);
    walk_getters(g, key, v);
}

static inline void walk_tensor(const st_gguf *g, const st_tensor *t) {
    const st_type_info *info = st_type_find(t->type);
    char name[256];
    walk_expect((t->data != NULL) == (t->bytes > 0));
    if (t->data) {
        walk_inside(g, t->data, t->bytes);
        walk_expect(t->data == g->base + t->offset && t->offset % 8 == 0);
        walk_expect(t->bytes / info->block_bytes * info->block_len ==
                    t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]);
    }
    if (t->data && info->readable) {
        float block[256];
        st_dequantize(t->type, t->data, block, info->block_len);
    }
    st_gguf_drop(g, t);
    if (!walk_c_string(t->name, name, sizeof name)) return;
    const st_tensor *found;
    stretto_error err;
    int code = st_tensor_require(g, name, &found, &err);
    walk_expect(st_gguf_tensor(g, name) == t);
    walk_expect((code == 0) == (t->data && info->readable) && (found == t) == (code == 0));
}

/* Parses size bytes and reads whatever came of it; returns the parser's code. */
static inline int walk_gguf(const void *bytes, size_t size) {
    st_gguf *g;
    stretto_error err = {0};
    int code = st_gguf_parse(&g, bytes, size, "walk.gguf", NULL, &err);
    if (code) {
        walk_expect(!g && (code == STRETTO_E_INPUT || code == STRETTO_E_MEMORY) && err.code == code);
        walk_expect(strncmp(err.text, "walk.gguf: ", 11) == 0 && strlen(err.text) > 20);
        return code;
    }
    for (size_t i = 0; i < g->n_values; i++) walk_value(g, &g->values[i]);
    for (size_t i = 0; i < g->n_tensors; i++) walk_tensor(g, &g->tensors[i]);
    uint32_t untouched = 5; /* no file can have an empty key */
    walk_expect(st_gguf_u32(g, "", false, &untouched, &err) == 0 && untouched == 5);
    walk_expect(st_gguf_u32(g, "", true, &untouched, &err) == STRETTO_E_INPUT);
    st_gguf_close(g);
    return 0;
}

#endif
