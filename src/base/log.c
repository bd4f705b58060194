/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void st_log_write(const st_log *log, enum st_log_level level, const char *fmt, ...) {
    if (!log || !log->fn) return;
    char text[1024]; /* longer text is cut */
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0) return;
    st_utf8_trim(text);
    log->fn(log->arg, level, text);
}
