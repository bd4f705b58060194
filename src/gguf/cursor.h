/* SPDX-License-Identifier: MIT
 * A cursor over (base, size) that cannot leave it. Every length is compared with what is left before it is added or
 * multiplied. The first failure sticks: from then on every read gives zeros and changes nothing, so a caller may read a
 * whole record and look at `code` once. Messages name what is being read and where. */
#ifndef ST_GGUF_CURSOR_H
#define ST_GGUF_CURSOR_H

#include "gguf/gguf.h"

typedef struct st_cursor {
    const uint8_t *base;
    size_t size, pos;   /* pos <= size */
    int code;           /* of the first failure, else 0 */
    stretto_error *err; /* the first failure is described here; may be NULL */
    const char *kind;   /* what is being read: "key", or "metadata entry" as long as it has no name */
    st_str name;        /* its name, when name.data is not NULL */
    uint64_t number;    /* else its number, or ST_CURSOR_ONLY */
} st_cursor;

#define ST_CURSOR_ONLY UINT64_MAX /* there is only one of its kind */

/* From here on messages begin with "KIND NAME: " or, before a name is known, "KIND NUMBER: ". */
void st_cursor_about(st_cursor *c, const char *kind, uint64_t number);
void st_cursor_about_name(st_cursor *c, const char *kind, st_str name);

static inline size_t st_cursor_left(const st_cursor *c) {
    return c->size - c->pos;
}

/* `what` names the field in the message of a file that ends too early. */
uint32_t st_cursor_u32(st_cursor *c, const char *what);
uint64_t st_cursor_u64(st_cursor *c, const char *what);
/* count items of item_size bytes each, unaligned; NULL after a failure. */
const uint8_t *st_cursor_take(st_cursor *c, uint64_t count, size_t item_size, const char *what);
/* A string: u64 length, then the bytes. */
st_str st_cursor_string(st_cursor *c, const char *what);
/* Passes over count strings at memory speed. */
void st_cursor_skip_strings(st_cursor *c, uint64_t count);

/* Records a failure of what is being read (STRETTO_E_INPUT), unless there was one before; returns the code. */
int st_cursor_fail(st_cursor *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
