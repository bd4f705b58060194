/* SPDX-License-Identifier: MIT
 * Running many prompts as streams: which rows go into which pass, when and where. The engine knows stations (the chunks
 * placed on units), streams (each with a KV of its own) and passes in flight, and everything that a schedule can ask
 * for is a choice of their numbers:
 *
 *   serial, or threads in a unit   one station, one stream
 *   chunks placed on units         one station of several units, one stream
 *   staged streams                 one station of several units, one row a pass, several passes in flight
 *   a batch                        as many rows a pass as streams
 *   micro-batched prompts          several passes of one prompt in flight
 *   prompts here, decoding there   one station that reads, one that decodes
 *   one whole model per unit       a station for each unit
 *   speculation                    rows that are guessed, verified in one pass
 *   host work beside the chain     the next step is submitted before the host has looked at this one
 *
 * Whatever the choice, the ids of a prompt are those of st_generate with the same sampler. */
#ifndef ST_RUN_STREAMS_H
#define ST_RUN_STREAMS_H

#include "device/pass.h"
#include "run/generate.h"
#include "run/lookup.h"

#define ST_STREAMS_MAX 256
#define ST_STATIONS_MAX 64

typedef struct st_station_options {
    st_unit *const *units; /* [n_chunks] where each chunk runs */
    bool reads, decodes;   /* the work that it takes */
} st_station_options;

typedef struct st_streams_options {
    const st_model *model; /* must outlive the engine, as must the units and the tokenizer */
    const st_span *spans;  /* [n_chunks] of all stations */
    uint32_t n_chunks;
    const st_station_options *stations; /* [n_stations] at least one reads and one decodes */
    uint32_t n_stations;
    enum st_kv_type kv_type;
    uint32_t n_ctx;            /* positions of each stream */
    uint32_t n_streams;        /* how many prompts are worked on at once, 1 to ST_STREAMS_MAX */
    uint32_t rows;             /* most streams that decode in one pass; 0: all */
    uint32_t depth;            /* passes in flight at one station, up to 16; 0: 1 */
    uint32_t prompt_rows;      /* most tokens of prompts in one pass; 0: 128 */
    uint32_t prompt_depth;     /* passes of one prompt in flight; 0: 1 */
    bool mix;                  /* decoding streams and prompts may share a pass */
    bool ahead;                /* host work beside the chain */
    uint32_t guesses;          /* most tokens to guess, 0: none; with rows 1, no mix, not ahead: that is then so while
                                  nothing is guessed, for which there are two passes in flight at least */
    st_chain *const *drafts;   /* [n_streams] of a model that guesses, which outlive the engine; NULL: by lookup */
    const st_tokenizer *tok;   /* whose end tokens end a stream; NULL: none do */
    const atomic_bool *cancel; /* NULL: cannot be cancelled */
} st_streams_options;

typedef struct st_job {
    const int32_t *prompt; /* [n_prompt] at least 1 */
    uint32_t n_prompt;
    uint32_t n_max;                    /* most ids to generate */
    const st_sampler_options *sampler; /* NULL: greedy */
} st_job;

/* Times are wall time of the caller, as in st_generate_result; the prompts of all jobs are handed over at the start. */
typedef struct st_job_result {
    uint32_t job; /* its index */
    enum st_finish finish;
    const int32_t *ids; /* [n_ids] the end token included; valid during the call */
    uint32_t n_ids;
    const stretto_error *error; /* of ST_FINISH_ERROR, else NULL */
    uint64_t wait_ns;           /* from the start until a stream took it */
    uint64_t prefill_ns, first_token_ns, decode_ns;
} st_job_result;

/* A pass that is done. */
typedef struct st_pass_seen {
    uint32_t station, job;             /* job: of its first stream */
    uint32_t n_rows, n_prompt;         /* rows of the pass, and those of prompts among them, */
    uint32_t n_wanted;                 /* and those whose logits are wanted */
    const uint64_t *start_ns, *end_ns; /* [n_chunks] of each chunk, on its unit's clock */
} st_pass_seen;

typedef struct st_streams_events {
    /* On the caller's thread. Each id as soon as it is chosen: non-zero cancels this job. Each job when it ends, in
     * order of completion, whatever its end: non-zero cancels everything, and no more is called. Either may be NULL. */
    int (*on_id)(void *arg, uint32_t job, int32_t id);
    int (*on_result)(void *arg, const st_job_result *result);
    /* Each pass that is done, before the ids that came of it; may be NULL. */
    void (*on_pass)(void *arg, const st_pass_seen *pass);
    void *arg;
} st_streams_events;

/* Of the last run. */
typedef struct st_streams_stats {
    uint64_t wall_ns;
    uint64_t n_passes, n_rows;               /* rows: tokens that went through */
    uint64_t n_prompt, n_decoded;            /* tokens read, ids generated */
    uint64_t n_wasted;                       /* rows behind an end or a wrong guess */
    uint64_t n_verified, n_guessed, n_right; /* passes that might verify a guess; tokens guessed; right ones */
    uint64_t n_ahead;                        /* steps that were submitted while the one before was in flight */
    uint64_t n_beside; /* steps of a draft model that were done while a pass of its stream was in flight */
} st_streams_stats;

typedef struct st_streams st_streams;

/* STRETTO_E_USAGE says which number makes no sense; STRETTO_E_MEMORY, also as st_stream_check_room of all streams;
 * what a unit says. */
int st_streams_open(st_streams **out, const st_streams_options *options, stretto_error *err);
void st_streams_close(st_streams *streams); /* NULL is fine */

/* Works through all jobs. STRETTO_E_INPUT, before anything runs, for a prompt that is empty, does not fit or has ids
 * outside the vocabulary (by its index). STRETTO_E_UNIT when a unit failed: the streams that it had ended with that
 * error, the others went on where there was a station left, and later runs do without its station. Else what the first
 * stream failed with that did: STRETTO_E_INPUT where weights are no numbers or its logits are none, or what its sampler
 * says; the others went on. STRETTO_E_STOPPED after cancel: what was not finished was reported as cancelled. One thread
 * at a time. */
int st_streams_run(st_streams *streams, const st_job *jobs, uint32_t n_jobs, const st_streams_events *events,
                   stretto_error *err);

uint64_t st_streams_kv_bytes(const st_streams *streams); /* of all streams */
st_streams_stats st_streams_stats_get(const st_streams *streams);

#endif
