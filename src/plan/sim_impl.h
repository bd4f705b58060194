/* SPDX-License-Identifier: MIT
 * The inside of the simulation: sim_units.c moves time and units, sim_flow.c says which call comes next, sim_draft.c
 * what is drafted; simulate.c puts them together and makes numbers of what happened. */
#ifndef ST_PLAN_SIM_IMPL_H
#define ST_PLAN_SIM_IMPL_H

#include "base/rng.h"
#include "plan/simulate.h"

#define SIM_NONE ST_SIM_NONE

/* One call: on its way through the chunks, then at the host; or a draft. */
typedef struct sim_call {
    enum st_sim_what what;
    uint32_t station;
    uint32_t shares; /* the first in a list; SIM_NONE for a draft */
    uint32_t slot;   /* of a draft */
    uint32_t stream; /* for the record */
    uint32_t tokens;
    uint32_t wanted;   /* rows whose logits are wanted */
    uint32_t n_prompt; /* rows of prompts */
    uint32_t given;    /* tokens that its verification gives, once it is at the host */
    uint32_t chunk;    /* that runs, or will run next */
    uint32_t taken;    /* tokens that it takes from calls that are not through, without the host */
    uint32_t unmet;    /* calls whose tokens it needs, or which it follows, and that are not so far */
    uint32_t cause;    /* event */
    uint32_t next;     /* in a queue or the list of free ones */
} sim_call;

/* What one stream has in a call. */
typedef struct sim_share {
    uint32_t slot, rows, next;
    uint32_t follower; /* the call with the next part of the prompt, which waits until this one is on its way */
    bool prompt, last; /* part of a prompt; the last part, which gives the first token */
} sim_share;

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

enum sim_state { SIM_FREE, SIM_READING, SIM_DECODING };

/* A place for one stream at a time. */
typedef struct sim_slot {
    enum sim_state state;
    uint32_t stream, station;
    uint32_t n_read;    /* prompt tokens that have been submitted */
    uint32_t in_flight; /* calls */
    uint32_t latest;    /* the last of them, */
    bool computed;      /* whose last chunk has ended */
    uint32_t fed;       /* the call that waits for this stream's token of `latest`; SIM_NONE: none */
    double kv_ns;       /* when its KV is where it decodes, */
    uint32_t kv_cause;  /* and the event that its first step then follows */
    uint32_t draft;     /* tokens of the draft that is being verified */
    bool timed;         /* what a plain step takes is known: nothing is drafted before */
    bool plain;         /* its step in flight is one, with the draft model at rest */
    /* of a draft model: tokens of the prompt still to be read, tokens made after the text, and how many are wanted */
    uint32_t to_read, made, n_draft;
    bool drafting; /* a call of it is under way, */
    bool vain;     /* whose token is for nothing, since the text has become another */
} sim_slot;

/* Where calls are made up: the chunks on their units, for streams that are read or decoded there. */
typedef struct sim_station {
    uint32_t replica;
    bool reads, decodes;
    uint32_t n_slots, in_flight;
    uint32_t next;    /* slot that is looked at first: everyone's turn comes */
    bool prompt_turn; /* prompts are next, where they do not share calls with decoding streams */
} sim_station;

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
    bool by_chunk;    /* a chunk's slowdown may be another than its neighbour's */
    sim_unit units[ST_PLAN_UNITS_MAX + 1];
    uint32_t heap[ST_PLAN_UNITS_MAX + 1]; /* busy units by finish */
    uint32_t n_heap;
    sim_arrival *arrivals; /* [n_arrivals] a heap; owned */
    size_t n_arrivals, cap_arrivals;
    uint64_t order;
    double link_ns[ST_PLAN_CHUNKS_MAX]; /* the last arrival before each chunk: calls do not overtake on the way */
    sim_call *calls;                    /* [cap_calls] owned */
    uint32_t cap_calls, free_call;
    sim_share *shares; /* [cap_shares] owned */
    uint32_t cap_shares, free_share;
    sim_slot *slots; /* [n_slots] owned */
    uint32_t n_slots;
    sim_station stations[ST_PLAN_UNITS_MAX];
    uint32_t n_stations, depth, prompt_depth; /* calls in flight at a station; of one prompt */
    uint32_t next_stream;                     /* that waits */
    uint32_t n_done;                          /* streams that have ended */
    double decoding_ns, reading_ns;           /* time in which any stream decodes, any prompt is read, */
    double decoding_from, reading_from;
    uint32_t n_decoding, n_reading; /* and how many do now */
    uint32_t n_busy;                /* units, without the host; since beside_from more than one are */
    double beside_from;
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
bool sim_step(sim *s); /* the next thing that happens; false when there is none */
/* Nothing happens any more: what still runs, like a draft that nobody waits for, is given up now. */
void sim_units_end(sim *s);

/* ---- sim_flow.c ---- */
void sim_flow_begin(sim *s); /* makes stations and slots, hands the first streams over */
/* What the unit (or the host) did of the call has ended: where it goes next. */
void sim_flow_done(sim *s, uint32_t unit, uint32_t call);
void sim_flow_arrived(sim *s, const sim_arrival *arrival);
void sim_flow_submit(sim *s, uint32_t cause); /* all calls that can be made up now */
/* Tokens that the stream of a slot still has to generate. */
uint32_t sim_wanted(const sim *s, uint32_t slot);

/* ---- sim_draft.c ---- */
uint32_t sim_draft_length(const sim *s, uint32_t slot); /* of the slot's next draft, as far as it is there; 0: none */
bool sim_draft_ready(const sim *s, uint32_t slot);      /* the next step need not wait for a draft */
void sim_draft_begin(sim *s, uint32_t slot);            /* the slot has a stream: the model reads its prompt, too */
/* A call with the slot's next step has been made up, and has so many tokens of a draft: the model goes on meanwhile. */
void sim_draft_submitted(sim *s, uint32_t slot, uint32_t tokens, uint32_t cause);
uint32_t sim_draft_verify(sim *s, uint32_t slot); /* tokens that it gives, 1 at least, of a draft */
/* The slot's step is settled, after `given` tokens: uses what was drafted meanwhile, or drafts anew. */
void sim_draft_settled(sim *s, uint32_t slot, uint32_t given, uint32_t cause);
void sim_draft_done(sim *s, uint32_t call);

#endif
