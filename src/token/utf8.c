/* SPDX-License-Identifier: MIT */
#include "token/utf8.h"

#include "base/utf8.h"
#include "token/token.h"

#include <string.h>

static const char *const spaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\x1c",         "\x1d",         "\x1e",         "\x1f",         "\xc2\x85",     "\xc2\xa0",
    "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
    "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
    "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
};

static unsigned space_at(const char *bytes, size_t n, int at_end) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t len = strlen(spaces[i]);
        if (len <= n && memcmp(at_end ? bytes + n - len : bytes, spaces[i], len) == 0) return (unsigned)len;
    }
    return 0;
}

unsigned st_utf8_space_first(const char *bytes, size_t n) {
    return space_at(bytes, n, 0);
}
unsigned st_utf8_space_last(const char *bytes, size_t n) {
    return space_at(bytes, n, 1);
}

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* The held bytes are always the beginning of a character. With one more they are complete, still a beginning, or
 * neither: then they never will be one. */
void st_utf8_push(st_utf8_stream *stream, const char *bytes, size_t n, st_buf *out) {
    char *held = (char *)stream->held;
    for (size_t i = 0; i < n; i++) {
        held[stream->n_held] = bytes[i];
        if (st_utf8_is_beginning(held, stream->n_held + 1)) {
            stream->n_held++;
        } else if (st_utf8_length(held, stream->n_held + 1) == stream->n_held + 1) {
            st_buf_add(out, held, stream->n_held + 1);
            stream->n_held = 0;
        } else if (stream->n_held > 0) {
            st_utf8_finish(stream, out);
            i--; /* this byte may begin another */
        } else {
            st_buf_text(out, replacement);
        }
    }
}

void st_utf8_finish(st_utf8_stream *stream, st_buf *out) {
    if (stream->n_held > 0) st_buf_text(out, replacement);
    stream->n_held = 0;
}
