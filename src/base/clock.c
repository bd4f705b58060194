/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t clock_read(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t st_now_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}
uint64_t st_boot_ns(void) {
    return clock_read(CLOCK_BOOTTIME);
}

static uint64_t real_now(void *arg) {
    (void)arg;
    return st_now_ns();
}

st_clock st_clock_real(void) {
    return (st_clock){.now = real_now, .arg = NULL};
}
