/* SPDX-License-Identifier: MIT
 * GGUF files by hand, byte for byte, for what no writer would write. */
#ifndef ST_TESTS_GGUF_BYTES_H
#define ST_TESTS_GGUF_BYTES_H

#include "base/buf.h"
#include "gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

static inline void put_u8(st_buf *b, uint8_t v) {
    st_buf_add(b, &v, sizeof v);
}
static inline void put_u32(st_buf *b, uint32_t v) {
    st_buf_add(b, &v, sizeof v);
}
static inline void put_u64(st_buf *b, uint64_t v) {
    st_buf_add(b, &v, sizeof v);
}

static inline void put_str(st_buf *b, const char *text) {
    put_u64(b, strlen(text));
    st_buf_text(b, text);
}

static inline void put_header(st_buf *b, uint32_t version, uint64_t n_tensors, uint64_t n_values) {
    st_buf_text(b, "GGUF");
    put_u32(b, version);
    put_u64(b, n_tensors);
    put_u64(b, n_values);
}

/* The beginning of an entry; the value follows. */
static inline void put_key(st_buf *b, const char *key, uint32_t type) {
    put_str(b, key);
    put_u32(b, type);
}

static inline void put_key_u32(st_buf *b, const char *key, uint32_t value) {
    put_key(b, key, ST_V_U32);
    put_u32(b, value);
}

static inline void put_array(st_buf *b, uint32_t item_type, uint64_t count) {
    put_u32(b, item_type);
    put_u64(b, count);
}

static inline void put_tensor(st_buf *b, const char *name, uint32_t n_dims, const uint64_t *dims, uint32_t type,
                              uint64_t offset) {
    put_str(b, name);
    put_u32(b, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) put_u64(b, dims[i]);
    put_u32(b, type);
    put_u64(b, offset);
}

static inline void put_f32_row(st_buf *b, const char *name, uint64_t len, uint64_t offset) {
    put_tensor(b, name, 1, &len, ST_F32, offset);
}

static inline void put_zeros(st_buf *b, size_t n) {
    for (size_t i = 0; i < n; i++) put_u8(b, 0);
}

static inline void put_padding(st_buf *b, size_t alignment) {
    while (b->len % alignment) put_u8(b, 0);
}

/* A copy of exactly n bytes on the heap, so that a sanitizer sees the first byte read past the end; free(). */
static inline void *exact_copy(const void *bytes, size_t n) {
    void *copy = malloc(n ? n : 1);
    if (!copy) abort();
    if (n) memcpy(copy, bytes, n);
    return copy;
}

#endif
