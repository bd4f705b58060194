/* SPDX-License-Identifier: MIT
 * Looking up keys and tensors, and reading values. */
#include "gguf/gguf.h"

#include "base/error.h"
#include "gguf/message.h"
#include "gguf/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t size; /* of one number, else 0 */
} value_types[] = {
    [ST_V_U8] = {"u8", 1},   [ST_V_I8] = {"i8", 1},   [ST_V_U16] = {"u16", 2},       [ST_V_I16] = {"i16", 2},
    [ST_V_U32] = {"u32", 4}, [ST_V_I32] = {"i32", 4}, [ST_V_F32] = {"f32", 4},       [ST_V_BOOL] = {"bool", 1},
    [ST_V_U64] = {"u64", 8}, [ST_V_I64] = {"i64", 8}, [ST_V_STRING] = {"string", 0}, [ST_V_ARRAY] = {"array", 0},
    [ST_V_F64] = {"f64", 8},
};

const char *st_value_type_name(uint32_t type) {
    return type <= ST_V_F64 ? value_types[type].name : "unknown";
}

size_t st_value_size(uint32_t type) {
    return type <= ST_V_F64 ? value_types[type].size : 0;
}

bool st_str_equal(st_str s, const char *text) {
    size_t len = strlen(text);
    return s.len == len && (len == 0 || memcmp(s.data, text, len) == 0);
}

const st_value *st_gguf_find(const st_gguf *gguf, const char *key) {
    size_t at = st_index_find(&st_impl(gguf)->values, (st_str){key, strlen(key)});
    return at == SIZE_MAX ? NULL : &gguf->values[at];
}

const st_tensor *st_gguf_tensor(const st_gguf *gguf, const char *name) {
    size_t at = st_index_find(&st_impl(gguf)->tensors, (st_str){name, strlen(name)});
    return at == SIZE_MAX ? NULL : &gguf->tensors[at];
}

int st_tensor_require(const st_gguf *gguf, const char *name, const st_tensor **out, stretto_error *err) {
    *out = NULL;
    const st_tensor *tensor = st_gguf_tensor(gguf, name);
    if (!tensor) return st_gguf_refuse(gguf, err, "tensor %s is missing", name);
    const st_type_info *info = st_type_find(tensor->type);
    if (!info) return st_gguf_refuse(gguf, err, "tensor %s has the unknown type %s", name, ST_NUMBER(tensor->type));
    if (!tensor->data)
        return st_gguf_refuse(gguf, err, "tensor %s has no elements: %s", name, ST_DIMS(tensor->dims, tensor->n_dims));
    if (!info->readable)
        return st_gguf_refuse(gguf, err, "tensor %s has type %s, which cannot be read yet", name, info->name);
    *out = tensor;
    return 0;
}

static bool is_integer(uint32_t type) {
    return type <= ST_V_I32 || type == ST_V_U64 || type == ST_V_I64;
}

/* "array of u8", "f32" */
static const char *describe(char out[32], const st_value *value) {
    if (value->type == ST_V_ARRAY)
        snprintf(out, 32, "array of %s", st_value_type_name(value->item_type));
    else
        snprintf(out, 32, "%s", st_value_type_name(value->type));
    return out;
}

static int fail_type(const st_gguf *gguf, const st_value *value, const char *wanted, stretto_error *err) {
    char found[32];
    return st_gguf_refuse(gguf, err, "key %s is %s, wanted %s", ST_NAME(value->key), describe(found, value), wanted);
}

/* *found is NULL when the key is missing, which is an error only if it is required. */
static int find_value(const st_gguf *gguf, const char *key, bool required, const st_value **found, stretto_error *err) {
    *found = st_gguf_find(gguf, key);
    if (*found || !required) return 0;
    return st_gguf_refuse(gguf, err, "key %s is missing", key);
}

int64_t st_value_int(const st_value *array, uint64_t i) {
    const uint8_t *at = array->data + i * st_value_size(array->item_type);
    union {
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
    } v;
    if (!is_integer(array->item_type) && array->item_type != ST_V_BOOL) return 0;
    memcpy(&v, at, st_value_size(array->item_type));
    switch (array->item_type) {
    case ST_V_I8:
        return v.i8;
    case ST_V_U16:
        return v.u16;
    case ST_V_I16:
        return v.i16;
    case ST_V_U32:
        return v.u32;
    case ST_V_I32:
        return v.i32;
    case ST_V_U64:
    case ST_V_I64:
        return v.i64;
    default:
        return *at; /* u8, bool */
    }
}

double st_value_float(const st_value *array, uint64_t i) {
    const uint8_t *at = array->data + i * st_value_size(array->item_type);
    if (array->item_type == ST_V_F32) {
        float value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (array->item_type == ST_V_F64) {
        double value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    int64_t value = st_value_int(array, i);
    return array->item_type == ST_V_U64 ? (double)(uint64_t)value : (double)value;
}

/* Item i of a value of integers as a u32. */
static int item_u32(const st_gguf *gguf, const st_value *value, uint64_t i, uint32_t *out, stretto_error *err) {
    int64_t number = st_value_int(value, i);
    if (number >= 0 && number <= UINT32_MAX) {
        *out = (uint32_t)number;
        return 0;
    }
    char digits[24];
    if (value->item_type == ST_V_U64)
        snprintf(digits, sizeof digits, "%" PRIu64, (uint64_t)number);
    else
        snprintf(digits, sizeof digits, "%" PRId64, number);
    if (value->type == ST_V_ARRAY)
        return st_gguf_refuse(gguf, err, "item %s of key %s is %s, wanted 0 to %u", ST_NUMBER(i), ST_NAME(value->key),
                              digits, UINT32_MAX);
    return st_gguf_refuse(gguf, err, "key %s is %s, wanted 0 to %u", ST_NAME(value->key), digits, UINT32_MAX);
}

int st_gguf_u32(const st_gguf *gguf, const char *key, bool required, uint32_t *value, stretto_error *err) {
    const st_value *found;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    if (!is_integer(found->type)) return fail_type(gguf, found, "an integer", err);
    return item_u32(gguf, found, 0, value, err);
}

int st_gguf_require_whole(const st_gguf *gguf, stretto_error *err) {
    uint32_t parts = 1, number = 0;
    if (st_gguf_u32(gguf, "split.count", false, &parts, NULL) || parts <= 1) return 0;
    if (st_gguf_u32(gguf, "split.no", false, &number, NULL)) number = 0;
    return st_gguf_refuse(gguf, err,
                          "this is part %s of %s of a model: make one file of them first (llama-gguf-split --merge)",
                          ST_NUMBER((uint64_t)number + 1), ST_NUMBER(parts));
}

int st_gguf_f32(const st_gguf *gguf, const char *key, bool required, float *value, stretto_error *err) {
    const st_value *found;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    if (found->type != ST_V_F32 && found->type != ST_V_F64) return fail_type(gguf, found, "f32", err);
    *value = (float)st_value_float(found, 0);
    return 0;
}

int st_gguf_bool(const st_gguf *gguf, const char *key, bool required, bool *value, stretto_error *err) {
    const st_value *found;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    if (found->type != ST_V_BOOL) return fail_type(gguf, found, "bool", err);
    if (found->data[0] > 1)
        return st_gguf_refuse(gguf, err, "key %s is the bool %u, wanted 0 or 1", ST_NAME(found->key), found->data[0]);
    *value = found->data[0] == 1;
    return 0;
}

int st_gguf_str(const st_gguf *gguf, const char *key, bool required, st_str *value, stretto_error *err) {
    const st_value *found;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    if (found->type != ST_V_STRING) return fail_type(gguf, found, "string", err);
    *value = (st_str){(const char *)found->data, found->bytes};
    return 0;
}

int st_gguf_array(const st_gguf *gguf, const char *key, bool required, uint32_t item_type, const st_value **value,
                  stretto_error *err) {
    const st_value *found;
    *value = NULL;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    if (found->type == ST_V_ARRAY && found->item_type == item_type) {
        *value = found;
        return 0;
    }
    char wanted[32];
    return fail_type(gguf, found, describe(wanted, &(st_value){.type = ST_V_ARRAY, .item_type = item_type}), err);
}

int st_gguf_u32_per_layer(const st_gguf *gguf, const char *key, bool required, uint32_t n, uint32_t *values,
                          stretto_error *err) {
    const st_value *found;
    int code = find_value(gguf, key, required, &found, err);
    if (code || !found) return code;
    bool is_array = found->type == ST_V_ARRAY;
    if (!is_integer(found->item_type) && found->item_type != ST_V_BOOL)
        return fail_type(gguf, found, "an integer, or an array of them", err);
    if (is_array && found->count != n)
        return st_gguf_refuse(gguf, err, "key %s has %s items, wanted %u, one a layer", ST_NAME(found->key),
                              ST_NUMBER(found->count), n);
    for (uint32_t i = 0; i < n; i++) {
        code = item_u32(gguf, found, is_array ? i : 0, &values[i], err);
        if (code) return code;
    }
    return 0;
}

st_str st_value_next_string(const st_value *array, size_t *cursor) {
    uint64_t len;
    bool strings = array->type == ST_V_ARRAY && array->item_type == ST_V_STRING;
    if (!strings || array->bytes - *cursor < sizeof len) return (st_str){"", 0};
    memcpy(&len, array->data + *cursor, sizeof len);
    st_str text = {(const char *)array->data + *cursor + sizeof len, (size_t)len};
    *cursor += sizeof len + (size_t)len;
    return text;
}
