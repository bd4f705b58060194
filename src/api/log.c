/* SPDX-License-Identifier: MIT */
#include "api/api.h"

static void pass_on(void *arg, enum st_log_level level, const char *text) {
    const stretto_log *sink = arg;
    enum stretto_log_level public_level = level == ST_LOG_WARN   ? STRETTO_LOG_WARN
                                          : level == ST_LOG_INFO ? STRETTO_LOG_INFO
                                                                 : STRETTO_LOG_DEBUG;
    sink->fn(sink->arg, public_level, text);
}

const st_log *st_api_log_init(st_api_log *log, const stretto_log *sink) {
    if (!sink || !sink->fn) return NULL;
    log->sink = *sink;
    log->log = (st_log){.fn = pass_on, .arg = &log->sink};
    return &log->log;
}
