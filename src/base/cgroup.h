/* SPDX-License-Identifier: MIT
 * What the control groups that this process is in allow it, and how often they held it up: cgroup v2, v1, and both
 * mounted side by side. */
#ifndef ST_BASE_CGROUP_H
#define ST_BASE_CGROUP_H

#include <stdint.h>

typedef struct st_cgroup {
    double quota_cpus;     /* CPUs worth of time, the tightest of the group and its ancestors; 0 = no limit */
    uint64_t memory_bytes; /* likewise; UINT64_MAX = no limit */
    int64_t throttled;     /* periods in which the group or an ancestor had used up its quota, so far; -1: unknown */
} st_cgroup;

/* Reads ROOT/proc/self/cgroup and the hierarchies in ROOT/proc/self/mountinfo; root is "" on a real machine. What
 * cannot be read or understood limits nothing. */
void st_cgroup_read(st_cgroup *out, const char *root);

#endif
