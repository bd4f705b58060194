/* SPDX-License-Identifier: MIT
 * Reading GGUF files, versions 2 and 3. The parser works on (buffer, size) and trusts nothing in it; the opener maps a
 * file and calls the parser. After a successful parse every tensor lies inside the buffer, no two overlap, and every
 * key and name is a string inside it (of any bytes; see message.h for printing them). A parsed file is read-only: any
 * thread may call any getter. */
#ifndef ST_GGUF_GGUF_H
#define ST_GGUF_GGUF_H

#include "base/log.h"
#include "gguf/types.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum st_value_type {
    ST_V_U8 = 0,
    ST_V_I8,
    ST_V_U16,
    ST_V_I16,
    ST_V_U32,
    ST_V_I32,
    ST_V_F32,
    ST_V_BOOL,
    ST_V_STRING,
    ST_V_ARRAY,
    ST_V_U64,
    ST_V_I64,
    ST_V_F64,
};

typedef struct st_str { /* not terminated; points into the buffer */
    const char *data;
    size_t len;
} st_str;

typedef struct st_value {
    st_str key;
    uint32_t type;       /* enum st_value_type */
    uint32_t item_type;  /* of an array */
    uint64_t count;      /* of an array, else 1 */
    const uint8_t *data; /* first byte of the value (of the text, of the first item), unaligned, little endian */
    size_t bytes;        /* of the value, of the text, of all items with their lengths */
} st_value;

typedef struct st_tensor {
    st_str name;
    uint32_t type;
    uint32_t n_dims;
    uint64_t dims[4];    /* dims[0] is the row length (fastest); 1 beyond n_dims; the product fits in 63 bits */
    const uint8_t *data; /* NULL when the type is unknown or a dimension is 0: then nothing is known of the contents */
    uint64_t offset;     /* in the file */
    size_t bytes;        /* 0 when data is NULL */
} st_tensor;

typedef struct st_gguf {
    const char *path; /* for messages; owned */
    uint32_t version;
    uint32_t alignment;
    const uint8_t *base; /* the whole file */
    size_t size;
    st_value *values; /* [n_values] in file order */
    size_t n_values;
    st_tensor *tensors; /* [n_tensors] in file order */
    size_t n_tensors;
    void *impl; /* lookup tables, the mapping */
} st_gguf;

/* Parses size bytes at base, which must outlive the result; name is used in messages and copied. Warnings (unknown
 * tensor types that nobody needs, ...) go to log, which may be NULL. STRETTO_E_INPUT with the key or tensor, offset,
 * expected and found; STRETTO_E_MEMORY. On failure *out is NULL. Memory is O(entries), bounded by a constant times
 * size. */
int st_gguf_parse(st_gguf **out, const void *base, size_t size, const char *name, const st_log *log,
                  stretto_error *err);
/* Maps and parses. STRETTO_E_IO when the file cannot be opened, is a directory or another thing that is not a regular
 * file, is empty, or cannot be mapped; else as st_gguf_parse. A file must not shrink while it is mapped: the system
 * ends a process that reads past its new end. */
int st_gguf_open(st_gguf **out, const char *path, const st_log *log, stretto_error *err);
void st_gguf_close(st_gguf *gguf); /* NULL is fine */

const st_value *st_gguf_find(const st_gguf *gguf, const char *key);     /* NULL when missing */
const st_tensor *st_gguf_tensor(const st_gguf *gguf, const char *name); /* NULL when missing */
/* The tensor, which can be dequantized. STRETTO_E_INPUT when it is missing, has no elements, or is of a type that is
 * unknown or known but not readable: the reason names file, tensor and type. *out is NULL then. */
int st_tensor_require(const st_gguf *gguf, const char *name, const st_tensor **out, stretto_error *err);
/* STRETTO_E_INPUT when the file is one of several that hold a model together (keys split.count and split.no, as
 * llama-gguf-split writes them). */
int st_gguf_require_whole(const st_gguf *gguf, stretto_error *err);
bool st_str_equal(st_str s, const char *text);

/* Typed getters. `value` keeps its content when the key is missing and `required` is false. An integer of any width
 * is accepted where its value fits; a float where F32 or F64 stands. Errors name key, wanted and found type. */
int st_gguf_u32(const st_gguf *gguf, const char *key, bool required, uint32_t *value, stretto_error *err);
int st_gguf_f32(const st_gguf *gguf, const char *key, bool required, float *value, stretto_error *err);
int st_gguf_bool(const st_gguf *gguf, const char *key, bool required, bool *value, stretto_error *err);
int st_gguf_str(const st_gguf *gguf, const char *key, bool required, st_str *value, stretto_error *err);
/* An array whose items must be of item_type; *value is NULL when missing and not required. */
int st_gguf_array(const st_gguf *gguf, const char *key, bool required, uint32_t item_type, const st_value **value,
                  stretto_error *err);
/* A u32 for each of n layers: the key is an array of n integers or bools, or one integer or bool for all. */
int st_gguf_u32_per_layer(const st_gguf *gguf, const char *key, bool required, uint32_t n, uint32_t *values,
                          stretto_error *err);

/* Walks the strings of a string array in order: start with *cursor = 0 and call `count` times. The array was checked
 * by the parser, so this cannot fail; further calls give empty strings. */
st_str st_value_next_string(const st_value *array, size_t *cursor);
/* Item i of a numeric array (i < count; a single number is an array of one). As an integer: integers and bools, 0 for
 * anything else; u64 beyond INT64_MAX comes out negative. As a float: every numeric type. */
int64_t st_value_int(const st_value *array, uint64_t i);
double st_value_float(const st_value *array, uint64_t i);
const char *st_value_type_name(uint32_t type); /* "u32", "array", "unknown" */

/* Tells the kernel that the pages of a tensor are not needed any more (they were repacked); they are read again from
 * the file when touched. Does nothing for a file that st_gguf_parse was given in memory. */
void st_gguf_drop(const st_gguf *gguf, const st_tensor *tensor);

/* Copies bytes of a tensor, from byte `at` of it on, which the caller has checked to be there. Read from the file where
 * there is one: touching a page of the map would make it and those around it count as the program's memory. Any thread.
 */
void st_gguf_read(const st_gguf *gguf, const st_tensor *tensor, size_t at, size_t bytes, uint8_t *out);

#endif
