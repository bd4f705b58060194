/* SPDX-License-Identifier: MIT */
#include "gguf/message.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *st_number(char out[ST_NUMBER_SIZE], uint64_t value) {
    char digits[21];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value), at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *st_bytes(char out[ST_NUMBER_SIZE], uint64_t n) {
    st_number(out, n);
    return strcat(out, n == 1 ? " byte" : " bytes");
}

const char *st_printable(char out[ST_NAME_SIZE], st_str name) {
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (at + sizeof "\\x00..." > ST_NAME_SIZE) {
            memcpy(out + at, "...", 3);
            at += 3;
            break;
        }
        if (c >= 0x20 && c < 0x7f) {
            out[at++] = (char)c;
        } else {
            memcpy(out + at, "\\x", 2);
            out[at + 2] = hex[c >> 4];
            out[at + 3] = hex[c & 15];
            at += 4;
        }
    }
    out[at] = '\0';
    return out;
}

const char *st_dims_text(char out[ST_DIMS_SIZE], const uint64_t *dims, uint32_t n_dims) {
    int at = snprintf(out, ST_DIMS_SIZE, "[");
    for (uint32_t i = 0; i < n_dims && i < 4; i++)
        at += snprintf(out + at, ST_DIMS_SIZE - (size_t)at, "%s%s", i ? " x " : "", ST_NUMBER(dims[i]));
    snprintf(out + at, ST_DIMS_SIZE - (size_t)at, "]");
    return out;
}

/* No file has a terabyte missing: then the number itself is wrong. */
const char *st_short_reason(uint64_t missing_bytes) {
    return missing_bytes < (uint64_t)1 << 40 ? "truncated download?" : "damaged file?";
}

int st_fail_in_file(stretto_error *err, const char *path) {
    char shortened[ST_PATH_SIZE];
    size_t len = strlen(path);
    if (len < sizeof shortened) return st_fail_prefix(err, path);
    snprintf(shortened, sizeof shortened, "...%s", path + len - (sizeof shortened - 4));
    return st_fail_prefix(err, shortened);
}

int st_gguf_refuse(const st_gguf *gguf, stretto_error *err, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int code = st_failv(err, STRETTO_E_INPUT, fmt, args);
    va_end(args);
    if (err) st_fail_in_file(err, gguf->path);
    return code;
}
