/* SPDX-License-Identifier: MIT
 * Lanes for tests on any machine: the cores are made up, so nothing is pinned, and any number can be had. Include after
 * cmocka.h. */
#ifndef ST_SUPPORT_LANES_H
#define ST_SUPPORT_LANES_H

#include "device/cpu.h"

#include <sched.h>

typedef struct lanes_host {
    st_host host;
    st_core cores[8];
} lanes_host;

static inline void lanes_host_init(lanes_host *fake, unsigned n_cores) {
    *fake =
        (lanes_host){.host = {.cpu_model = "made-up", .n_cores = n_cores, .n_cpus = n_cores, .max_threads = n_cores}};
    for (unsigned i = 0; i < n_cores; i++)
        fake->cores[i] = (st_core){.cpu = (unsigned)sched_getcpu(), .n_cpus = 1, .core = i, .kind = -1};
    fake->host.cores = fake->cores;
}

/* A lane of cores first..first+n-1 with a short spin, so that sleeping and waking are tested as well. */
static inline st_unit *lanes_open(const lanes_host *fake, unsigned first, unsigned n, uint64_t spin_ns) {
    unsigned cores[8];
    for (unsigned i = 0; i < n; i++) cores[i] = first + i;
    const st_cpu_options options = {.cores = cores, .n_cores = n, .spin_ns = spin_ns};
    st_unit *unit;
    stretto_error err;
    assert_int_equal(st_cpu_open(&unit, &fake->host, &options, &err), 0);
    return unit;
}

static inline st_queue *lanes_queue(st_unit *unit) {
    st_queue *queue;
    stretto_error err;
    assert_int_equal(st_queue_open(unit, &queue, &err), 0);
    return queue;
}

#endif
