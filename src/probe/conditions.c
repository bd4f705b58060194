/* SPDX-License-Identifier: MIT
 * Throttling counts: nr_throttled of the process's own control groups and core_throttle_count (x86 thermal). */
#include "probe/conditions.h"

#include "base/cgroup.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the first number in a file. */
static void count_add(int64_t *count, const char *root, const char *path) {
    st_buf text = {0};
    if (st_file_read(&text, root, path, 64) && !text.failed && text.data)
        *count = (*count < 0 ? 0 : *count) + strtoll(text.data, NULL, 10);
    st_buf_free(&text);
}

static int64_t throttled_read(const st_host *host, const char *root) {
    st_cgroup group;
    st_cgroup_read(&group, root);
    int64_t count = group.throttled;
    for (unsigned i = 0; host && i < host->n_cores; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count",
                 host->cores[i].cpu);
        count_add(&count, root, path);
    }
    return count;
}

void st_conditions_read(st_conditions *out, const st_host *host, const char *root) {
    *out = (st_conditions){.load = st_host_load(), .throttled = throttled_read(host, root)};
    st_usage_read(&out->usage, root);
    if (!host) return;
    out->n_cpus = host->n_cpus;
    out->quota_cpus = host->quota_cpus;
    memcpy(out->governor, host->governor, sizeof out->governor);
}

static void warn_busy(st_buf *warnings, double others, double stolen) {
    if (others > ST_USAGE_BUSY)
        st_buf_printf(warnings, "other programs kept %.2f CPUs busy during the probe: end them and probe again\n",
                      others);
    if (stolen > ST_USAGE_BUSY)
        st_buf_printf(
            warnings,
            "the host gave %.2f of this machine's CPUs to others during the probe: probe again, or elsewhere\n",
            stolen);
}

static void warn_machine(st_buf *warnings, const st_conditions *before, const st_conditions *after) {
    if (before->throttled >= 0 && after->throttled > before->throttled)
        st_buf_printf(warnings,
                      "throttled %" PRId64
                      " times during the probe: raise the CPU quota, or let the machine cool and probe again\n",
                      after->throttled - before->throttled);
    if (before->n_cpus != after->n_cpus || before->quota_cpus != after->quota_cpus)
        st_buf_printf(
            warnings,
            "the CPUs allowed here changed from %u (quota %g) to %u (quota %g) during the probe: probe again\n",
            before->n_cpus, before->quota_cpus, after->n_cpus, after->quota_cpus);
    if (strcmp(before->governor, after->governor) != 0)
        st_buf_printf(warnings, "the frequency governor changed from %s to %s during the probe: probe again\n",
                      before->governor, after->governor);
    else if (strcmp(before->governor, "powersave") == 0)
        st_buf_text(warnings, "the frequency governor is powersave: set performance, or measure longer steps\n");
}

static void warn_row(st_buf *warnings, const st_probe_row *row) {
    char pair[ST_PAIR_TEXT], where[192];
    snprintf(where, sizeof where, "%s, %s", st_row_pair_text(pair, row), row->arrangement->title);
    if (row->n_discarded)
        st_buf_printf(warnings, "%s: the machine slept in %zu round%s, which %s thrown away\n", where, row->n_discarded,
                      row->n_discarded == 1 ? "" : "s", row->n_discarded == 1 ? "was" : "were");
    if (row->n_rounds == 0) return;
    if (row->flags & ST_ROW_NOT_STEADY)
        st_buf_printf(warnings, "%s: no steady state after %zu run%s of warm-up: look for heat or other programs\n",
                      where, row->n_warm_up, row->n_warm_up == 1 ? "" : "s");
    if (row->flags & ST_ROW_SPREAD)
        st_buf_printf(warnings,
                      "%s: the middle half of the runs is spread over more than 50 %% of the median, so there is no "
                      "verdict: end other programs\n",
                      where);
    if (10 * row->n_outliers > 3 * row->n_rounds)
        st_buf_printf(warnings,
                      "%s: %zu of %zu rounds hold outliers (kept): end other programs, or ask for more rounds\n", where,
                      row->n_outliers, row->n_rounds);
    if (10 * row->n_skewed > row->n_rounds)
        st_buf_printf(warnings, "%s: in %zu of %zu rounds the sides started more than 5 %% apart: leave a core free\n",
                      where, row->n_skewed, row->n_rounds);
}

void st_conditions_warn(st_probe_record *record) {
    warn_busy(&record->warnings, st_record_others(record), st_record_stolen(record));
    if (record->has_conditions) warn_machine(&record->warnings, &record->before, &record->after);
    for (size_t i = 0; i < record->n_rows; i++) warn_row(&record->warnings, &record->rows[i]);
}

void st_tracing_warn(st_buf *warnings, char *(*get)(const char *name)) {
    static const char *const names[] = {
        "LD_PRELOAD",    "LD_AUDIT",      "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
        "ROCP_TOOL_LIB", "HSA_TOOLS_LIB", "INTEL_LIBITTNOTIFY64",  "ZET_ENABLE_API_TRACING_EXP",
        "OPENCL_LAYERS", "POCL_TRACING",  "CUDA_LAUNCH_BLOCKING",  "AMD_SERIALIZE_KERNEL",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = get(names[i]);
        if (value && *value)
            st_buf_printf(warnings, "%s is set: a tool that traces or serialises launches may be measured: unset it\n",
                          names[i]);
    }
}
