/* SPDX-License-Identifier: MIT
 * Starting and binding threads. */
#ifndef ST_BASE_THREAD_H
#define ST_BASE_THREAD_H

#include "base/log.h"
#include "stretto/error.h"

#include <pthread.h>
#include <stdint.h>

/* Starts a thread that no signal is delivered to (they stay with the program's own threads). name is what debuggers
 * show, cut at 15 characters. STRETTO_E_UNIT when the system has no thread to give. */
int st_thread_start(pthread_t *out, void *(*fn)(void *), void *arg, const char *name, stretto_error *err);

/* Binds thread to OS processor cpu. A refusal (a sandbox, a changed cpuset) is only worth a warning: the thread then
 * runs wherever the kernel puts it. */
void st_thread_bind(pthread_t thread, unsigned cpu, const st_log *log);

/* CPU time that a thread which has not been joined has used; 0 when the system does not tell. */
uint64_t st_thread_cpu_ns_of(pthread_t thread);

#endif
