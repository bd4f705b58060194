/* SPDX-License-Identifier: MIT
 * The probe: can two steps run at the same time, and why or why not? It sees steps, units and costs, never models. Its
 * answer is an st_probe_record. */
#ifndef ST_PROBE_PROBE_H
#define ST_PROBE_PROBE_H

#include "base/host.h"
#include "plan/cost.h"
#include "probe/record.h"
#include "unit/unit.h"

#include <stdatomic.h>

/* Something that may run on some of the units. All is the caller's and stays as it is during the probe. */
typedef struct st_probe_side {
    const char *name;            /* "1" */
    const st_step *const *steps; /* [n_units] what it is on each unit, NULL where it cannot run */
} st_probe_side;

/* One pair in one arrangement: one row of the result. A batch (arrangement->k) has the single call as side 0 and the
 * call of k tokens as side 1, both on unit[0]. */
typedef struct st_probe_job {
    const st_arrangement *arrangement;
    unsigned side[2]; /* a and b: two different sides */
    unsigned unit[2]; /* where each runs: indices into the units */
    bool chain;       /* the sides are steps of the setup's chain */
    const char *skip; /* why it cannot be measured here; NULL: measure it */
} st_probe_job;

typedef struct st_probe_limits {
    unsigned rounds;    /* exactly that many; 0: look at 10, 20, 40, ... and stop when precise enough */
    uint64_t budget_ns; /* for all rows together, though every row gets at least ten rounds; 0: none */
    double precision;   /* the width of the interval that ends a row, 0: 0.04 */
    unsigned resamples; /* of the bootstrap, 0: 2000 */
} st_probe_limits;

typedef struct st_probe_progress {
    const st_probe_row *row;
    unsigned job, n_jobs;
    size_t rounds, expected; /* so far, and about how many there will be; 0 rounds: warming up */
    bool looked;             /* factor holds what the last look found */
    st_interval factor;      /* the decisive one */
    double seconds_left;     /* of the budget, less than 0: no budget */
} st_probe_progress;

typedef struct st_probe_setup {
    const char *title;
    const char *chain; /* names what the jobs' sides are steps of: "token, 1, 2, 3, 4, token"; NULL: it has no name */
    const st_probe_side *sides;
    unsigned n_sides;
    st_unit *const *units;
    unsigned n_units;
    const st_probe_job *jobs;
    unsigned n_jobs;
    const st_probe_side *controls; /* [ST_CONTROL_COUNT], steps that are NULL are left out; NULL: there are none */
    const st_unit_peaks *peaks; /* [n_units], copied to the record; without a name: of a unit that is not known; NULL */
    const st_costs *costs; /* of the whole chain, by the units' names; NULL: not known, nor is what pairs are worth */
    st_unit *const *unpinned; /* [n_units] units like the others whose threads may wander, NULL where there is none;
                                 NULL: nowhere */
    /* Brings the caches to the state of a real step before every timed arm, untimed; NULL: caches stay warm. */
    void (*evict)(void *arg, const st_probe_job *job);
    void *evict_arg;
    st_clock clock;       /* of all the units */
    const st_clock *boot; /* one that goes on while the machine sleeps; NULL: the real machine's */
    bool virtual_time;   /* the clock is a mock's: one thread plays both submitters, and no real machine is looked at */
    const st_host *host; /* whose cores the units' cores are; NULL: unknown, as are causes that need it */
    uint64_t seed;       /* of the order of arms and the bootstrap */
    st_probe_limits limits;
    const atomic_bool *cancel; /* once true the probe ends after the current round; may be NULL */
    void (*progress)(void *arg, const st_probe_progress *progress); /* after each round; may be NULL */
    void *progress_arg;
} st_probe_setup;

#define ST_PROBE_PRECISION 0.04
#define ST_PROBE_RESAMPLES 2000
#define ST_PROBE_LEAST_ROUNDS 10

/* Measures all jobs, in turns with each other, and fills *record, which the caller frees with st_probe_record_free
 * whatever is returned: what was measured is kept. STRETTO_E_USAGE when a job makes no sense (nothing was measured
 * then); STRETTO_E_STOPPED when cancelled; STRETTO_E_UNIT or what a step returned when one failed (that row ends, the
 * others are measured, the first failure is returned); STRETTO_E_MEMORY. From one thread. */
int st_probe_run(const st_probe_setup *setup, st_probe_record *record, stretto_error *err);

#endif
