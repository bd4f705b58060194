/* SPDX-License-Identifier: MIT
 * The inside of the streams engine. One thread, the caller's, does everything but run steps: streams.c opens, admits
 * and waits, streams_fill.c decides what goes into a pass, streams_settle.c looks at what came out, streams_draft.c has
 * a model guess meanwhile. */
#ifndef ST_RUN_STREAMS_IMPL_H
#define ST_RUN_STREAMS_IMPL_H

#include "run/draft.h"
#include "run/streams.h"
#include "run/worth.h"

#include <pthread.h>
#include <stdatomic.h>

enum st_slot_state { ST_SLOT_FREE, ST_SLOT_READING, ST_SLOT_DECODING, ST_SLOT_ENDED };

typedef struct st_station st_station;
typedef struct st_flight st_flight;
typedef struct st_arrival st_arrival;

/* Something that a unit does for the engine: when it is done, it is queued for the caller's thread. */
struct st_arrival {
    st_listener listener; /* first */
    st_streams *engine;
    st_arrival *next; /* among the done ones */
    void (*settle)(st_arrival *arrival);
};

/* A place for one stream at a time. */
typedef struct st_slot {
    st_arrival drafted; /* first: a step of its draft */
    enum st_slot_state state;
    const st_job *job;
    uint32_t index; /* of the job */
    st_stream *stream;
    st_sampler *sampler;          /* NULL: argmax. Used by a unit while a pass of the stream is in flight */
    st_lookup *lookup;            /* guesses, or NULL */
    st_draft *draft;              /* guesses, or NULL */
    st_worth worth;               /* of the draft's guesses, */
    uint32_t n_guess;             /* how long the next one is to be, */
    uint64_t asked_ns, waited_ns; /* since when, and how long the next pass waited for it */
    uint32_t n_plain;             /* steps since the last guess */
    bool expects;                 /* with a step in flight: that there will be a guess after it */
    st_station *station;          /* where it is read, or decodes */
    st_flight *latest;            /* the pass with its latest rows */
    uint32_t in_flight;           /* passes */
    uint32_t n_read;              /* prompt tokens submitted */
    int32_t *ids;                 /* [n_ctx + 1] generated */
    uint32_t n_ids;
    enum st_finish finish;
    stretto_error error;
    uint64_t taken_ns, first_ns, last_ns;
    st_job_result result;
} st_slot;

/* What one stream has in a pass. */
typedef struct st_share {
    st_slot *slot;
    uint32_t first_row, n_rows, n_wanted, first_wanted;
    bool prompt; /* else decoding; a prompt's last part wants one row */
} st_share;

/* A pass and what is in it. */
struct st_flight {
    st_arrival arrival; /* first */
    st_station *station;
    st_pass *pass;
    bool busy;
    st_share *shares; /* [n_streams] */
    uint32_t n_shares;
    int32_t guess[ST_LOOKUP_MAX + 1]; /* the row of speculation: the last id and what is guessed */
    bool alone;                       /* no step of the stream's draft was under way when it was submitted */
};

struct st_station {
    st_placement *placement;
    bool reads, decodes, dead;
    bool prompt_turn;   /* prompts are next, where they do not mix with decoding */
    uint32_t next;      /* slot that is looked at first: everyone's turn comes */
    st_flight *flights; /* [depth] */
    uint32_t n_slots;   /* that it has now */
};

struct st_streams {
    st_streams_options o;
    st_station *stations; /* [o.n_stations] */
    st_slot *slots;       /* [o.n_streams] */
    uint32_t max_rows, max_wanted;
    /* of a run */
    const st_job *jobs;
    uint32_t n_jobs, next_job;
    const st_streams_events *events;
    uint64_t handed_ns;
    bool cancelled, mute;     /* mute: on_result wants no more */
    uint32_t in_flight;       /* passes, */
    uint32_t n_drafting;      /* and steps of drafts */
    stretto_error unit_error; /* the first */
    stretto_error failed;     /* the first that ended a stream in this run */
    st_streams_stats stats;
    /* passes that are done, from the units' threads */
    pthread_mutex_t lock;
    st_arrival *done;
    bool asleep;         /* the caller's thread waits for the next one, */
    atomic_uint arrived; /* which it is told of by another number */
};

/* streams.c: a listener that queues its arrival. */
void st_arrive(st_listener *listener, int code, const stretto_error *error);
/* The station with the fewest streams of those that read (or decode) and have not failed; NULL: none. */
st_station *st_station_for(const st_streams *e, bool reading);

/* streams_fill.c: fills and submits what can be at all stations. */
void st_streams_submit(st_streams *e);
/* Makes the passes of a station tell the engine when they are done. */
void st_flights_prepare(st_streams *e, st_station *station);

/* streams_settle.c: takes a pass that is done, or a code and reason why it is none. */
void st_flight_settle(st_arrival *flight);
void st_flight_failed(st_flight *flight, int code, const stretto_error *error);
/* Ends a slot's stream; it is reported and free once none of its passes is in flight. */
void st_slot_end(st_streams *e, st_slot *slot, enum st_finish finish, const stretto_error *error);
/* streams_draft.c: most tokens to guess after n ids of the slot's stream, which are not all known where the guesses are
 * made ahead. */
uint32_t st_guess_most(const st_streams *e, const st_slot *slot, uint32_t n_ids);
/* Makes the slot's model, which knows nothing of its worth yet. */
int st_slot_draft_open(st_streams *e, st_slot *slot, st_chain *chain, stretto_error *err);
/* The slot's model is asked for a guess, where that pays: what follows the prompt while that is read; what follows the
 * ids that are known (st_slot_expect); and, while a pass with the last n guesses is in flight, what would follow if
 * those are right. Nothing to do without a model. */
void st_slot_draft_prompt(st_streams *e, st_slot *slot);
void st_slot_draft_ahead(st_streams *e, st_slot *slot, const int32_t *guess, uint32_t n);
/* Nothing was guessed for a while, and nothing is to be guessed next: the slot's steps follow each other as without
 * guesses, each submitted before the token of the one before has been looked at. So a guess begins a token later than
 * it could. */
bool st_slot_rests(const st_slot *slot);
/* A pass of the slot's stream, which goes on, was settled: has its model asked, and learns whether to go on resting. */
void st_slot_expect(st_streams *e, st_slot *slot, uint64_t now);
/* Whether the slot's next pass is to wait for a guess: not while the model is behind. */
bool st_slot_draft_wait(const st_slot *slot);
/* The pass took ns, and n guesses of it were verified. */
void st_slot_learn(st_slot *slot, const st_flight *flight, uint32_t n, uint32_t right, uint64_t ns);

/* Reports a job that never had a stream. */
void st_job_end(st_streams *e, uint32_t job, enum st_finish finish, const stretto_error *error);

#endif
