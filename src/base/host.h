/* SPDX-License-Identifier: MIT
 * The machine: cores as hwloc orders them, core kinds, caches, and what we are allowed to use of it. */
#ifndef ST_BASE_HOST_H
#define ST_BASE_HOST_H

#include "base/log.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_HOST_MAX_CORES 1024

typedef struct st_core {
    unsigned cpu;     /* OS number of the core's first allowed hardware thread: what a worker is pinned to */
    unsigned n_cpus;  /* allowed hardware threads of the core (2 with SMT) */
    unsigned package; /* hwloc logical indices */
    unsigned core;    /* hwloc logical core index: equal for SMT siblings */
    int kind;         /* hwloc core kind, 0 = least capable; -1 unknown or all alike */
} st_core;

typedef struct st_host {
    char cpu_model[96];
    char isa[32];   /* best instruction set seen, e.g. "AVX-512 VNNI", "AVX2", "NEON dotprod" */
    st_core *cores; /* [n_cores] physical cores with at least one allowed hardware thread, hwloc's order */
    unsigned n_cores;
    unsigned n_cpus;       /* allowed hardware threads (cpuset, affinity) */
    double quota_cpus;     /* cgroup cpu quota in CPUs (v2 cpu.max or v1 cfs_quota/period, tightest of all ancestors);
                              0 = none */
    unsigned max_threads;  /* threads worth starting: cores limited by the quota (ceil), at least 1 */
    size_t llc_bytes;      /* last-level cache reachable from core 0; 0 = unknown */
    size_t l2_bytes;       /* likewise */
    uint64_t memory_bytes; /* total memory, limited by the cgroup */
    char governor[32];     /* "" when there is none */
    char kernel[64];       /* uname -r */
} st_host;

/* Reads the machine. Root folder "" is the real one; tests point it at a made-up /proc and /sys for limits and
 * governor. STRETTO_E_UNIT when no core is allowed or the topology cannot be read, STRETTO_E_MEMORY. */
int st_host_read(st_host *host, const char *root, stretto_error *err);
void st_host_free(st_host *host);

/* What this process can come to hold: memory, limited by the cgroup, and swap. Root as above. */
uint64_t st_host_memory_most(const char *root);

/* Load average over one minute, or -1. */
double st_host_load(void);

#endif
