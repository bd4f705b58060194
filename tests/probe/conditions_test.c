/* SPDX-License-Identifier: MIT */
#include "probe/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void file_write(const char *root, const char *dir, const char *name, const char *text) {
    char path[300], command[400];
    snprintf(command, sizeof command, "mkdir -p '%s%s'", root, dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s%s/%s", root, dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void throttling_is_counted(void **state) {
    (void)state;
    char root[] = "/tmp/stretto-conditions-XXXXXX", command[100];
    assert_non_null(mkdtemp(root));
    st_core core = {.cpu = 3};
    st_host host = {.cores = &core, .n_cores = 1, .n_cpus = 2, .quota_cpus = 1.5, .governor = "performance"};
    st_conditions got;
    st_conditions_read(&got, &host, root);
    assert_int_equal(got.throttled, -1);
    file_write(root, "/proc/self", "cgroup", "0::/work.slice/probe.scope\n");
    file_write(root, "/proc/self", "mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    file_write(root, "/sys/fs/cgroup", "cpu.stat", "usage_usec 10\nuser_usec 4\nsystem_usec 6\n");
    file_write(root, "/sys/fs/cgroup/other.slice", "cpu.stat", "nr_throttled 100\n");
    file_write(root, "/sys/fs/cgroup/work.slice", "cpu.stat", "usage_usec 10\nnr_periods 5\nnr_throttled 7\nx 9\n");
    file_write(root, "/sys/devices/system/cpu/cpu3/thermal_throttle", "core_throttle_count", "4\n");
    st_conditions_read(&got, &host, root);
    assert_int_equal(got.throttled, 11);
    assert_int_equal(got.n_cpus, 2);
    assert_string_equal(got.governor, "performance");
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static void a_quiet_machine_earns_no_warning(void **state) {
    (void)state;
    st_probe_record record = {.has_conditions = true};
    record.before = record.after = (st_conditions){.load = 0.1, .n_cpus = 2, .governor = "performance", .throttled = 3};
    st_conditions_warn(&record);
    assert_null(record.warnings.data);
}

static void each_change_earns_a_warning_with_its_remedy(void **state) {
    (void)state;
    st_probe_record record = {.has_conditions = true};
    record.before = (st_conditions){.load = 1.7, .n_cpus = 2, .governor = "performance", .throttled = 3};
    record.after = (st_conditions){.load = 1.7, .n_cpus = 1, .governor = "powersave", .throttled = 8};
    record.after.usage =
        (st_usage){.wall_ns = 1000000000, .busy_ns = 1900000000, .stolen_ns = 200000000, .own_ns = 1500000000};
    st_conditions_warn(&record);
    assert_non_null(strstr(record.warnings.data, "other programs kept 0.40 CPUs busy during the probe: end them"));
    assert_non_null(strstr(record.warnings.data, "gave 0.20 of this machine's CPUs to others"));
    assert_non_null(strstr(record.warnings.data, "throttled 5 times during the probe: raise the CPU quota"));
    assert_non_null(strstr(record.warnings.data, "changed from 2 (quota 0) to 1 (quota 0)"));
    assert_non_null(strstr(record.warnings.data, "changed from performance to powersave"));
    st_probe_record_free(&record);
    record.has_conditions = true;
    record.before = record.after = (st_conditions){.governor = "powersave"};
    st_conditions_warn(&record);
    assert_string_equal(record.warnings.data,
                        "the frequency governor is powersave: set performance, or measure longer steps\n");
    st_probe_record_free(&record);
}

static char *fake_env(const char *name) {
    static char value[] = "/usr/lib/libprofiler.so", empty[] = "";
    if (strcmp(name, "LD_PRELOAD") == 0) return value;
    return strcmp(name, "OPENCL_LAYERS") == 0 ? empty : NULL;
}

static void tracing_tools_are_named(void **state) {
    (void)state;
    st_buf warnings = {0};
    st_tracing_warn(&warnings, fake_env);
    assert_string_equal(warnings.data,
                        "LD_PRELOAD is set: a tool that traces or serialises launches may be measured: unset it\n");
    st_buf_free(&warnings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throttling_is_counted),
        cmocka_unit_test(a_quiet_machine_earns_no_warning),
        cmocka_unit_test(each_change_earns_a_warning_with_its_remedy),
        cmocka_unit_test(tracing_tools_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
