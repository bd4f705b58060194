/* SPDX-License-Identifier: MIT */
#include "report/json.h"

json_t *st_json_interval(const st_interval *interval) {
    json_t *object = json_object();
    st_json_set(&object, "value", st_json_real(interval->value));
    st_json_set(&object, "lo", st_json_real(interval->lo));
    st_json_set(&object, "hi", st_json_real(interval->hi));
    return object;
}

static json_t *host_object(const st_host *host) {
    json_t *object = json_object();
    st_json_set(&object, "cpu", st_json_text(host->cpu_model));
    st_json_set(&object, "isa", st_json_text(host->isa));
    st_json_set(&object, "kernel", st_json_text(host->kernel));
    st_json_set(&object, "governor", *host->governor ? st_json_text(host->governor) : json_null());
    st_json_set(&object, "cores", st_json_count(host->n_cores));
    st_json_set(&object, "cpus", st_json_count(host->n_cpus));
    st_json_set(&object, "quota_cpus", host->quota_cpus > 0 ? st_json_real(host->quota_cpus) : json_null());
    st_json_set(&object, "llc_bytes", st_json_count(host->llc_bytes));
    st_json_set(&object, "memory_bytes", st_json_count(host->memory_bytes));
    return object;
}

void st_json_origin(json_t **object, const st_origin *origin) {
    if (origin->version) st_json_set(object, "version", st_json_text(origin->version));
    if (origin->argv) {
        json_t *words = json_array();
        for (int i = 0; i < origin->argc; i++) st_json_append(&words, st_json_text(origin->argv[i]));
        st_json_set(object, "command_line", words);
    }
    if (origin->host) st_json_set(object, "host", host_object(origin->host));
    if (origin->seed) st_json_set(object, "seed", st_json_count(*origin->seed));
    if (origin->others)
        st_json_set(object, "others_cpus", *origin->others >= 0 ? st_json_real(*origin->others) : json_null());
    struct tm utc;
    char text[32];
    if (origin->when && gmtime_r(&origin->when, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        st_json_set(object, "time", json_string(text));
}
