/* SPDX-License-Identifier: MIT */
#include "api/api.h"

static void pass_on(void *arg, enum st_log_level level, const char *text) {
    const stretto_log *sink = arg;
    sink->fn(sink->arg, level == ST_LOG_WARN ? STRETTO_LOG_WARN : STRETTO_LOG_INFO, text);
}

const st_log *st_api_log_init(st_api_log *log, const stretto_log *sink) {
    if (!sink || !sink->fn) return NULL;
    log->sink = *sink;
    log->log = (st_log){.fn = pass_on, .arg = &log->sink};
    return &log->log;
}
