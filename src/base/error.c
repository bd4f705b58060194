/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Reasons quote names out of hostile files and end on terminals: no control bytes, so no escape sequences. */
static void text_clean(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f) *c = '?';
}

/* A text that was cut may end inside a UTF-8 sequence: drop that piece. */
static void text_trim(char *text, size_t len) {
    size_t start = len;
    while (start > 0 && len - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (len - (start - 1) < want) text[start - 1] = '\0';
}

static void text_set(stretto_error *err, const char *text, int full_len) {
    size_t len = strnlen(text, sizeof err->text - 1);
    memcpy(err->text, text, len);
    err->text[len] = '\0';
    if (full_len < 0 || (size_t)full_len > len) text_trim(err->text, len);
    text_clean(err->text);
}

int st_failv(stretto_error *err, int code, const char *fmt, va_list args) {
    if (!err) return code;
    char text[sizeof err->text]; /* apart, since an argument may be err->text itself */
    int len = vsnprintf(text, sizeof text, fmt, args);
    if (len < 0) text[0] = '\0';
    err->code = code;
    text_set(err, text, len);
    return code;
}

int st_fail(stretto_error *err, int code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    st_failv(err, code, fmt, args);
    va_end(args);
    return code;
}

int st_fail_prefix(stretto_error *err, const char *prefix) {
    if (!err) return STRETTO_E_INTERNAL;
    return st_fail(err, err->code, "%s: %s", prefix, err->text);
}

int st_fail_memory(stretto_error *err, const char *what, unsigned long long bytes) {
    return st_fail(err, STRETTO_E_MEMORY, "out of memory: %s needs %llu bytes", what, bytes);
}
