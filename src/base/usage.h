/* SPDX-License-Identifier: MIT
 * Who uses the CPUs: this program and its children, other programs, or the host that the machine is a guest of. */
#ifndef ST_BASE_USAGE_H
#define ST_BASE_USAGE_H

#include <stdint.h>

/* CPU time until one moment, in nanoseconds; -1: unknown. */
typedef struct st_usage {
    uint64_t wall_ns;  /* CLOCK_MONOTONIC */
    int64_t busy_ns;   /* of all CPUs since boot, whoever used it */
    int64_t stolen_ns; /* of all CPUs since boot: wanted here, but given to others by the host */
    int64_t own_ns;    /* of this process and its children */
} st_usage;

/* Reads /proc/stat (proc(5), in clock ticks) below root, "" for the real one, and getrusage(2); children that still run
 * are read from /proc. Takes some tens of microseconds. */
void st_usage_read(st_usage *out, const char *root);

/* CPUs that other programs kept busy, and that the host took away, on average between two moments; -1: unknown, also
 * when they are less than 50 ms apart, where clock ticks tell nothing. */
double st_usage_others(const st_usage *from, const st_usage *to);
double st_usage_stolen(const st_usage *from, const st_usage *to);

/* Looks at the CPUs for 0.1 s and says how many other programs keep busy; -1: unknown. */
double st_usage_others_now(void);

#define ST_USAGE_BUSY 0.15 /* CPUs that others use, above which a machine counts as busy */

#endif
