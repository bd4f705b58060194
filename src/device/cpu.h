/* SPDX-License-Identifier: MIT
 * CPU lanes: a unit made of a pinned set of cores with its own thread pool, and the notation for units ("cpu:0,cpu:1",
 * "cpu:0+2", "cpu:0-3").
 *
 * A lane is a first-in-first-out device over all its queues: it runs one step at a time on all its workers, and next
 * the one that was submitted first among those that can start (first of their queue, dependencies done). A step that
 * waits for another unit holds up its own queue only. The workers go from step to step by themselves. */
#ifndef ST_DEVICE_CPU_H
#define ST_DEVICE_CPU_H

#include "base/host.h"
#include "base/log.h"
#include "unit/unit.h"

typedef struct st_cpu_options {
    const unsigned *cores; /* [n_cores] indices into host->cores; copied */
    unsigned n_cores;
    unsigned n_threads; /* 0: one a core. More than cores, or than the quota allows, is reduced with a warning */
    bool pin;           /* bind each worker to its core */
    uint64_t spin_ns;   /* how long idle workers spin before they sleep; 0: the default */
    const st_log *log;
} st_cpu_options;

/* Opens a lane. host must outlive it. STRETTO_E_USAGE for a core that is not there, STRETTO_E_UNIT when threads cannot
 * be made. */
int st_cpu_open(st_unit **out, const st_host *host, const st_cpu_options *options, stretto_error *err);

/* A list of core sets, one a lane, from "cpu:0,cpu:1-3,cpu:4+6". */
typedef struct st_core_set {
    unsigned *cores; /* ascending, no doubles; owned */
    unsigned n;
} st_core_set;
/* STRETTO_E_USAGE with the part that is wrong, what was expected, and how many cores are allowed here. Two sets may
 * share cores (that is what one may want to measure), which is a warning. *out is owned by the caller:
 * st_core_sets_free. */
int st_core_sets_parse(st_core_set **out, unsigned *n_sets, const char *text, const st_host *host, const st_log *log,
                       stretto_error *err);
void st_core_sets_free(st_core_set *sets, unsigned n_sets);

#endif
