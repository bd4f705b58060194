/* SPDX-License-Identifier: MIT
 * Time. Everything that measures takes a clock, so that a mock machine can run on virtual time. */
#ifndef ST_BASE_CLOCK_H
#define ST_BASE_CLOCK_H

#include <stdint.h>

typedef struct st_clock {
    uint64_t (*now)(void *arg); /* nanoseconds, never going back */
    void *arg;
} st_clock;

uint64_t st_now_ns(void);     /* CLOCK_MONOTONIC */
uint64_t st_boot_ns(void);    /* CLOCK_BOOTTIME: goes on while the machine sleeps */
st_clock st_clock_real(void); /* st_now_ns as a clock */

static inline uint64_t st_clock_now(const st_clock *clock) {
    return clock->now(clock->arg);
}

#endif
