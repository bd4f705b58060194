/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and the NUL. */
static bool buf_reserve(st_buf *buf, size_t more) {
    if (buf->failed) return false;
    if (more >= SIZE_MAX - buf->len) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->len + more + 1;
    if (need <= buf->cap) return true;
    size_t cap = buf->cap > SIZE_MAX / 2 ? need : buf->cap * 2;
    if (cap < need) cap = need;
    if (cap < 64) cap = 64;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void st_buf_add(st_buf *buf, const void *bytes, size_t n) {
    if (!buf_reserve(buf, n)) return;
    if (n > 0) memcpy(buf->data + buf->len, bytes, n);
    buf->len += n;
    buf->data[buf->len] = '\0';
}

void st_buf_text(st_buf *buf, const char *text) {
    st_buf_add(buf, text, strlen(text));
}

void st_buf_vprintf(st_buf *buf, const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n < 0) {
        buf->failed = true;
    } else if (buf_reserve(buf, (size_t)n)) {
        vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
}

void st_buf_printf(st_buf *buf, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    st_buf_vprintf(buf, fmt, args);
    va_end(args);
}

void st_buf_free(st_buf *buf) {
    free(buf->data);
    *buf = (st_buf){0};
}
