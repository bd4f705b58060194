/* SPDX-License-Identifier: MIT
 * Steps of known cost that use one resource of a lane and hardly another: arithmetic on registers, or reading memory.
 * And what a lane gives at most of each, measured with them. */
#ifndef ST_DEVICE_CONTROL_H
#define ST_DEVICE_CONTROL_H

#include "base/host.h"
#include "kern/kern.h"
#include "unit/unit.h"

typedef struct st_control st_control;

/* A step of `operations` multiply-adds on registers (rounded up to whole rounds of ST_BURN_ROUND), shared out over the
 * workers of the lane that runs it. Touches no memory. STRETTO_E_USAGE for 0 or more than 2^42, STRETTO_E_MEMORY. */
int st_control_compute(st_control **out, const st_kern *kern, enum st_burn what, uint64_t operations,
                       stretto_error *err);

/* A step that reads `bytes` (rounded up to whole cache lines) in that order (st_kern.stream), shared out over the
 * workers of the lane that runs it: the next ones each time of a region of its own of at least memory_bytes. When that
 * is well over the caches (see st_control_memory) every run finds its bytes in memory. STRETTO_E_USAGE for 0 bytes,
 * STRETTO_E_MEMORY. */
int st_control_stream(st_control **out, const st_kern *kern, enum st_stream_order order, uint64_t bytes,
                      uint64_t memory_bytes, stretto_error *err);
void st_control_free(st_control *control); /* NULL is fine; not while it runs */

/* Bytes or operations, as rounded, are filled in. Runs on a lane of any number of workers, on one lane at a time. */
const st_step *st_control_step(const st_control *control);

/* How much memory a stream has to go through on this machine so that it comes from memory: eight times the last-level
 * cache, 128 MiB to 1 GiB, but not more than an eighth of the memory there is. */
uint64_t st_control_memory(const st_host *host);

/* Work over time: at best (st_step_time), and the median of all runs. */
typedef struct st_peak {
    double best, median;
} st_peak;

/* What a unit gives, all its workers together. */
typedef struct st_peaks {
    unsigned n_threads;
    st_peak read; /* GB/s (bytes a nanosecond) from memory, in the better order */
    enum st_stream_order order;
    st_peak burn[ST_BURNS]; /* multiply-adds a nanosecond */
    uint64_t memory_bytes;  /* that were read again and again */
} st_peaks;

/* Measures a lane for about half a second; memory_bytes as for st_control_stream, at least 64 KiB. The unit should be
 * idle otherwise. STRETTO_E_USAGE when the unit runs no code of ours (it is no cpu lane), STRETTO_E_UNIT when it fails,
 * STRETTO_E_MEMORY. */
int st_peaks_measure(st_peaks *out, st_unit *unit, const st_kern *kern, uint64_t memory_bytes, stretto_error *err);

/* What a step of `bytes` or `operations` should do to take about ns on that unit. */
static inline uint64_t st_peaks_bytes(const st_peaks *peaks, double ns) {
    return (uint64_t)(peaks->read.median * ns);
}
static inline uint64_t st_peaks_operations(const st_peaks *peaks, enum st_burn what, double ns) {
    return (uint64_t)(peaks->burn[what].median * ns);
}

#endif
