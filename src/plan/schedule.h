/* SPDX-License-Identifier: MIT
 * A schedule: which chunk of which stream runs where, and in what manner. Plain data, written by the planner or by
 * hand, executed by src/run. Its JSON form is described in docs/PLAN.md. */
#ifndef ST_PLAN_SCHEDULE_H
#define ST_PLAN_SCHEDULE_H

#include "base/buf.h"
#include "stretto/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ST_SCHEDULE_SCHEMA "stretto-schedule/1"
#define ST_PLAN_CHUNKS_MAX 256
#define ST_PLAN_UNITS_MAX 64
#define ST_PLAN_STREAMS_MAX 4096
#define ST_PLAN_MICRO_BATCH_MAX 4096
#define ST_PLAN_DRAFT_MAX 64
#define ST_PLAN_CALLS_MAX 16 /* in flight at once, through one set of chunks */
#define ST_PLAN_NAME 48

/* A stage is a maximal run of neighbouring chunks on one unit; it is executed without a break. Streams wait before a
 * stage in the order in which they came. */
enum st_schedule_kind {
    ST_SCHEDULE_SERIAL,   /* all chunks on one unit with one thread, one stream after the other */
    ST_SCHEDULE_THREADS,  /* the same on one unit whose threads share each chunk */
    ST_SCHEDULE_PLACED,   /* chunks on several units, one stream after the other */
    ST_SCHEDULE_STAGED,   /* chunks on several units, several streams in flight */
    ST_SCHEDULE_HANDOVER, /* prompts on one unit, decode on another */
    ST_SCHEDULE_BATCHED,  /* all chunks on one unit, several streams in one call of each chunk */
    ST_SCHEDULE_REPLICAS, /* all chunks on each unit; stream i in flight on unit i modulo the number of units */
    ST_SCHEDULE_KINDS
};

enum st_draft {
    ST_DRAFT_NONE,   /* no speculation */
    ST_DRAFT_LOOKUP, /* the draft is what followed the last tokens earlier in the text */
    ST_DRAFT_MODEL,  /* a small model on a unit of its own drafts while the last draft is verified */
    ST_DRAFTS
};

/* One chunk's place. */
typedef struct st_schedule_chunk {
    uint32_t unit;   /* where it decodes and, but for a handover, reads prompts; index into units. Replicas: unused */
    bool has_layers; /* the split that the schedule was made for, */
    uint32_t first, last; /* its layers, inclusive */
} st_schedule_chunk;

typedef struct st_schedule {
    enum st_schedule_kind kind;
    char model[ST_PLAN_NAME]; /* what it was made for; "": any */
    uint32_t n_chunks;
    st_schedule_chunk chunks[ST_PLAN_CHUNKS_MAX];
    uint32_t n_units;
    char units[ST_PLAN_UNITS_MAX][ST_PLAN_NAME]; /* in Stretto's notation, "cpu:0-1"; those that the schedule uses */
    uint32_t threads[ST_PLAN_UNITS_MAX];         /* of each unit; 0: one a core */
    uint32_t streams;                            /* in flight at once, at least 1 */
    uint32_t batch; /* streams that decode in one call, 1 to streams; a staged schedule has streams / batch calls in
                       flight, rounded up. Batched: all streams; replicas: all streams of one unit */
    uint32_t micro_batch; /* most tokens of a prompt that pass through a chunk at once */
    bool pipelined; /* a prompt's micro-batches follow each other through the stages; otherwise the next one starts
                       when the one before has left the last chunk */
    uint32_t prompt_unit; /* of a handover: where prompts are read */
    enum st_draft draft;
    uint32_t longest_draft; /* tokens drafted at most, at least 1; 0 where draft is ST_DRAFT_NONE */
    uint32_t draft_unit;    /* of ST_DRAFT_MODEL; holds no chunk */
    char draft_model[256];  /* of ST_DRAFT_MODEL: a file or a known name; "": not known, as in a plan */
    bool host_beside;       /* a stream's next step does not wait for the host: it takes its token from the step before,
                               while the host looks at that one. Not with drafts, which follow what was verified */
} st_schedule;

/* The words of JSON, by enum; ended by NULL. */
extern const char *const st_schedule_kind_names[]; /* "serial", "threads", "placed", ... */
extern const char *const st_draft_names[];         /* "none", "lookup", "model" */

/* Reads the JSON form. STRETTO_E_INPUT when it is malformed (key, expected, found, the nearest known word) or makes no
 * sense (st_schedule_check); a chunk that waits for a later one is a cycle, which is spelled out. */
int st_schedule_parse(st_schedule *out, const char *text, size_t len, stretto_error *err);

/* Whether it makes sense in itself: places, counts, what each kind needs. STRETTO_E_INPUT. */
int st_schedule_check(const st_schedule *schedule, stretto_error *err);

/* Whether it can be run here: it has a place for each of n_chunks chunks, and its units are among names[n_names].
 * unit_of[schedule->n_units] (or NULL) gets their indices. STRETTO_E_INPUT names what is missing or unknown, and the
 * nearest unit. */
int st_schedule_bind(const st_schedule *schedule, uint32_t n_chunks, const char *const *names, uint32_t n_names,
                     uint32_t *unit_of, stretto_error *err);

/* Another number of streams in flight, at least 1, in as many calls: their batch grows or shrinks with it. But where
 * one stream decodes in a call that stays so, unless that is all that a unit of replicas has. */
void st_schedule_set_streams(st_schedule *schedule, uint32_t streams);

/* The JSON form; the caller's reference. NULL when memory is out. */
json_t *st_schedule_json(const st_schedule *schedule);

/* Appends "staged on cpu:0 (chunks 1-2) and cpu:1 (3-4), 4 streams". */
void st_schedule_title(st_buf *out, const st_schedule *schedule);

/* How many stages a call passes, and the unit that chunk i decodes on or, for prefill of a handover, reads prompts on.
 * replica: which unit of ST_SCHEDULE_REPLICAS; otherwise ignored. */
uint32_t st_schedule_stages(const st_schedule *schedule);
uint32_t st_schedule_unit(const st_schedule *schedule, uint32_t chunk, bool prefill, uint32_t replica);

#endif
