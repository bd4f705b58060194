/* SPDX-License-Identifier: MIT
 * Where warnings go. The library itself never prints. */
#ifndef STRETTO_LOG_H
#define STRETTO_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum stretto_log_level {
    STRETTO_LOG_WARN, /* something is not as it was asked for (fewer threads, an odd file), and what to do about it */
    STRETTO_LOG_INFO, /* worth knowing */
};

/* A sink, handed in where an object is opened and copied there; arg must stay valid until that object is closed. fn may
 * be called from any thread, also from several at once; text is one line without a newline and valid during the call.
 * NULL in place of a sink, or a NULL fn, means silence. */
typedef struct stretto_log {
    void (*fn)(void *arg, enum stretto_log_level level, const char *text);
    void *arg;
} stretto_log;

#ifdef __cplusplus
}
#endif
#endif
