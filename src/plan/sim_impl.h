/* SPDX-License-Identifier: MIT
 * The inside of the simulation: sim_units.c moves time and units, sim_flow.c says which call comes next, simulate.c
 * puts them together and makes numbers of what happened. */
#ifndef ST_PLAN_SIM_IMPL_H
#define ST_PLAN_SIM_IMPL_H

#include "base/rng.h"
#include "plan/simulate.h"

#define SIM_NONE ST_SIM_NONE

/* One call on its way through the chunks, a draft, or host work. */
typedef struct sim_call {
    enum st_sim_what what;
    uint32_t group;  /* of a decode, verification or draft */
    uint32_t slot;   /* of a prefill; of host work after one. SIM_NONE otherwise */
    uint32_t stream; /* for the record */
    uint32_t tokens;
    uint32_t chunk;   /* that runs, or will run next */
    uint32_t replica; /* unit of ST_SCHEDULE_REPLICAS */
    bool last;        /* of its prompt */
    double host_ns;   /* of host work */
    uint32_t cause;   /* event */
    uint32_t next;    /* in a queue or the list of free ones */
} sim_call;

typedef struct sim_unit {
    uint32_t table;      /* unit of the cost table */
    uint32_t head, tail; /* calls that wait */
    uint32_t call;       /* that runs, or SIM_NONE */
    double left_ns;      /* of its chunk at full speed, as of updated_ns */
    double excess;       /* sum of (slowdown - 1) */
    double updated_ns, finish_ns, start_ns;
    uint32_t event, last_event; /* of the running call; of the one before */
    uint32_t heap_at;           /* position in the heap of finishes */
} sim_unit;

/* Something that comes after a latency: a call before its next stage, or a slot whose KV has been handed over. */
typedef struct sim_arrival {
    double at_ns;
    uint64_t order; /* of equal times */
    uint32_t call;  /* or SIM_NONE: slot */
    uint32_t slot;
} sim_arrival;

typedef struct sim_slot {
    uint32_t stream; /* or SIM_NONE: free */
    uint32_t prompt_left;
    bool ready;        /* its next step may start */
    bool in_call;      /* and it has */
    double kv_ns;      /* when its KV is where it decodes, */
    uint32_t kv_cause; /* and the event that its first step then follows */
} sim_slot;

typedef struct sim_group {
    uint32_t first, stride, n; /* its slots: first, first + stride, ... */
    uint32_t replica;
    uint32_t ready_cause; /* the last event that made one of them ready */
    uint32_t draft;       /* tokens of the draft that is being verified, 0: none */
    uint32_t ahead;       /* the call that drafts while the verification runs, or SIM_NONE */
    bool ahead_done;      /* and it has finished */
    bool in_flight;
} sim_group;

typedef struct sim {
    const st_costs *costs;
    const st_schedule *schedule;
    const st_workload *workload;
    const st_sim_options *options;
    st_sim_result *out;
    stretto_error *err;
    int code;
    double now_ns;
    uint32_t n_units; /* of the schedule; the host is the one after them */
    sim_unit units[ST_PLAN_UNITS_MAX + 1];
    uint32_t heap[ST_PLAN_UNITS_MAX + 1]; /* busy units by finish */
    uint32_t n_heap;
    sim_arrival *arrivals; /* [n_arrivals] a heap; owned */
    size_t n_arrivals, cap_arrivals;
    uint64_t order;
    double link_ns[ST_PLAN_CHUNKS_MAX]; /* the last arrival before each chunk: calls do not overtake on the way */
    sim_call *calls;                    /* [cap_calls] owned */
    uint32_t cap_calls, free_call;
    sim_slot *slots; /* [n_slots] owned */
    uint32_t n_slots;
    sim_group *groups; /* [n_groups] owned */
    uint32_t n_groups;
    uint32_t next_stream;           /* that waits */
    uint32_t n_done;                /* streams that have ended */
    double decoding_ns, reading_ns; /* time in which any stream decodes, any prompt is read, */
    double decoding_from, reading_from;
    uint32_t n_decoding, n_reading; /* and how many do now */
    uint64_t n_verified, n_accepted;
    size_t cap_events;
    st_rng rng;
} sim;

/* ---- sim_units.c ---- */
void sim_units_init(sim *s, const uint32_t *unit_of);
uint32_t sim_call_new(sim *s); /* zeroed; SIM_NONE after a failure, which s->code tells */
void sim_call_free(sim *s, uint32_t call);
void sim_enqueue(sim *s, uint32_t unit, uint32_t call); /* starts it at once where the unit is idle */
void sim_arrive(sim *s, double at_ns, uint32_t call, uint32_t slot);
void sim_host(sim *s, uint32_t call);                  /* host work, in order */
void sim_cancel(sim *s, uint32_t unit, uint32_t call); /* waiting or running */
bool sim_step(sim *s);                                 /* the next thing that happens; false when there is none */

/* ---- sim_flow.c ---- */
void sim_flow_begin(sim *s); /* makes slots and groups, hands the first streams over */
/* A chunk of the call has ended on the unit: where it goes next. */
void sim_flow_chunk_done(sim *s, uint32_t unit, uint32_t call);
void sim_flow_arrived(sim *s, const sim_arrival *arrival);

#endif
