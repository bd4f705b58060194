/* SPDX-License-Identifier: MIT
 * Metadata entries: key, type, value. Values stay where they are; only their place and extent are noted. */
#include "base/error.h"
#include "gguf/message.h"
#include "gguf/parse.h"

#include <stdlib.h>

/* A type, and the count of items of it, of an array at the cursor. */
static uint32_t parse_array_head(st_cursor *c, uint64_t *count) {
    uint32_t type = st_cursor_u32(c, "item type of an array");
    *count = st_cursor_u64(c, "length of an array");
    if (type > ST_V_F64)
        st_cursor_fail(c, "array items of type %s, which no version of GGUF has (damaged file?)", ST_NUMBER(type));
    return type;
}

/* Passes over an array's items. Arrays of arrays wait on a stack of fixed depth; each item there takes 12 bytes at
 * least, so the time is bounded by the file's size. */
static void skip_items(st_cursor *c, uint32_t type, uint64_t count) {
    uint64_t waiting[ST_ARRAY_DEPTH];
    unsigned depth = 0;
    while (!c->code) {
        if (type == ST_V_STRING) {
            st_cursor_skip_strings(c, count);
        } else if (type != ST_V_ARRAY) {
            st_cursor_take(c, count, st_value_size(type), "array");
        } else if (depth == ST_ARRAY_DEPTH) {
            st_cursor_fail(c, "arrays are nested more than %d deep at %s", ST_ARRAY_DEPTH, ST_NUMBER(c->pos));
        } else {
            waiting[depth++] = count;
        }
        while (depth > 0 && waiting[depth - 1] == 0) depth--;
        if (depth == 0) return;
        waiting[depth - 1]--;
        type = parse_array_head(c, &count);
    }
}

static void parse_content(st_cursor *c, st_value *value) {
    value->count = 1;
    value->item_type = value->type;
    if (value->type == ST_V_STRING) {
        st_str text = st_cursor_string(c, "string");
        value->data = (const uint8_t *)text.data;
        value->bytes = text.len;
    } else if (value->type == ST_V_ARRAY) {
        value->item_type = parse_array_head(c, &value->count);
        value->data = c->base + c->pos;
        size_t start = c->pos;
        skip_items(c, value->item_type, value->count);
        value->bytes = c->pos - start;
    } else if (value->type <= ST_V_F64) {
        value->bytes = st_value_size(value->type);
        value->data = st_cursor_take(c, 1, value->bytes, "value");
    } else {
        st_cursor_fail(c, "value of type %s, which no version of GGUF has (damaged file?)", ST_NUMBER(value->type));
    }
}

static void parse_value(st_cursor *c, st_value *value, uint64_t number) {
    st_cursor_about(c, "metadata entry", number);
    size_t start = c->pos;
    value->key = st_cursor_string(c, "key");
    if (c->code) return;
    if (value->key.len == 0) {
        st_cursor_fail(c, "the key at %s is empty", ST_NUMBER(start));
    } else if (value->key.len > ST_KEY_MAX) {
        st_cursor_fail(c, "the key at %s has %s, more than the %s that GGUF allows", ST_NUMBER(start),
                       ST_BYTES(value->key.len), ST_NUMBER(ST_KEY_MAX));
    } else {
        st_cursor_about_name(c, "key", value->key);
        value->type = st_cursor_u32(c, "type");
        if (!c->code) parse_content(c, value);
    }
}

static int index_values(st_gguf *gguf, stretto_error *err) {
    st_index *index = &st_impl(gguf)->values;
    if (!st_index_create(index, gguf->n_values))
        return st_fail_memory(err, "the metadata index", gguf->n_values * 24ull);
    for (size_t i = 0; i < gguf->n_values; i++) index->entries[i] = (st_index_entry){gguf->values[i].key, i};
    size_t twice[2];
    if (st_index_sort(index, twice)) return 0;
    return st_fail(err, STRETTO_E_INPUT, "key %s is there twice, as metadata entries %s and %s",
                   ST_NAME(gguf->values[twice[0]].key), ST_NUMBER(twice[0] + 1), ST_NUMBER(twice[1] + 1));
}

int st_parse_values(st_gguf *gguf, st_cursor *c, uint64_t count) {
    size_t cap = 0;
    while (gguf->n_values < count) { /* grows as entries come, so that a false count costs nothing */
        st_value *values = st_grow(gguf->values, gguf->n_values, &cap, sizeof *values, (size_t)count);
        if (!values) return st_fail_memory(c->err, "the metadata", count * sizeof *values);
        gguf->values = values;
        st_value value = {0};
        parse_value(c, &value, gguf->n_values + 1);
        if (c->code) return c->code;
        values[gguf->n_values++] = value;
    }
    return index_values(gguf, c->err);
}
