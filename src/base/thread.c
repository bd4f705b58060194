/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/error.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Stated, since what threads get otherwise is the C library's choice (128 KiB with some) or `ulimit -s`. No frame of
 * ours is larger than a small part of it (cmake/options.cmake); sanitizers make them so. */
#define STACK_BYTES ((size_t)1 << 20)

static int create(pthread_t *out, void *(*fn)(void *), void *arg) {
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed) return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!failed) failed = pthread_create(out, &attributes, fn, arg);
    pthread_attr_destroy(&attributes);
    return failed;
}

int st_thread_start(pthread_t *out, void *(*fn)(void *), void *arg, const char *name, stretto_error *err) {
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL}; /* blocked ones would end the program unseen */
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int failed = create(out, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return st_fail(err, STRETTO_E_UNIT, "thread %s could not be started: %s", name, strerror(failed));
    char label[16];
    snprintf(label, sizeof label, "%s", name);
    pthread_setname_np(*out, label);
    return STRETTO_OK;
}

static int thread_set_cpu(pthread_t thread, unsigned cpu) {
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (!set) return ENOMEM;
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    int failed = pthread_setaffinity_np(thread, bytes, set);
    CPU_FREE(set);
    return failed;
}

bool st_thread_bind(pthread_t thread, unsigned cpu, const st_log *log) {
    int failed = thread_set_cpu(thread, cpu);
    if (failed)
        st_warn(log, "a worker could not be bound to processor %u (%s): it runs unbound, times may vary more", cpu,
                strerror(failed));
    return !failed;
}

void st_affinity_get(st_affinity *affinity) {
    affinity->known = sched_getaffinity(0, sizeof affinity->set, (cpu_set_t *)affinity->set) == 0;
}

void st_affinity_set(const st_affinity *affinity) {
    if (affinity->known) sched_setaffinity(0, sizeof affinity->set, (const cpu_set_t *)affinity->set);
}

uint64_t st_thread_cpu_ns_of(pthread_t thread) {
    clockid_t clock;
    struct timespec time;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
