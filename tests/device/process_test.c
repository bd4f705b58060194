/* SPDX-License-Identifier: MIT
 * A lane in a process of its own: runs steps there, on the same weights, and its death or that of its parent leaves
 * nothing behind. */
#include "device/process.h"

#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What the other process writes, where both can see it. */
typedef struct shared {
    atomic_int pid, runs;
    atomic_bool hang;
} shared;

static shared *common;
static st_host host;

static int step_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg, (void)err;
    if (worker->id != 0) return 0;
    atomic_store(&common->pid, getpid());
    atomic_fetch_add(&common->runs, 1);
    while (atomic_load(&common->hang)) usleep(1000);
    return 0;
}

static int step_fail(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg;
    if (worker->id != 0) return 0;
    snprintf(err->text, sizeof err->text, "it does not work");
    return STRETTO_E_INPUT;
}

static const st_step good = {.name = "good", .run = step_run}, bad = {.name = "bad", .run = step_fail},
                     stranger = {.name = "stranger", .run = step_run};
static const st_step *const steps[] = {&good, &bad};

static st_unit *open_patient(uint64_t silent_ns) {
    const unsigned core = 0;
    st_unit *unit;
    stretto_error err = {0};
    const st_process_options options = {
        .lane = {.cores = &core, .n_cores = 1, .pin = true}, .steps = steps, .n_steps = 2, .silent_ns = silent_ns};
    int code = st_process_open(&unit, &host, &options, &err);
    if (code) fail_msg("%s", err.text);
    return unit;
}

static st_unit *open_unit(void) {
    return open_patient(0);
}

static int setup(void **state) {
    (void)state;
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return common == MAP_FAILED || st_host_read(&host, "", NULL) != 0;
}

static int teardown(void **state) {
    (void)state;
    st_host_free(&host);
    return munmap(common, sizeof *common);
}

static void steps_run_in_the_other_process(void **state) {
    (void)state;
    st_unit *unit = open_unit();
    st_unit_info info;
    st_unit_info_get(unit, &info);
    assert_string_equal(info.name, "process:cpu:0");
    assert_false(info.shares_memory);
    st_queue *queue;
    st_event done, more[70];
    stretto_error err = {0};
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    st_event_init(&done);
    atomic_store(&common->runs, 0);
    for (int i = 0; i < 200; i++) {
        uint64_t before = st_now_ns();
        assert_int_equal(st_run_step(queue, &good, &done, &err), 0);
        assert_true(before <= done.start_ns && done.start_ns <= done.end_ns && done.end_ns <= st_now_ns());
        if (i % 20 == 0) st_unit_quiet(unit);
    }
    assert_int_equal(atomic_load(&common->runs), 200);
    assert_int_equal(atomic_load(&common->pid), st_process_id(unit));
    assert_int_not_equal(st_process_id(unit), getpid());
    assert_int_equal(st_run_step(queue, &bad, &done, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "it does not work");
    assert_int_equal(st_run_step(queue, &stranger, &done, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "stranger"));
    assert_true(st_unit_cpu_ns(unit) > 0);
    atomic_store(&common->hang, true);
    int taken = 0;
    for (int i = 0; i < 70; i++) {
        st_event_init(&more[i]);
        taken += st_submit(queue, &good, NULL, 0, &more[i], &err) == 0;
    }
    assert_int_equal(taken, 64);
    assert_non_null(strstr(err.text, "it holds 64 submissions"));
    atomic_store(&common->hang, false);
    for (int i = 0; i < taken; i++) assert_int_equal(st_event_wait(&more[i], NULL), 0);
    st_queue_close(queue);
    pid_t pid = st_process_id(unit);
    st_unit_close(unit);
    assert_int_equal(kill(pid, 0), -1); /* no process, no zombie */
    assert_int_equal(errno, ESRCH);
}

/* Threads that have ended are not in the way of the fork. */
static void it_can_be_opened_after_a_lane_was_closed(void **state) {
    (void)state;
    const unsigned core = 0;
    const st_cpu_options lane = {.cores = &core, .n_cores = 1};
    st_unit *unit;
    st_queue *queue;
    st_event done;
    st_event_init(&done);
    assert_int_equal(st_cpu_open(&unit, &host, &lane, NULL), 0);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    assert_int_equal(st_run_step(queue, &good, &done, NULL), 0);
    assert_int_equal(atomic_load(&common->pid), getpid());
    st_unit_close(unit);
    unit = open_unit();
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    assert_int_equal(st_run_step(queue, &good, &done, NULL), 0);
    assert_int_equal(atomic_load(&common->pid), st_process_id(unit));
    st_unit_close(unit);
}

static void a_dependency_is_waited_for(void **state) {
    (void)state;
    st_unit *unit = open_unit();
    st_queue *queue;
    st_event first, second;
    stretto_error err = {0};
    st_event_init(&first);
    st_event_init(&second);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    st_event *deps[] = {&first};
    assert_int_equal(st_submit(queue, &bad, NULL, 0, &first, NULL), 0);
    assert_int_equal(st_submit(queue, &good, deps, 1, &second, NULL), 0);
    assert_int_equal(st_event_wait(&second, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "it does not work");
    st_unit_close(unit);
}

static void its_death_is_an_error_that_says_how(void **state) {
    (void)state;
    st_unit *unit = open_unit();
    st_queue *queue;
    st_event done[2];
    stretto_error err = {0};
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    for (int i = 0; i < 2; i++) st_event_init(&done[i]);
    atomic_store(&common->hang, true);
    atomic_store(&common->runs, 0);
    for (int i = 0; i < 2; i++) assert_int_equal(st_submit(queue, &good, NULL, 0, &done[i], NULL), 0);
    while (atomic_load(&common->runs) == 0) usleep(1000);
    kill(st_process_id(unit), SIGKILL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(st_event_wait(&done[i], &err), STRETTO_E_UNIT);
        assert_non_null(strstr(err.text, "unit process:cpu:0 is gone: its process "));
        assert_non_null(strstr(err.text, "was ended by signal 9 (Killed)"));
    }
    assert_int_equal(st_submit(queue, &good, NULL, 0, &done[0], &err), STRETTO_E_UNIT);
    st_unit_quiet(unit);
    st_queue_close(queue);
    st_unit_close(unit);
    atomic_store(&common->hang, false);
}

/* In a program that leaves its children to the system, which tells nobody how one ended. */
static void its_death_is_seen_where_ends_are_ignored(void **state) {
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    st_unit *unit = open_unit();
    st_queue *queue;
    st_event done;
    stretto_error err = {0};
    st_event_init(&done);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    assert_int_equal(st_run_step(queue, &good, &done, NULL), 0);
    atomic_store(&common->hang, true);
    atomic_store(&common->runs, 0);
    assert_int_equal(st_submit(queue, &good, NULL, 0, &done, NULL), 0);
    while (atomic_load(&common->runs) == 0) usleep(1000);
    kill(st_process_id(unit), SIGKILL);
    assert_int_equal(st_event_wait(&done, &err), STRETTO_E_UNIT);
    if (!strstr(err.text, "has ended, and nothing says how")) fail_msg("%s", err.text);
    st_queue_close(queue);
    st_unit_close(unit);
    atomic_store(&common->hang, false);
    signal(SIGCHLD, before);
}

static void check_given_up(st_unit *unit, const stretto_error *err) {
    char says[64];
    snprintf(says, sizeof says, "its process %d was stopped", (int)st_process_id(unit));
    if (!strstr(err->text, says)) fail_msg("%s", err->text);
}

/* It is neither dead nor at work: without a limit whoever waits for it would wait for ever. */
static void one_that_is_stopped_is_given_up(void **state) {
    (void)state;
    st_unit *unit = open_patient(300000000);
    st_queue *queue;
    st_event done;
    stretto_error err = {0};
    st_event_init(&done);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    assert_int_equal(st_run_step(queue, &good, &done, NULL), 0);
    kill(st_process_id(unit), SIGSTOP);
    assert_int_equal(st_run_step(queue, &good, &done, &err), STRETTO_E_UNIT);
    check_given_up(unit, &err);
    assert_int_equal(st_submit(queue, &good, NULL, 0, &done, &err), STRETTO_E_UNIT);
    check_given_up(unit, &err);
    st_queue_close(queue);
    st_unit_close(unit);
    unit = open_patient(300000000);
    kill(st_process_id(unit), SIGSTOP);
    st_unit_quiet(unit); /* also while nothing is submitted */
    st_unit_close(unit);
}

/* A step that computes, or rests now and then, may take as long as it likes; so may a pause. */
static void one_that_is_slow_is_not_given_up(void **state) {
    (void)state;
    st_unit *unit = open_patient(300000000);
    st_queue *queue;
    st_event done;
    st_event_init(&done);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    usleep(500000); /* idle */
    atomic_store(&common->hang, true);
    assert_int_equal(st_submit(queue, &good, NULL, 0, &done, NULL), 0);
    usleep(800000);
    atomic_store(&common->hang, false);
    assert_int_equal(st_event_wait(&done, NULL), 0);
    kill(st_process_id(unit), SIGSTOP);
    assert_int_equal(st_submit(queue, &good, NULL, 0, &done, NULL), 0);
    usleep(100000);
    kill(st_process_id(unit), SIGCONT);
    assert_int_equal(st_event_wait(&done, NULL), 0);
    st_queue_close(queue);
    st_unit_close(unit);
}

static void signals_for_the_whole_group_do_not_end_it(void **state) {
    (void)state;
    st_unit *unit = open_unit();
    st_queue *queue;
    st_event done;
    st_event_init(&done);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    kill(st_process_id(unit), SIGINT);
    kill(st_process_id(unit), SIGTERM);
    assert_int_equal(st_run_step(queue, &good, &done, NULL), 0);
    st_unit_close(unit);
}

/* A parent that is killed cannot clean up: its child goes with it. */
static void it_does_not_outlive_its_parent(void **state) {
    (void)state;
    atomic_store(&common->pid, 0);
    pid_t parent = fork();
    if (parent == 0) {
        st_unit *unit = open_unit();
        atomic_store(&common->pid, (int)st_process_id(unit));
        for (;;) pause();
    }
    while (atomic_load(&common->pid) == 0) usleep(1000);
    pid_t child = atomic_load(&common->pid);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < 5000; i++) { /* whoever inherits it may be slow to take it off the list: dead is enough */
        FILE *file = fopen(path, "r");
        if (!file) return;
        size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[n] = '\0';
        char *after = strrchr(text, ')');
        if (n == 0 || (after && (after[2] == 'Z' || after[2] == 'X'))) return;
        usleep(1000);
    }
    fail_msg("the child lives on: %s", text);
}

/* Kilobytes of the mapping of this name that a process has for itself, and that it shares. */
static void mapping_read(pid_t pid, const char *name, unsigned long *own, unsigned long *shared_kb) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bool inside = false;
    *own = *shared_kb = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned long kb;
        char key[64];
        if (strchr(line, '-') && strchr(line, ' ') && sscanf(line, "%*x-%*x %63s", key) == 1 && key[4] == '\0')
            inside = strstr(line, name) != NULL;
        if (inside && sscanf(line, "Private_%*s %lu kB", &kb) == 1) *own += kb;
        if (inside && sscanf(line, "Shared_%*s %lu kB", &kb) == 1) *shared_kb += kb;
    }
    fclose(file);
}

#define REGION (8u << 20)
static st_region region;

static int step_read(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg, (void)worker, (void)err;
    unsigned sum = 0;
    for (size_t i = 0; i < REGION; i += 4096) sum += region.data[i];
    return sum == REGION / 4096 ? 0 : STRETTO_E_INTERNAL;
}

static void weights_are_mapped_not_copied(void **state) {
    (void)state;
    const unsigned core = 0;
    const st_step read = {.name = "read", .run = step_read}, *list[] = {&read};
    st_unit *unit;
    st_queue *queue;
    st_event done;
    assert_int_equal(st_region_create(&region, "stretto-weights", REGION, NULL), 0);
    memset(region.data, 1, REGION);
    const st_process_options options = {.lane = {.cores = &core, .n_cores = 1}, .steps = list, .n_steps = 1};
    assert_int_equal(st_process_open(&unit, &host, &options, NULL), 0);
    assert_int_equal(st_queue_open(unit, &queue, NULL), 0);
    st_event_init(&done);
    assert_int_equal(st_run_step(queue, &read, &done, NULL), 0);
    unsigned long own, both;
    mapping_read(st_process_id(unit), "memfd:stretto-weights", &own, &both);
    if (region.fd >= 0) {
        assert_int_equal(own, 0);
        assert_int_equal(both, REGION >> 10);
    }
    st_unit_close(unit);
    st_region_destroy(&region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_run_in_the_other_process),
        cmocka_unit_test(it_can_be_opened_after_a_lane_was_closed),
        cmocka_unit_test(a_dependency_is_waited_for),
        cmocka_unit_test(its_death_is_an_error_that_says_how),
        cmocka_unit_test(its_death_is_seen_where_ends_are_ignored),
        cmocka_unit_test(one_that_is_stopped_is_given_up),
        cmocka_unit_test(one_that_is_slow_is_not_given_up),
        cmocka_unit_test(signals_for_the_whole_group_do_not_end_it),
        cmocka_unit_test(it_does_not_outlive_its_parent),
        cmocka_unit_test(weights_are_mapped_not_copied),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
