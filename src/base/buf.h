/* SPDX-License-Identifier: MIT
 * A growable byte buffer, also used to build text. Zero-initialised is empty. A failed allocation sets `failed`, later
 * calls do nothing, and the caller checks once at the end. */
#ifndef ST_BASE_BUF_H
#define ST_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct st_buf {
    char *data; /* always followed by a NUL once anything was added; owned, st_buf_free */
    size_t len, cap;
    bool failed;
} st_buf;

void st_buf_add(st_buf *buf, const void *bytes, size_t n);
void st_buf_text(st_buf *buf, const char *text);
void st_buf_printf(st_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void st_buf_vprintf(st_buf *buf, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
void st_buf_free(st_buf *buf); /* and leaves it empty */

#endif
