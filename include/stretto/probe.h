/* SPDX-License-Identifier: MIT
 * The probe: can two steps run at the same time, why or why not? It times, in rounds of random order, each alone, both
 * one after the other, and both started together, and judges from intervals, not from single numbers. */
#ifndef STRETTO_PROBE_H
#define STRETTO_PROBE_H

#include "stretto/chain.h"
#include "stretto/error.h"
#include "stretto/export.h"
#include "stretto/unit.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a pair. Both may be on one unit: each then has its own queue. */
typedef struct stretto_probe_side {
    const stretto_step *step; /* may be executed again and again, and at the same time as the other side's */
    stretto_unit *unit;
} stretto_probe_side;

/* Zeroed is the default of everything. */
typedef struct stretto_probe_options {
    unsigned rounds;  /* exactly so many; 0: 10, 20, 40, ... until the interval is narrow enough */
    double seconds;   /* stop then, though not before ten rounds; 0: 12, or no limit where rounds says how many */
    double precision; /* width of the interval that is narrow enough; 0: 0.04 */
    uint64_t seed;    /* of the random order and the intervals */
    bool one_thread;  /* one thread submits both, one after the other; else two threads, which start together */
    bool warm;        /* chunks: leave the caches as the last execution left them; else the rest of the model passes
                         through them before every timing, as it does in a real step */
    /* Steps: called before every timing, and not timed, to bring the caches to the state of a real step. NULL: they
     * stay as the last execution left them. */
    void (*evict)(void *arg);
    void *evict_arg;
    /* After each round, on the caller's thread: rounds so far, and about how many there will be. Returning other than 0
     * ends the probe, and what was measured is kept. NULL: never. */
    int (*progress)(void *arg, size_t rounds, size_t expected);
    void *progress_arg;
} stretto_probe_options;

/* An estimate, and where the true value is with 95 % confidence. */
typedef struct stretto_interval {
    double value, lo, hi;
} stretto_interval;

enum stretto_overlap {
    STRETTO_OVERLAP_UNDECIDED,  /* see rounds_needed */
    STRETTO_OVERLAP_INTERFERES, /* together is slower than one after the other */
    STRETTO_OVERLAP_SERIALISES, /* together gains nothing */
    STRETTO_OVERLAP_OVERLAPS,
};

#define STRETTO_ROUNDS_NEVER UINT64_MAX

typedef struct stretto_probe_result {
    char arrangement[16]; /* "one-unit", "two-units" or "async" */
    char unit_a[48], unit_b[48];
    size_t rounds;                          /* 0: nothing below is meaningful but `evidence` */
    double solo_a_ns, solo_b_ns;            /* medians: each alone, */
    double serial_ns, parallel_ns;          /* one after the other, and together; */
    double queued_ns;                       /* both handed to one queue, where both are on one unit, else 0 */
    stretto_interval overlap_factor;        /* (a + b - parallel) / the smaller: 1 is perfect, 0 none */
    stretto_interval overlap_factor_serial; /* with the measured serial time in place of a + b */
    stretto_interval overlap_factor_unit;   /* with the queued time; decides where both are on one unit, else all 0 */
    stretto_interval speedup;               /* serial / parallel */
    double slowdown_a, slowdown_b;          /* of each when the other runs too: 1 is none */
    enum stretto_overlap overlap;
    uint64_t rounds_needed; /* undecided: that many more would decide, or STRETTO_ROUNDS_NEVER */
    char cause[64];         /* "true overlap", "a first-in-first-out queue", ..., "unexplained" */
    char evidence[320];     /* the numbers behind the cause, in a sentence */
    char warnings[1024];    /* a line each, with what to do about it; "" when there are none */
} stretto_probe_result;

/* Probes two steps. *result holds what was measured whatever is returned. STRETTO_OK, STRETTO_E_USAGE (a side without
 * step or unit, an option that makes no sense, a step without a function on a CPU unit), STRETTO_E_STOPPED (progress
 * said so), STRETTO_E_UNIT or what a step returned when one failed, STRETTO_E_MEMORY. Nothing else should run
 * meanwhile. One thread. */
STRETTO_API int stretto_probe_steps(stretto_probe_result *result, const stretto_probe_side *a,
                                    const stretto_probe_side *b, const stretto_probe_options *options,
                                    stretto_error *err);

/* Probes two chunks of a chain as a decode step at position 1 has them, where b gets what the chunk before it has just
 * produced. a and b: 0 is the first chunk. on_a, on_b: units to run them on, which share memory; NULL: where the chain
 * has them. The chain's stream is not touched, but nothing may use the chain meanwhile. Returns as stretto_probe_steps.
 */
STRETTO_API int stretto_probe_chunks(stretto_probe_result *result, stretto_chain *chain, size_t a, size_t b,
                                     stretto_unit *on_a, stretto_unit *on_b, const stretto_probe_options *options,
                                     stretto_error *err);

#ifdef __cplusplus
}
#endif
#endif
