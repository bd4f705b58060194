/* SPDX-License-Identifier: MIT
 * What a probe found. Records own their numbers and their text, so that they outlive units, models and queues; a writer
 * in src/report needs nothing else. Times are nanoseconds. */
#ifndef ST_PROBE_RECORD_H
#define ST_PROBE_RECORD_H

#include "base/buf.h"
#include "base/usage.h"
#include "plan/break_even.h"
#include "probe/arrangement.h"
#include "stat/stat.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_PROBE_NAME 48

/* One arm of one round. Side 0 is a, side 1 is b; a side that has no part in the arm has zeros. */
typedef struct st_sample {
    uint64_t begin_ns;    /* the common start, since the first round began */
    uint64_t wall_ns;     /* from there to the last completion */
    uint64_t start_ns[2]; /* when the unit began and ended each side, since the common start */
    uint64_t end_ns[2];
    uint64_t skew_ns; /* how far apart the two sides were submitted, and which was the second; parallel arm only */
    unsigned second;
    uint64_t cpu_ns; /* CPU time that the units of the row used meanwhile, 0: unknown */
} st_sample;

/* Steps whose nature is known, run on a row's units in its rounds, so that no chunk is blamed for what the units do. */
enum st_control_kind {
    ST_CONTROL_COMPUTE,   /* arithmetic in registers */
    ST_CONTROL_BANDWIDTH, /* streaming reads */
    ST_CONTROL_CLOCK,     /* a chain of dependent additions, one a cycle: its time shows the clock */
    ST_CONTROL_COUNT
};

/* What a round may hold beside its arms: the controls, and the row's own pair with caches warm. */
enum { ST_BESIDE_WARM = ST_CONTROL_COUNT, ST_BESIDE_COUNT };

/* One of them in one round: each side alone, and when each ended after both were started together. Zeros where it has
 * no part; of a batch only side 0 alone is measured. */
typedef struct st_beside_sample {
    uint64_t solo_ns[2], end_ns[2];
} st_beside_sample;

enum st_round_flag {
    ST_ROUND_OUTLIER = 1, /* an arm is an outlier among its kind; kept in all numbers */
    ST_ROUND_SKEW = 2,    /* the sides started further apart than 5 % of the shorter side */
};

typedef struct st_round {
    uint64_t begin_ns;            /* since the first round */
    st_sample arms[ST_ARM_COUNT]; /* those of the row */
    st_beside_sample beside[ST_BESIDE_COUNT];
    uint8_t order[ST_ARM_COUNT]; /* enum st_arm in the order of execution, n_arms of them */
    unsigned process;            /* in which of the record's processes, from 0 */
    unsigned flags;              /* enum st_round_flag */
    unsigned outliers;           /* mask of arms */
} st_round;

/* How the sides of a parallel arm ended, against what each takes alone and what a serial device would make of both. */
enum st_class {
    ST_CLASS_SOLO,      /* both at their solo times */
    ST_CLASS_A_FIRST,   /* a at its solo time, b at the sum */
    ST_CLASS_B_FIRST,   /* b at its solo time, a at the sum */
    ST_CLASS_SLICED,    /* the shorter at twice its solo time, the other at the sum */
    ST_CLASS_STRETCHED, /* both late, yet done before the sum */
    ST_CLASS_WORSE,     /* the last later than the sum */
    ST_CLASS_OTHER,
    ST_CLASS_COUNT
};

enum st_overlap { ST_OVERLAP_UNDECIDED, ST_OVERLAP_INTERFERES, ST_OVERLAP_SERIALISES, ST_OVERLAP_OVERLAPS };

enum st_cause {
    ST_CAUSE_UNEXPLAINED,
    ST_CAUSE_SHARED_CORE,
    ST_CAUSE_ONE_CORE,
    ST_CAUSE_OVERSUBSCRIPTION,
    ST_CAUSE_QUEUEING,
    ST_CAUSE_PROCESS,
    ST_CAUSE_FIFO,
    ST_CAUSE_TIME_SLICED,
    ST_CAUSE_BANDWIDTH,
    ST_CAUSE_SHARED_CACHE,
    ST_CAUSE_CLOCK,
    ST_CAUSE_TRUE_OVERLAP,
    ST_CAUSE_READ_ONCE, /* of a batched call */
    ST_CAUSE_LATE,
    ST_CAUSE_COUNT
};

/* What a pair would be used for: the planner's enum st_use. */
enum { ST_USE_COUNT = ST_USES };

enum st_worth_verdict {
    ST_WORTH_UNKNOWN, /* the costs that it takes were not measured */
    ST_WORTH_PAYS,
    ST_WORTH_DOES_NOT_PAY,
    ST_WORTH_IMPOSSIBLE, /* the steps depend on each other */
    ST_WORTH_UNDECIDED,  /* the factor's interval holds the break-even */
};

typedef struct st_worth {
    enum st_worth_verdict verdict;
    bool has_break_even;
    double break_even; /* the overlap factor at which the best schedule with both units is as good as the best without;
                          there is none where even perfect overlap does not pay, -1 where any does */
    char reason[320];  /* a sentence without full stop; "" when unknown */
} st_worth;

enum st_stop {
    ST_STOP_ROUNDS,    /* all rounds that were asked for */
    ST_STOP_PRECISION, /* the interval was narrow enough */
    ST_STOP_BUDGET,    /* the time was over */
    ST_STOP_CANCELLED,
    ST_STOP_ERROR,   /* `error` says what; the rounds before it count */
    ST_STOP_SKIPPED, /* not measured; `error` says why */
};

enum st_row_flag {
    ST_ROW_NOT_STEADY = 1, /* the warm-up never became steady */
    ST_ROW_SPREAD = 2,     /* the middle half of an arm is spread too widely for a verdict */
    ST_ROW_FEW = 4,        /* fewer rounds than a verdict needs */
};

#define ST_ROUNDS_NEVER UINT64_MAX /* no number of rounds would decide */

/* What a row's units have of the machine's cores. */
typedef struct st_row_cores {
    unsigned threads; /* of both units */
    unsigned cores;   /* that they have between them; 0: they do not run on cores of this machine */
    unsigned shared;  /* of these, those that both have */
    unsigned allowed; /* threads that may run at once here; 0: unknown */
    bool siblings;    /* a core of one and another of the other are hardware threads of one physical core */
} st_row_cores;

typedef struct st_control_result {
    size_t n_rounds; /* 0: not measured, nothing below is valid */
    double solo_ns[2], parallel_ns, slowdown[2];
    double solo_rate[2], parallel_rate; /* compute: Gmac/s; bandwidth: GB/s; clock: additions a nanosecond (GHz) of the
                                           slower side */
    st_interval overlap;
} st_control_result;

/* A factor that one thing alone would leave (or, of a batch, give), and whether that is most of what is seen; over the
 * rounds that it can be told of. */
typedef struct st_account {
    bool known; /* else nothing below is valid */
    st_interval factor;
    st_interval seen;   /* the row's own factor in the same rounds */
    st_interval margin; /* what it accounts for less half of what is to be accounted for, of the same rounds, in the
                           factor's measure: above 0 it is the larger part */
} st_account;

/* One pair in one arrangement. */
typedef struct st_probe_row {
    const st_arrangement *arrangement; /* of the static table */
    char name[2][ST_PROBE_NAME];       /* of the sides */
    char unit[2][ST_PROBE_NAME];       /* where each ran */
    bool one_unit;                     /* both sides on one unit, each with a queue; false of a batch */
    bool chain;                        /* the sides are steps of one chain: in one stream they can never overlap */
    unsigned k; /* > 0: a batch: side 0 alone, k single calls of it against one call of k tokens */
    uint64_t bytes[2], operations[2]; /* of one step, 0: unknown; of a batch, [1] is the call of k tokens */
    st_row_cores cores;
    unsigned arms; /* mask of 1u << enum st_arm */
    unsigned n_arms;
    unsigned beside;                  /* mask of 1u << enum st_control_kind, or ST_BESIDE_WARM */
    double work[ST_CONTROL_COUNT][2]; /* of the controls' steps: bytes of bandwidth's, operations of the others' */
    double peak_gb_per_s;             /* what the unit of a batch reads at most, measured once; 0: unknown */

    st_round *rounds; /* owned */
    size_t n_rounds, cap;
    size_t n_discarded;  /* rounds thrown away because the machine slept in them */
    uint64_t cold_ns[2]; /* first call on the unit, 0: it had run before */
    size_t n_warm_up;    /* parallel runs before the first round, */
    bool steady;         /* and whether their time became steady */
    enum st_stop stop;
    stretto_error error;

    /* From the rounds; valid when n_rounds > 0. */
    double level; /* of the bootstrap intervals */
    double median_ns[ST_ARM_COUNT];
    double spread[ST_ARM_COUNT];    /* quartile distance over median */
    double cpu_share[ST_ARM_COUNT]; /* median of CPU time over wall time, 0: unknown */
    unsigned reference;             /* s: the side with the smaller median solo time */
    st_interval overlap;            /* (Ta + Tb - Tpar) / Ts; of a batch (k T1 - Tk) / ((k - 1) T1) */
    st_interval overlap_serial;     /* (Tserial - Tpar) / Ts; of a batch (Tserial - Tk) / ((k - 1) T1) */
    st_interval overlap_unit;       /* (Tqueued - Tpar) / Ts, where one_unit and no batch */
    st_interval speedup;            /* Tserial / Tpar, of a batch Tserial / Tk */
    double slowdown[2];             /* of each side: its end in the parallel arm over its solo time; not of a batch */
    double dispatch_ns;             /* from submission to start, alone: the larger side's median */
    double skew_ns;                 /* median */
    size_t n_outliers, n_skewed;    /* rounds with the flag */
    size_t classes[ST_CLASS_COUNT]; /* rounds in each */
    double class_tolerance;         /* of the classes of one device */
    unsigned flags;                 /* enum st_row_flag */
    st_control_result controls[ST_CONTROL_COUNT];
    st_account memory; /* the overlap factor that the bandwidth both share would leave, where both sides start
                          together; of a batch what reading the weights once would give */
    st_account late;   /* the overlap factor that a late submission of one side would leave, in the rounds that have
                          one; not of a batch */
    enum st_overlap verdict;
    uint64_t rounds_needed; /* when undecided: how many more would decide, or ST_ROUNDS_NEVER */
    enum st_cause cause;
    char evidence[320]; /* the numbers behind the cause, in a sentence; never empty */
    st_worth worth[ST_USE_COUNT];

    /* Measured for the cause where nothing else explained the row: the same pair, so few rounds. */
    bool has_warm, has_unpinned;
    st_interval warm;      /* overlap with caches warm */
    st_interval warm_gain; /* what that is more than in the same rounds with caches as in the row */
    st_interval unpinned;  /* overlap with threads that may wander */
} st_probe_row;

/* The controls of all rows on a pair of units, as one. */
typedef struct st_unit_pair {
    char unit[2][ST_PROBE_NAME];
    st_control_result controls[ST_CONTROL_COUNT];
} st_unit_pair;

/* What one chunk costs alone on one unit: of a call of so many tokens, in steps of the whole model. */
typedef struct st_solo_cost {
    char chunk[ST_PROBE_NAME], unit[ST_PROBE_NAME];
    bool prefill; /* tokens of a prompt; else rows that are decoded */
    unsigned tokens;
    double ns;
    uint64_t weight_bytes, kv_bytes; /* of the chunk; KV of one token of one stream */
} st_solo_cost;

/* What a unit can do at most, measured once. */
typedef struct st_unit_peaks {
    char unit[ST_PROBE_NAME];
    unsigned n_threads;
    double gb_per_s, gmac_per_s; /* 0: not measured */
} st_unit_peaks;

enum st_cache { ST_CACHE_STEP, ST_CACHE_WARM };

/* The machine's state at one moment. */
typedef struct st_conditions {
    double load;       /* average over a minute, this program included; -1: unknown */
    st_usage usage;    /* CPU time until then */
    unsigned n_cpus;   /* allowed */
    double quota_cpus; /* 0: none */
    char governor[32]; /* "": none */
    int64_t throttled; /* periods throttled by the quota, and by heat, since boot; -1: unknown */
} st_conditions;

typedef struct st_probe_record {
    char title[256]; /* what is probed */
    enum st_cache cache;
    uint64_t seed;
    unsigned rounds;    /* asked for, 0: the stopping rule */
    uint64_t budget_ns; /* 0: none */
    double precision;
    st_probe_row *rows; /* [n_rows] owned */
    size_t n_rows;
    st_unit_pair *unit_pairs; /* [n_unit_pairs] owned: those of the rows that are on two units and have controls */
    size_t n_unit_pairs;
    st_unit_peaks *peaks; /* [n_peaks] owned: of the rows' units */
    size_t n_peaks;
    st_solo_cost *costs; /* [n_costs] owned: what the break-evens were found from */
    size_t n_costs;
    unsigned n_processes; /* whose rounds are in the rows; at least 1 */
    double join_ns;       /* from the common start of a pair of steps that do nothing until both are known to be done:
                             what joining and dispatch cost; 0: not measured */
    bool has_conditions;  /* a virtual machine has none */
    st_conditions before, after;
    uint64_t duration_ns;
    st_buf warnings; /* each ended by a newline, with its remedy; data is NULL when there are none */
} st_probe_record;

/* CPUs that other programs kept busy, and that the host took away, on average during the probe; -1: unknown. */
double st_record_others(const st_probe_record *record);
double st_record_stolen(const st_probe_record *record);

/* Words as in JSON and text. Never NULL. */
const char *st_overlap_name(enum st_overlap verdict); /* "undecided", "interferes", "serialises", "overlaps" */
const char *st_cause_name(enum st_cause cause);
const char *st_class_name(enum st_class class_);
const char *st_stop_name(enum st_stop stop);
const char *st_cache_name(enum st_cache cache);            /* "step", "warm" */
const char *st_use_name(enum st_use use);                  /* "one_stream", "prefill", "streams" */
const char *st_worth_name(enum st_worth_verdict verdict);  /* "unknown", "pays", "does not pay", ... */
const char *st_control_name(enum st_control_kind control); /* "compute", "bandwidth", "clock" */

/* "1 || 3", of a batch "1"; returns out. */
#define ST_PAIR_TEXT (2 * ST_PROBE_NAME + 8)
const char *st_row_pair_text(char out[ST_PAIR_TEXT], const st_probe_row *row);

/* The factor that decides whether the row overlaps: overlap_unit where both sides are on one unit, else overlap. */
const st_interval *st_row_decisive(const st_probe_row *row);

/* Bytes of both sides over the time of their parallel arm (of a batch, of its one call over its time), or of one side
 * over its solo time, in GB/s; 0 when the bytes are unknown. */
double st_row_parallel_rate(const st_probe_row *row);
double st_row_solo_rate(const st_probe_row *row, unsigned side);

/* Work of two sides over time while both run, where alone they do work[2] of it in solo[2], and beside each other take
 * slowdown[2] times as long: what one does after the other has ended is left out. */
double st_common_rate(const double work[2], const double solo[2], const double slowdown[2]);

/* Room for one more round, zeroed, counted in n_rounds only by the caller. NULL when memory is out. */
st_round *st_row_reserve(st_probe_row *row);

void st_probe_record_free(st_probe_record *record); /* and leaves it empty */

#endif
