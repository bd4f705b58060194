/* SPDX-License-Identifier: MIT
 * What the two sides of a unit in another process share: a mailbox with one submitter and one taker. Everything in it
 * lies in memory that both processes map. */
#ifndef ST_DEVICE_PROCESS_BOX_H
#define ST_DEVICE_PROCESS_BOX_H

#include "device/lane.h"
#include "device/process.h"

#define PROCESS_PENDING 64u /* submissions; a power of two, since positions wrap */

enum process_state { PROCESS_STARTING, PROCESS_READY, PROCESS_FAILED };

typedef struct process_message {
    const st_step *step; /* the same address in both processes */
    uint64_t start_ns, end_ns;
    int code;
    stretto_error error;
} process_message;

typedef struct process_box {
    st_bell bell; /* the other process's */
    atomic_bool stop;
    _Alignas(64) atomic_uint posted; /* messages so far */
    _Alignas(64) atomic_uint ended;  /* of them; this process's futex */
    atomic_uint watched;             /* somebody sleeps on `ended` */
    atomic_uint state;               /* enum process_state */
    stretto_error failure;           /* why it is PROCESS_FAILED */
    process_message messages[PROCESS_PENDING];
} process_box;

typedef struct process_plan {
    process_box *box;
    pid_t parent;
    unsigned n_threads;
    const st_lane_cpus *cpus;
    uint64_t spin_ns;
} process_plan;

/* All that the other process does. */
_Noreturn void st_process_child(const process_plan *plan);

#endif
