/* SPDX-License-Identifier: MIT */
#include "stretto/unit.h"

#include "api/api.h"
#include "base/error.h"
#include "device/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cores of one set, or all of them. */
static int choose_cores(const stretto_unit *unit, const char *text, const st_log *log, unsigned *cores, unsigned *n,
                        stretto_error *err) {
    st_core_set *sets = NULL;
    unsigned n_sets = 0;
    *n = unit->host.n_cores < ST_UNIT_MAX_CORES ? unit->host.n_cores : ST_UNIT_MAX_CORES;
    for (unsigned i = 0; i < *n; i++) cores[i] = i;
    if (!text) return STRETTO_OK;
    int code = st_core_sets_parse(&sets, &n_sets, text, &unit->host, log, err);
    if (code) return code;
    if (n_sets != 1)
        code = st_fail(err, STRETTO_E_USAGE, "\"%s\" is %u units, wanted one: open each by itself", text, n_sets);
    else if (sets[0].n > ST_UNIT_MAX_CORES)
        code =
            st_fail(err, STRETTO_E_USAGE, "\"%s\" has %u cores, wanted at most %d", text, sets[0].n, ST_UNIT_MAX_CORES);
    for (unsigned i = 0; !code && i < sets[0].n; i++) cores[i] = sets[0].cores[i];
    if (!code) *n = sets[0].n;
    st_core_sets_free(sets, n_sets);
    return code;
}

static int open_lane(stretto_unit *unit, const char *text, const stretto_cpu_options *options, stretto_error *err) {
    unsigned cores[ST_UNIT_MAX_CORES], n = 0;
    const st_log *log = st_api_log_init(&unit->log, options->log);
    int code = st_host_read(&unit->host, "", err);
    if (code) return code;
    unit->has_host = true;
    code = choose_cores(unit, text, log, cores, &n, err);
    if (code) return code;
    st_cpu_options inner = {
        .cores = cores, .n_cores = n, .n_threads = options->threads, .pin = !options->unpinned, .log = log};
    return st_cpu_open(&unit->unit, &unit->host, &inner, err);
}

int stretto_unit_open_cpu(stretto_unit **out, const char *cores, const stretto_cpu_options *options,
                          stretto_error *err) {
    static const stretto_cpu_options defaults;
    *out = NULL;
    stretto_unit *unit = calloc(1, sizeof *unit);
    if (!unit) return st_fail_memory(err, "unit", sizeof *unit);
    int code = open_lane(unit, cores, options ? options : &defaults, err);
    if (code) {
        stretto_unit_close(unit);
        return code;
    }
    *out = unit;
    return STRETTO_OK;
}

void stretto_unit_close(stretto_unit *unit) {
    if (!unit) return;
    st_unit_close(unit->unit);
    if (unit->has_host) st_host_free(&unit->host);
    free(unit);
}

void stretto_unit_info_get(const stretto_unit *unit, stretto_unit_info *info) {
    st_unit_info inner;
    st_unit_info_get(unit->unit, &inner);
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", inner.name);
    snprintf(info->kind, sizeof info->kind, "%s", inner.kind);
    snprintf(info->device, sizeof info->device, "%s", inner.device);
    snprintf(info->driver, sizeof info->driver, "%s", inner.driver);
    info->n_threads = inner.n_threads;
    info->max_pending = inner.max_pending;
    info->shares_memory = inner.shares_memory;
}

int stretto_unit_run(stretto_unit *unit, const stretto_step *step, stretto_times *times, stretto_error *err) {
    st_queue *queue = NULL;
    st_event done;
    st_step inner = st_api_step(step);
    st_event_init(&done);
    int code = st_queue_open(unit->unit, &queue, err);
    if (code) return code;
    code = st_run_step(queue, &inner, &done, err);
    if (times) *times = (stretto_times){.submit_ns = done.submit_ns, .start_ns = done.start_ns, .end_ns = done.end_ns};
    st_queue_close(queue);
    return code;
}

uint64_t stretto_now_ns(void) {
    return st_now_ns();
}
