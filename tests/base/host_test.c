/* SPDX-License-Identifier: MIT */
#include "base/host.h"

#include "base/cgroup.h"
#include "base/isa.h"

#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cmocka.h>

static int forget(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int root_make(void **state) {
    static const char *const pattern = "/tmp/stretto-host-XXXXXX";
    char *root = strdup(pattern);
    *state = root;
    return root && mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state) {
    nftw(*state, forget, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

/* Writes ROOT/path with its folders. */
static void put(const char *root, const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect(const char *root, double cpus, uint64_t memory) {
    st_cgroup group;
    st_cgroup_read(&group, root);
    assert_true(group.quota_cpus == cpus);
    assert_true(group.memory_bytes == memory);
}

#define MOUNT_V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static void nothing_there_is_no_limit(void **state) {
    expect(*state, 0, UINT64_MAX);
    put(*state, "/proc/self/cgroup", "nonsense\n\n0:\n");
    put(*state, "/proc/self/mountinfo", "\nx - y\n1 2 3 - cgroup2\n" MOUNT_V2);
    expect(*state, 0, UINT64_MAX);
}

static void v2_tightest_of_all_ancestors(void **state) {
    put(*state, "/proc/self/cgroup", "0::/a/b/c\n");
    put(*state, "/proc/self/mountinfo", MOUNT_V2);
    put(*state, "/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put(*state, "/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    expect(*state, 0, UINT64_MAX);
    put(*state, "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    put(*state, "/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    put(*state, "/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
    expect(*state, 1.5, 1073741824);
    put(*state, "/sys/fs/cgroup/a/bystander/cpu.max", "10000 100000\n");
    expect(*state, 1.5, 1073741824);
}

/* A container with a cgroup namespace of its own: the path is /, the limit stands at the mount point. */
static void v2_container(void **state) {
    put(*state, "/proc/self/cgroup", "0::/\n");
    put(*state, "/proc/self/mountinfo", MOUNT_V2);
    put(*state, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
    expect(*state, 0.5, UINT64_MAX);
    put(*state, "/proc/self/cgroup", "0::/../elsewhere\n");
    expect(*state, 0.5, UINT64_MAX);
}

static void expect_throttled(const char *root, int64_t times) {
    st_cgroup group;
    st_cgroup_read(&group, root);
    assert_int_equal(group.throttled, times);
}

/* Counted for the group and its ancestors, once each. */
static void throttled_periods(void **state) {
    expect_throttled(*state, -1);
    put(*state, "/proc/self/cgroup", "0::/a/b\n");
    put(*state, "/proc/self/mountinfo", MOUNT_V2);
    put(*state, "/sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
    expect_throttled(*state, -1);
    put(*state, "/sys/fs/cgroup/a/cpu.stat", "nr_periods 9\nnr_throttled 3\n");
    put(*state, "/sys/fs/cgroup/a/b/cpu.stat", "nr_periods 9\nnr_throttled 4\n");
    put(*state, "/sys/fs/cgroup/a/c/cpu.stat", "nr_periods 9\nnr_throttled 50\n");
    expect_throttled(*state, 7);
    put(*state, "/proc/self/cgroup", "1:cpu,memory:/x\n");
    put(*state, "/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/both rw - cgroup cgroup rw,cpu,memory\n");
    put(*state, "/sys/fs/cgroup/both/cpu.stat", "nr_periods 9\nnr_throttled 2\n");
    expect_throttled(*state, 2);
}

#define MOUNT_V1                                                                                                       \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                                       \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:7 - cgroup cgroup rw,cpu,cpuacct\n"                    \
    "33 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"                                       \
    "35 31 0:32 / /sys/fs/cgroup/my\\040memory rw,relatime - cgroup cgroup rw,memory\n"

static void v1_hierarchies(void **state) {
    put(*state, "/proc/self/cgroup", "4:memory:/m\n3:cpuset:/other\n1:cpu,cpuacct:/x/y\n0::/\n");
    put(*state, "/proc/self/mountinfo", MOUNT_V1);
    put(*state, "/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
    put(*state, "/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
    expect(*state, 0, UINT64_MAX);
    put(*state, "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "25000\n");
    expect(*state, 0, UINT64_MAX); /* no period beside it */
    put(*state, "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "10000\n");
    put(*state, "/sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "1\n");
    put(*state, "/sys/fs/cgroup/cpuset/other/cpu.cfs_period_us", "10000\n");
    put(*state, "/sys/fs/cgroup/my memory/m/memory.limit_in_bytes", "5000000\n");
    put(*state, "/sys/fs/cgroup/my memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(*state, 2.5, 5000000);
}

/* A v1 container without a namespace: the path is the host's, and the mount shows only what is below it. */
static void v1_container(void **state) {
    put(*state, "/proc/self/cgroup", "1:cpu:/docker/0123/sub\n");
    put(*state, "/proc/self/mountinfo", "32 31 0:29 /docker/0123 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    put(*state, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    put(*state, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    expect(*state, 3, UINT64_MAX);
    put(*state, "/sys/fs/cgroup/cpu/sub/cpu.cfs_quota_us", "100000\n");
    put(*state, "/sys/fs/cgroup/cpu/sub/cpu.cfs_period_us", "100000\n");
    expect(*state, 1, UINT64_MAX);
    put(*state, "/proc/self/cgroup", "1:cpu:/docker/01234\n"); /* not below the mount's base */
    expect(*state, 3, UINT64_MAX);
}

static void host_read(st_host *host, const char *root) {
    stretto_error err = {0};
    assert_int_equal(st_host_read(host, root, &err), 0);
}

static void reads_this_machine(void **state) {
    (void)state;
    st_host host;
    host_read(&host, "");
    assert_true(host.n_cores >= 1 && host.n_cpus >= host.n_cores);
    assert_in_range(host.max_threads, 1, host.n_cores);
    assert_true(host.memory_bytes > 0);
    assert_true(strlen(host.cpu_model) > 0 && strlen(host.kernel) > 0);
    assert_string_equal(host.isa, st_isa_name());
    cpu_set_t bound;
    assert_int_equal(sched_getaffinity(0, sizeof bound, &bound), 0);
    unsigned n = 0;
    for (unsigned i = 0; i < host.n_cores; i++) {
        assert_true(CPU_ISSET(host.cores[i].cpu, &bound));
        n += host.cores[i].n_cpus;
        if (i > 0) assert_true(host.cores[i].core > host.cores[i - 1].core);
    }
    assert_int_equal(n, host.n_cpus);
    assert_true(st_host_load() >= 0);
    st_host_free(&host);
    assert_null(host.cores);
}

static void honours_affinity(void **state) {
    (void)state;
    st_host host;
    host_read(&host, "");
    unsigned cpu = host.cores[host.n_cores - 1].cpu;
    st_host_free(&host);
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    host_read(&host, "");
    sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(host.n_cores, 1);
    assert_int_equal(host.n_cpus, 1);
    assert_int_equal(host.max_threads, 1);
    assert_int_equal(host.cores[0].cpu, cpu);
    st_host_free(&host);
}

/* Machines that we do not have, from hwloc's own description language. */
static void siblings_and_packages(void **state) {
    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:2 l3:1(size=8388608) l2:2(size=1048576) core:1 pu:2", 1);
    st_host host;
    host_read(&host, "/nonexistent");
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(host.n_cores, 4);
    assert_int_equal(host.n_cpus, 8);
    assert_int_equal(host.max_threads, 4);
    assert_int_equal(host.llc_bytes, 8388608);
    assert_int_equal(host.l2_bytes, 1048576);
    for (unsigned i = 0; i < 4; i++) {
        const st_core *core = &host.cores[i];
        assert_int_equal(core->cpu, 2 * i);
        assert_int_equal(core->n_cpus, 2);
        assert_int_equal(core->package, i / 2);
        assert_int_equal(core->core, i);
        assert_int_equal(core->kind, -1);
    }
    st_host_free(&host);
}

static void quota_limits_threads(void **state) {
    const struct {
        const char *text;
        unsigned threads;
    } cases[] = {{"max 100000", 4},   {"100000 100000", 1}, {"150000 100000", 2},
                 {"10000 100000", 1}, {"300000 100000", 3}, {"900000 100000", 4}};
    put(*state, "/proc/self/cgroup", "0::/\n");
    put(*state, "/proc/self/mountinfo", MOUNT_V2);
    put(*state, "/sys/fs/cgroup/memory.max", "123456789\n");
    put(*state, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    setenv("HWLOC_SYNTHETIC", "core:4 pu:1", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(*state, "/sys/fs/cgroup/cpu.max", cases[i].text);
        st_host host;
        host_read(&host, *state);
        assert_int_equal(host.n_cores, 4);
        assert_int_equal(host.max_threads, cases[i].threads);
        assert_int_equal(host.memory_bytes, 123456789);
        assert_string_equal(host.governor, "powersave");
        st_host_free(&host);
    }
    struct sysinfo info;
    assert_int_equal(sysinfo(&info), 0);
    assert_int_equal(st_host_memory_most(*state), 123456789 + (uint64_t)info.totalswap * info.mem_unit);
    unsetenv("HWLOC_SYNTHETIC");
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, root_make, root_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ROOT(nothing_there_is_no_limit),
        WITH_ROOT(v2_tightest_of_all_ancestors),
        WITH_ROOT(v2_container),
        WITH_ROOT(v1_hierarchies),
        WITH_ROOT(throttled_periods),
        WITH_ROOT(v1_container),
        cmocka_unit_test(reads_this_machine),
        cmocka_unit_test(honours_affinity),
        cmocka_unit_test(siblings_and_packages),
        WITH_ROOT(quota_limits_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
