/* SPDX-License-Identifier: MIT
 * A CPU lane in a process of its own: whether two steps get into each other's way because they share a process (a lock,
 * an allocator, a context) shows when one of them runs elsewhere.
 *
 * The second process is a copy of this one as it was when the unit was opened (fork). It sees the weights through the
 * same shared mapping, so there is one copy of them, and has its own copy of all else: steps that were made before can
 * run there, at the same addresses, on buffers of their own. Submissions go through a mailbox in shared memory, where
 * the other process's leader spins and then sleeps just as a lane's does; times are the machine's monotonic clock,
 * which all processes share. The other process ends with the unit, and with this process, however that ends. */
#ifndef ST_DEVICE_PROCESS_H
#define ST_DEVICE_PROCESS_H

#include "device/cpu.h"

#include <sys/types.h>

typedef struct st_process_options {
    st_cpu_options lane;
    const st_step *const *steps; /* [n_steps] what may be submitted; made before, copied */
    unsigned n_steps;
    uint64_t silent_ns; /* without an answer and without computing, until the other process is given up; 0: 30 s */
} st_process_options;

/* Opens a unit named "process:cpu:1". No other thread of this process may exist meanwhile (a fork copies one thread
 * only, and whatever locks others hold), so units with threads are opened later; the thread that opens it must outlive
 * it. STRETTO_E_USAGE for a core that is not there, STRETTO_E_UNIT when there is no process to be had or it cannot make
 * its threads, STRETTO_E_MEMORY.
 *
 * When the other process dies, what was submitted fails with STRETTO_E_UNIT and says how it died; later submissions are
 * refused. One that is stopped, or hangs, while it is waited for is ended after silent_ns, which counts as its death.
 * Submitting a step with dependencies waits for them. */
int st_process_open(st_unit **out, const st_host *host, const st_process_options *options, stretto_error *err);

/* The other process. */
pid_t st_process_id(const st_unit *unit);

#endif
