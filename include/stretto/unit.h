/* SPDX-License-Identifier: MIT
 * Compute units: what executes steps. The library brings CPU units; a program may add its own (a GPU, an NPU, another
 * process) by a few functions, and then place chunks on it or probe what runs beside it. */
#ifndef STRETTO_UNIT_H
#define STRETTO_UNIT_H

#include "stretto/error.h"
#include "stretto/export.h"
#include "stretto/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stretto_unit stretto_unit;

/* ---- steps ---- */

/* Work that a unit executes. The owner keeps it unchanged while it may still be executed. */
typedef struct stretto_step {
    const char *name;
    /* Does the work, or one worker's share of it: a CPU unit calls it on all its threads at once, worker 0 to n_workers
     * - 1, each with an err of its own, and takes what worker 0 returns, 0 or a negative enum stretto_code with the
     * reason in err, as the step's. What is no such code counts as STRETTO_E_UNIT. Those threads have a stack of 1 MiB.
     * A unit of your own calls it with whatever workers it has (see stretto_unit_ops.submit), or not at all when arg
     * tells it what to do: then, and only there, it may be NULL. */
    int (*run)(void *arg, unsigned worker, unsigned n_workers, stretto_error *err);
    void *arg;
    uint64_t bytes;      /* of memory that one execution reads, 0: unknown. For GB/s in results */
    uint64_t operations; /* multiply-adds of one execution, 0: unknown */
} stretto_step;

/* ---- units ---- */

typedef struct stretto_unit_info {
    char name[48];        /* "cpu:0+1" */
    char kind[16];        /* "cpu" */
    char device[96];      /* processor or device name */
    char driver[64];      /* and its version, "" where there is none */
    unsigned n_threads;   /* workers of a CPU unit, else 1 */
    unsigned max_pending; /* submissions that a queue can hold */
    bool shares_memory;   /* pointers of this process can be used as they are: only such units can have chunks */
} stretto_unit_info;

/* Zeroed is the default of everything. */
typedef struct stretto_cpu_options {
    unsigned threads;       /* 0: one a core. More than there are cores, or than the cgroup's quota allows, is reduced
                               with a warning */
    bool unpinned;          /* threads may wander; else each is bound to its core */
    const stretto_log *log; /* NULL: silence */
} stretto_cpu_options;

/* A set of cores with its own threads, which sleep when there is nothing to do.
 *
 * cores: "cpu:0", "cpu:0-3", "cpu:0+2": indices among the cores that this process may use, in hwloc's order; NULL: all
 * of them. options: NULL is as good as zeroed. *out: owned by the caller, stretto_unit_close; NULL on failure.
 * STRETTO_OK, STRETTO_E_USAGE (the part of `cores` that is wrong), STRETTO_E_UNIT (no core is allowed here, the
 * machine's topology cannot be read, or threads cannot be made), STRETTO_E_MEMORY. Any thread. */
STRETTO_API int stretto_unit_open_cpu(stretto_unit **out, const char *cores, const stretto_cpu_options *options,
                                      stretto_error *err);

/* Chains on the unit must be closed before, and no call on it may be under way. NULL is fine. */
STRETTO_API void stretto_unit_close(stretto_unit *unit);

/* Any thread. */
STRETTO_API void stretto_unit_info_get(const stretto_unit *unit, stretto_unit_info *info);

/* What an execution took, on the clock of stretto_now_ns. */
typedef struct stretto_times {
    uint64_t submit_ns, start_ns, end_ns;
} stretto_times;

/* Executes a step and waits for it. times may be NULL. STRETTO_OK, what the step returned, STRETTO_E_UNIT when the unit
 * failed. Any thread; steps that are given at the same time wait in line as the unit has it. */
STRETTO_API int stretto_unit_run(stretto_unit *unit, const stretto_step *step, stretto_times *times,
                                 stretto_error *err);

/* Nanoseconds on a clock that never goes back (CLOCK_MONOTONIC). */
STRETTO_API uint64_t stretto_now_ns(void);

/* ---- units of your own ---- */

/* One submission, from submit to stretto_job_done. */
typedef struct stretto_job stretto_job;

/* What a unit does; device is what was given at opening. Functions may be called from any thread, but those of one
 * queue from one thread at a time. They return 0, or a negative enum stretto_code with the reason in err. */
typedef struct stretto_unit_ops {
    /* Opens an ordered stream of submissions; *queue is handed back to submit and queue_close. NULL: queues need
     * nothing. */
    int (*queue_open)(void *device, void **queue, stretto_error *err);
    /* Everything that was submitted to it is done. NULL: nothing to close. */
    void (*queue_close)(void *device, void *queue);
    /* Hands step to the device and returns; steps of one queue are executed in order. What it depends on is done
     * already. Later, or from within, the unit calls stretto_job_done exactly once. When submit returns a failure
     * instead, it does not. To execute a step of the library (a chunk) call step->run(step->arg, 0, 1, err) from one
     * thread; a step that the program made itself may mean anything to its unit. step is valid until the job is done.
     * Required. */
    int (*submit)(void *device, void *queue, const stretto_step *step, stretto_job *job, stretto_error *err);
    /* Returns when idle workers no longer spin. NULL: none do. */
    void (*quiet)(void *device);
    /* The unit is closed: gives device back. NULL: nothing to do. */
    void (*close)(void *device);
} stretto_unit_ops;

/* Ends a job. start_ns and end_ns: when the device began and ended it, on the clock of stretto_now_ns (as near as can
 * be told); code: 0 or what failed, with reason (else NULL). job is gone afterwards. Any thread. */
STRETTO_API void stretto_job_done(stretto_job *job, uint64_t start_ns, uint64_t end_ns, int code, const char *reason);

/* ops and info are copied; of info, name and kind are needed, max_pending 0 means 64, n_threads is taken as 1. device
 * is the caller's until this succeeds, then the unit's, which gives it to ops->close. *out: owned by the caller,
 * stretto_unit_close; NULL on failure. STRETTO_OK, STRETTO_E_USAGE (no submit, no name, no kind), STRETTO_E_MEMORY. */
STRETTO_API int stretto_unit_open_own(stretto_unit **out, const stretto_unit_ops *ops, const stretto_unit_info *info,
                                      void *device, stretto_error *err);

#ifdef __cplusplus
}
#endif
#endif
