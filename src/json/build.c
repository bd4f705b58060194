/* SPDX-License-Identifier: MIT */
#include "json/build.h"

#include "base/utf8.h"

json_t *st_json_text(const char *text) {
    st_buf clean = {0};
    st_utf8_clean(&clean, text);
    json_t *value = clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.len);
    st_buf_free(&clean);
    return value;
}

json_t *st_json_real(double value) {
    json_t *real = json_real(value);
    return real ? real : json_null(); /* jansson refuses what JSON has no word for */
}

json_t *st_json_count(uint64_t value) {
    return json_integer(value > INT64_MAX ? (json_int_t)INT64_MAX : (json_int_t)value);
}

void st_json_set(json_t **object, const char *key, json_t *value) {
    if (*object && value && json_object_set_new(*object, key, value) == 0) return; /* drops value when it fails */
    if (!*object) json_decref(value);
    json_decref(*object);
    *object = NULL;
}

void st_json_append(json_t **array, json_t *value) {
    if (*array && value && json_array_append_new(*array, value) == 0) return;
    if (!*array) json_decref(value);
    json_decref(*array);
    *array = NULL;
}

static int write_bytes(const char *bytes, size_t n, void *arg) {
    st_buf *out = arg;
    st_buf_add(out, bytes, n);
    return out->failed ? -1 : 0;
}

void st_json_write(st_buf *out, json_t *value, bool compact) {
    size_t flags = JSON_REAL_PRECISION(10) | (compact ? JSON_COMPACT : JSON_INDENT(1));
    if (!value || json_dump_callback(value, write_bytes, out, flags) != 0) out->failed = true;
    st_buf_text(out, "\n");
    json_decref(value);
}
