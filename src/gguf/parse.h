/* SPDX-License-Identifier: MIT
 * What the files of the parser share. */
#ifndef ST_GGUF_PARSE_H
#define ST_GGUF_PARSE_H

#include "gguf/cursor.h"
#include "gguf/gguf.h"
#include "gguf/index.h"

typedef struct st_gguf_impl {
    st_index values, tensors; /* by key, by name */
    void *map;                /* the mapping that st_gguf_open made, or NULL */
    size_t map_size;
    int fd; /* of the file, where there is a mapping */
} st_gguf_impl;

static inline st_gguf_impl *st_impl(const st_gguf *gguf) {
    return gguf->impl;
}

/* Arrays of arrays are passed over down to this depth; nothing that we know of nests even twice. */
#define ST_ARRAY_DEPTH 8
#define ST_KEY_MAX 65535 /* bytes, by the specification */
#define ST_DEFAULT_ALIGNMENT 32

/* Bytes of one value of a numeric type, 0 for strings, arrays and types that do not exist. */
size_t st_value_size(uint32_t type);

/* Both read `count` entries at the cursor into gguf, and check what can be seen there: types, sizes, duplicates. */
int st_parse_values(st_gguf *gguf, st_cursor *c, uint64_t count);
int st_parse_tensors(st_gguf *gguf, st_cursor *c, uint64_t count);

/* Turns the offsets that the entries gave into places in the file, where data_start is the end of the entries, aligned;
 * checks that every tensor lies inside the file and that no two overlap. */
int st_place_tensors(st_gguf *gguf, uint64_t data_start, const st_log *log, stretto_error *err);

#endif
