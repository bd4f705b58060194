/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

static void text_set(stretto_error *err, const char *text, int full_len) {
    size_t len = strnlen(text, sizeof err->text - 1);
    memcpy(err->text, text, len);
    err->text[len] = '\0';
    if (full_len < 0 || (size_t)full_len > len) st_utf8_trim(err->text);
    st_utf8_tame(err->text); /* reasons quote names out of hostile files and end on terminals */
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

int st_code_of(int returned) {
    return returned <= STRETTO_OK && returned >= STRETTO_E_INTERNAL ? returned : STRETTO_E_UNIT;
}
