/* SPDX-License-Identifier: MIT
 * What a schedule would give: a discrete-event simulation of its calls on the units of a cost table.
 *
 * Each call passes through the chunks in order; a unit runs one chunk at a time, a stage without a break, and takes the
 * call that came first. While several units are busy each goes slower by what the table says of every pair of them:
 * the rate is 1 / (1 + sum of (slowdown - 1)), as of demands on one bandwidth that add up. Rates are constant between
 * two events, so that the completion times are exact. All that is random (which drafts are right) comes from the seed.
 */
#ifndef ST_PLAN_SIMULATE_H
#define ST_PLAN_SIMULATE_H

#include "plan/cost.h"

#include <stdatomic.h>

/* Streams that are all handed over at time 0; those beyond what the schedule has in flight wait in order. */
typedef struct st_workload {
    uint32_t streams;  /* at least 1 */
    uint32_t prompt;   /* tokens of each prompt, at least 1 */
    uint32_t generate; /* tokens of each answer, at least 1 */
} st_workload;

typedef struct st_sim_options {
    double slowdown; /* of everything beside everything, in place of the table's; 0: the table's */
    uint64_t seed;
    bool record;               /* keep the events, and find the critical path */
    const atomic_bool *cancel; /* NULL: cannot be cancelled */
} st_sim_options;

#define ST_SIM_STEPS_MAX (1u << 24) /* events of one simulation: some seconds, and, recorded, 700 MB */

enum st_sim_what {
    ST_SIM_PREFILL, /* with rows of prompts; decoding streams may share the call */
    ST_SIM_DECODE,
    ST_SIM_VERIFY, /* a decode of a token and its draft */
    ST_SIM_DRAFT,  /* a token of a draft, by a model, or its reading of a prompt */
    ST_SIM_HOST,   /* choosing the call's tokens, their text, and what else the host does for a call */
    ST_SIM_WHATS
};
extern const char *const st_sim_what_names[]; /* "prefill", ... */

#define ST_SIM_NONE UINT32_MAX

typedef struct st_sim_event {
    double start_ns, end_ns;
    uint32_t stream; /* the first of the call */
    uint32_t tokens; /* in the call */
    uint32_t cause;  /* the event whose end let this one start; ST_SIM_NONE: it started at once */
    uint16_t chunk;  /* of a prefill, decode or verification */
    uint16_t unit;   /* of the schedule; its n_units is the host */
    enum st_sim_what what;
} st_sim_event;

typedef struct st_sim_stream {
    double first_ns, last_ns; /* when its first and last tokens were chosen */
    double worst_gap_ns;      /* between two choices */
    uint32_t tokens;
} st_sim_stream;

/* Where the time of the critical path goes: the chain of events, each started by the end of the one before, that ends
 * with the last one. */
typedef struct st_sim_path {
    double unit_ns[ST_PLAN_UNITS_MAX + 1]; /* by the schedule's units; the host's is last (n_units) */
    double latency_ns;                     /* transfers */
} st_sim_path;

typedef struct st_sim_result {
    double end_ns;       /* of the last event that a token waited for */
    double tokens_per_s; /* all generated tokens but each stream's first, over the time in which any stream decodes */
    double stream_tokens_per_s;    /* the median over streams of (tokens - 1) / (last - first) */
    double prefill_tokens_per_s;   /* all prompts, over the time in which any is read */
    double ttft_ns, worst_ttft_ns; /* from time 0 to the first token: mean and largest over the streams */
    double gap_ns, worst_gap_ns;   /* between tokens of one stream: mean and largest */
    double latency_ns; /* time from 0 to a stream's last token over its tokens, mean: normalised latency [Yu et al.
                          2022, Orca] */
    double accepted;   /* tokens that a verification gave, mean; 1 without drafts */
    double busy_ns[ST_PLAN_UNITS_MAX + 1]; /* by the schedule's units, the host last */
    double utilisation[ST_PLAN_UNITS_MAX + 1];
    double beside_ns;                       /* in which several units, the host not counted, were busy at once */
    uint64_t memory[2 * ST_PLAN_UNITS_MAX]; /* st_costs_memory */
    uint64_t memory_bytes;                  /* all of it */
    st_sim_path path;
    st_sim_stream *streams; /* [n_streams] owned */
    uint32_t n_streams;
    st_sim_event *events; /* [n_events] in order of start; owned; only when recorded */
    size_t n_events;
    uint64_t n_steps; /* events that were simulated */
} st_sim_result;

/* The figures of a result that a run can be compared with. 0: unknown. */
typedef struct st_sim_rates {
    double tokens_per_s, stream_tokens_per_s, prefill_tokens_per_s, ttft_ns;
} st_sim_rates;

/* STRETTO_E_INPUT when the table cannot say what the schedule costs, or it does not fit (st_costs_fit), or has more
 * than ST_SIM_STEPS_MAX events; STRETTO_E_STOPPED after cancel; STRETTO_E_USAGE for an empty workload;
 * STRETTO_E_MEMORY. *out is the caller's: st_sim_result_free. */
int st_simulate(st_sim_result *out, const st_costs *costs, const st_schedule *schedule, const st_workload *workload,
                const st_sim_options *options, stretto_error *err);
void st_sim_result_free(st_sim_result *result); /* zeroed memory is fine */

#endif
