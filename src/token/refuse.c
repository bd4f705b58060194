/* SPDX-License-Identifier: MIT */
#include "token/refuse.h"

#include "gguf/message.h"

int st_token_refuse(const st_gguf *gguf, stretto_error *err, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int code = st_failv(err, STRETTO_E_INPUT, fmt, args);
    va_end(args);
    if (err) st_fail_in_file(err, gguf->path);
    return code;
}
