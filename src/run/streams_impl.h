/* SPDX-License-Identifier: MIT
 * The inside of the streams engine. One thread, the caller's, does everything but run steps: streams.c opens, admits
 * and waits, streams_fill.c decides what goes into a pass, streams_settle.c looks at what came out. */
#ifndef ST_RUN_STREAMS_IMPL_H
#define ST_RUN_STREAMS_IMPL_H

#include "run/draft.h"
#include "run/streams.h"

#include <pthread.h>

enum st_slot_state { ST_SLOT_FREE, ST_SLOT_READING, ST_SLOT_DECODING, ST_SLOT_ENDED };

typedef struct st_station st_station;
typedef struct st_flight st_flight;

/* A place for one stream at a time. */
typedef struct st_slot {
    enum st_slot_state state;
    const st_job *job;
    uint32_t index; /* of the job */
    st_stream *stream;
    st_sampler *sampler; /* NULL: argmax. Used by a unit while a pass of the stream is in flight */
    st_lookup *lookup;   /* guesses, or NULL */
    st_draft *draft;     /* guesses, or NULL */
    st_station *station; /* where it is read, or decodes */
    st_flight *latest;   /* the pass with its latest rows */
    uint32_t in_flight;  /* passes */
    uint32_t n_read;     /* prompt tokens submitted */
    int32_t *ids;        /* [n_ctx + 1] generated */
    uint32_t n_ids;
    enum st_finish finish;
    stretto_error error;
    uint64_t taken_ns, first_ns, last_ns;
    st_job_result result;
} st_slot;

/* What one stream has in a pass. */
typedef struct st_share {
    st_slot *slot;
    uint32_t n_rows, n_wanted, first_wanted;
    bool prompt; /* else decoding; a prompt's last part wants one row */
} st_share;

/* A pass and what is in it. */
struct st_flight {
    st_listener listener; /* first */
    st_streams *engine;
    st_station *station;
    st_pass *pass;
    st_flight *next; /* among the done ones */
    bool busy;
    st_share *shares; /* [n_streams] */
    uint32_t n_shares;
    int32_t guess[ST_LOOKUP_MAX + 1]; /* the row of speculation: the last id and what is guessed */
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
    bool cancelled, mute; /* mute: on_result wants no more */
    uint32_t in_flight;
    stretto_error unit_error; /* the first */
    st_streams_stats stats;
    /* passes that are done, from the units' threads */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    st_flight *done;
};

/* streams.c: the station with the fewest streams of those that read (or decode) and have not failed; NULL: none. */
st_station *st_station_for(const st_streams *e, bool reading);

/* streams_fill.c: fills and submits what can be at all stations. */
void st_streams_submit(st_streams *e);
/* Makes the passes of a station tell the engine when they are done. */
void st_flights_prepare(st_streams *e, st_station *station);

/* streams_settle.c: takes a pass that is done, or a code and reason why it is none. */
void st_flight_settle(st_flight *flight);
void st_flight_failed(st_flight *flight, int code, const stretto_error *error);
/* Ends a slot's stream; it is reported and free once none of its passes is in flight. */
void st_slot_end(st_streams *e, st_slot *slot, enum st_finish finish, const stretto_error *error);
/* Reports a job that never had a stream. */
void st_job_end(st_streams *e, uint32_t job, enum st_finish finish, const stretto_error *error);

#endif
