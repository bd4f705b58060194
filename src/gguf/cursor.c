/* SPDX-License-Identifier: MIT */
#include "gguf/cursor.h"

#include "base/error.h"
#include "gguf/message.h"

#include <stdarg.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie in the file");

void st_cursor_about(st_cursor *c, const char *kind, uint64_t number) {
    c->kind = kind;
    c->name = (st_str){0};
    c->number = number;
}

void st_cursor_about_name(st_cursor *c, const char *kind, st_str name) {
    c->kind = kind;
    c->name = name;
    c->number = 0;
}

int st_cursor_fail(st_cursor *c, const char *fmt, ...) {
    if (c->code) return c->code;
    stretto_error reason;
    va_list args;
    va_start(args, fmt);
    c->code = st_failv(&reason, STRETTO_E_INPUT, fmt, args);
    va_end(args);
    if (c->number == ST_CURSOR_ONLY) return st_fail(c->err, c->code, "%s: %s", c->kind, reason.text);
    return st_fail(c->err, c->code, "%s %s: %s", c->kind, c->name.data ? ST_NAME(c->name) : ST_NUMBER(c->number),
                   reason.text);
}

/* What stands at c->pos needs count * item_size bytes, more than are left. */
static void fail_short(st_cursor *c, uint64_t count, size_t item_size, const char *what) {
    size_t left = st_cursor_left(c);
    if (count > UINT64_MAX / item_size) {
        st_cursor_fail(c, "%s at %s has %s items of %zu bytes, but only %s are left in the file (damaged file?)", what,
                       ST_NUMBER(c->pos), ST_NUMBER(count), item_size, ST_BYTES(left));
        return;
    }
    uint64_t missing = count * item_size - left;
    st_cursor_fail(c, "%s at %s needs %s, but the file ends %s short (%s)", what, ST_NUMBER(c->pos),
                   ST_BYTES(count * item_size), ST_BYTES(missing), st_short_reason(missing));
}

const uint8_t *st_cursor_take(st_cursor *c, uint64_t count, size_t item_size, const char *what) {
    if (c->code) return NULL;
    if (count > st_cursor_left(c) / item_size) {
        fail_short(c, count, item_size, what);
        return NULL;
    }
    const uint8_t *at = c->base + c->pos;
    c->pos += (size_t)count * item_size;
    return at;
}

uint32_t st_cursor_u32(st_cursor *c, const char *what) {
    uint32_t value = 0;
    const uint8_t *at = st_cursor_take(c, 1, sizeof value, what);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

uint64_t st_cursor_u64(st_cursor *c, const char *what) {
    uint64_t value = 0;
    const uint8_t *at = st_cursor_take(c, 1, sizeof value, what);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

st_str st_cursor_string(st_cursor *c, const char *what) {
    uint64_t len = st_cursor_u64(c, what);
    const uint8_t *at = st_cursor_take(c, len, 1, what);
    return at ? (st_str){(const char *)at, (size_t)len} : (st_str){0};
}

void st_cursor_skip_strings(st_cursor *c, uint64_t count) {
    if (c->code) return;
    if (count > st_cursor_left(c) / sizeof(uint64_t)) {
        st_cursor_fail(c, "array at %s has %s strings, more than the %s left in the file can hold (%s)",
                       ST_NUMBER(c->pos), ST_NUMBER(count), ST_BYTES(st_cursor_left(c)), st_short_reason(count));
        return;
    }
    const uint8_t *base = c->base;
    size_t pos = c->pos, size = c->size; /* in registers: a vocabulary is a quarter of a million of these */
    uint64_t i = 0;
    for (; i < count; i++) {
        uint64_t len;
        if (size - pos < sizeof len) break;
        memcpy(&len, base + pos, sizeof len);
        if (len > size - pos - sizeof len) break;
        pos += sizeof len + (size_t)len;
    }
    c->pos = pos;
    if (i < count) st_cursor_string(c, "string in the array"); /* says what is wrong with it */
}
