/* SPDX-License-Identifier: MIT
 * Where warnings and progress go. The library never prints: a caller hands in a sink, or NULL for silence. */
#ifndef ST_BASE_LOG_H
#define ST_BASE_LOG_H

enum st_log_level { ST_LOG_WARN, ST_LOG_INFO };

/* fn may be called from any thread, one call at a time is not promised; text has no newline. */
typedef struct st_log {
    void (*fn)(void *arg, enum st_log_level level, const char *text);
    void *arg;
} st_log;

void st_log_write(const st_log *log, enum st_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define st_warn(log, ...) st_log_write((log), ST_LOG_WARN, __VA_ARGS__)
#define st_info(log, ...) st_log_write((log), ST_LOG_INFO, __VA_ARGS__)

#endif
