/* SPDX-License-Identifier: MIT */
#include "base/usage.h"

#include "support/cpu_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void clock_ticks_become_nanoseconds(void **state) {
    (void)state;
    char root[] = "/tmp/stretto-usage-XXXXXX", path[64];
    st_usage got;
    assert_non_null(mkdtemp(root));
    st_usage_read(&got, root);
    assert_int_equal(got.busy_ns, -1);
    assert_int_equal(got.stolen_ns, -1);
    snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("cpu  100 20 3 9999 777 4 5 60 100 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n", file);
    assert_int_equal(fclose(file), 0);
    st_usage_read(&got, root);
    const int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
    assert_int_equal(got.busy_ns, 132 * tick);
    assert_int_equal(got.stolen_ns, 60 * tick);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(root), 0);
}

static void averages_are_of_what_is_not_ours(void **state) {
    (void)state;
    const st_usage from = {.wall_ns = 5, .busy_ns = 100, .stolen_ns = 7, .own_ns = 50};
    st_usage to = {.wall_ns = 1000000005, .busy_ns = 1500000100, .stolen_ns = 100000007, .own_ns = 1250000050};
    assert_true(st_usage_others(&from, &to) == 0.25);
    assert_true(st_usage_stolen(&from, &to) == 0.1);
    to.own_ns = 1600000050; /* ticks and exact times may disagree a little */
    assert_true(st_usage_others(&from, &to) == 0);
    to.wall_ns = 40000000;
    assert_true(st_usage_others(&from, &to) == -1);
    to = (st_usage){.wall_ns = 1000000005, .busy_ns = -1, .stolen_ns = -1};
    assert_true(st_usage_others(&from, &to) == -1);
    assert_true(st_usage_stolen(&from, &to) == -1);
}

static void work_for_ms(int64_t ms) {
    const uint64_t start = process_cpu_ns();
    while (process_cpu_ns() < start + (uint64_t)ms * 1000000) {
    }
}

/* A child counts while it runs, and once it has been waited for. */
static void children_are_ours(void **state) {
    (void)state;
    int ready[2], go[2];
    char byte = 'x';
    st_usage before, during, after;
    st_usage_read(&before, "");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work_for_ms(100);
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    st_usage_read(&during, "");
    assert_int_equal(write(go[1], &byte, 1), 1);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    st_usage_read(&after, "");
    if (access("/proc/thread-self/children", R_OK) == 0) assert_true(during.own_ns >= before.own_ns + 50000000);
    assert_true(after.own_ns >= before.own_ns + 50000000);
    assert_true(after.busy_ns == -1 || after.busy_ns > 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_ticks_become_nanoseconds),
        cmocka_unit_test(averages_are_of_what_is_not_ours),
        cmocka_unit_test(children_are_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
