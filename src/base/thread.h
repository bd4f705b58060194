/* SPDX-License-Identifier: MIT
 * Starting and binding threads. */
#ifndef ST_BASE_THREAD_H
#define ST_BASE_THREAD_H

#include "base/log.h"
#include "stretto/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that no signal but its own faults is delivered to (they stay with the program's own threads). name is
 * what debuggers show, cut at 15 characters. Its stack is 1 MiB, whatever the system gives otherwise. STRETTO_E_UNIT
 * when the system has no thread to give. */
int st_thread_start(pthread_t *out, void *(*fn)(void *), void *arg, const char *name, stretto_error *err);

/* Binds thread to OS processor cpu. A refusal (a sandbox, a changed cpuset) is only worth a warning: the thread then
 * runs wherever the kernel puts it, and false is returned. */
bool st_thread_bind(pthread_t thread, unsigned cpu, const st_log *log);

/* Where a thread may run. */
#define ST_AFFINITY_CPUS 8192u /* the most that Linux is built for */
typedef struct st_affinity {
    unsigned long set[ST_AFFINITY_CPUS / 8 / sizeof(unsigned long)];
    bool known;
} st_affinity;

/* Of the calling thread: reads it, and sets it again. Where the system does not tell, neither does anything. */
void st_affinity_get(st_affinity *affinity);
void st_affinity_set(const st_affinity *affinity);

/* CPU time that a thread which has not been joined has used; 0 when the system does not tell. */
uint64_t st_thread_cpu_ns_of(pthread_t thread);

#endif
