/* SPDX-License-Identifier: MIT
 * A scripted machine on virtual time, for tests of all that measures or plans: known durations in, exact completion
 * times out. One machine owns the clock and several units that may share its cores and its memory bandwidth. Nothing
 * runs in real time: the clock stands still until somebody waits for an event, then jumps from one thing that happens
 * to the next. A million rounds take seconds.
 *
 * What a step costs on a unit is in its st_mock_work. While several steps are in progress each gets the share of its
 * full speed that the unit's kind, the cores and the bandwidth leave it; the simulation is exact for these piecewise
 * constant speeds. Steps' run functions are not called.
 *
 * All calls may be made from any thread. With several threads, what one submits while another waits arrives at whatever
 * virtual time the waiting one has reached, so exact tests submit everything before they wait. */
#ifndef ST_UNIT_MOCK_H
#define ST_UNIT_MOCK_H

#include "unit/unit.h"

typedef struct st_mock_machine st_mock_machine;

typedef struct st_mock_options {
    uint64_t seed;
    double bytes_per_ns; /* memory bandwidth that all units share: steps in progress that together want more are slowed
                            in proportion to what each wants (st_step.bytes over its duration). 0: no limit */
    double bytes_per_ns_later; /* > 0: what the bandwidth is from later_ns on (a neighbour begins to use it) */
    uint64_t later_ns;
    double oversubscribed; /* where more threads run than there are cores, each thread gets its share of a core, and the
                              step is slowed by 1 + this factor on top (threads that wait for a descheduled one) */
    double together;       /* while steps run on several units, each is slowed by 1 + this: a clock that drops */
    double cold;  /* likewise for steps that found the caches cold (st_mock_chill): a cache they fill together */
    double sigma; /* noise: each duration is multiplied by exp(sigma * standard normal) */
    double outlier_share; /* this share of steps takes outlier_factor times as long */
    double outlier_factor;
    double drift_per_s;   /* durations grow by this share in each second of virtual time, */
    double wave;          /* and by this share in every second half of */
    uint64_t wave_ns;     /* a period of this length (slow phases) */
    uint64_t sleep_at_ns; /* at this time the machine sleeps */
    uint64_t sleep_ns;    /* for this long, which only the boot clock sees */
    void (*trace)(void *arg, const char *unit, const st_step *step, uint64_t start_ns); /* each start, or NULL */
    void *trace_arg;
} st_mock_options;

enum st_mock_kind {
    ST_MOCK_FIFO,        /* `engines` steps at a time, first in, first out over all queues */
    ST_MOCK_TIME_SLICED, /* all queues' first steps at once, each at an equal share of one engine (thin time slices) */
};

typedef struct st_mock_unit_options {
    const char *name; /* copied */
    enum st_mock_kind kind;
    unsigned engines;      /* of ST_MOCK_FIFO; 0: 1 */
    uint64_t latency_ns;   /* from submission until the device could start; those of several submissions overlap */
    uint64_t submit_ns;    /* how long a submission keeps its thread busy: moves the clock */
    const unsigned *cores; /* [n_cores], copied; none: its own hardware */
    unsigned n_cores;
    unsigned n_threads; /* 0: one a core, at least 1 */
    uint64_t dies_at;   /* the n-th submission fails when it would have ended, later ones are refused; 0: never */
} st_mock_unit_options;

/* What a step costs: st_step.arg points to one. runs may be read when nothing is in progress. */
typedef struct st_mock_work {
    uint64_t ns;      /* at full speed */
    unsigned phases;  /* > 0: in so many equal parts, of each of which */
    double reading;   /* this share, the first, reads all the bytes of the part, and the rest none, 0 to 1 */
    uint64_t cold_ns; /* more in the first run */
    uint64_t runs;    /* counted by the machine */
} st_mock_work;

/* A step whose cost is work, which must outlive it. */
st_step st_mock_step(const char *name, st_mock_work *work, uint64_t bytes);

int st_mock_machine_create(st_mock_machine **out, const st_mock_options *options, stretto_error *err);
void st_mock_machine_destroy(st_mock_machine *machine); /* its units were closed before; NULL is fine */

/* Ends with st_unit_close. STRETTO_E_USAGE for more than ST_UNIT_MAX_CORES cores, STRETTO_E_MEMORY. */
int st_mock_open(st_unit **out, st_mock_machine *machine, const st_mock_unit_options *options, stretto_error *err);

st_clock st_mock_clock(st_mock_machine *machine);      /* virtual time */
st_clock st_mock_boot_clock(st_mock_machine *machine); /* the same, going on while the machine sleeps */

/* The caches are cold for the next step of each unit. */
void st_mock_chill(st_mock_machine *machine);

/* Lets ns of virtual time pass (host work that no unit sees); what is in progress goes on meanwhile. */
void st_mock_advance(st_mock_machine *machine, uint64_t ns);

#endif
