/* SPDX-License-Identifier: MIT
 * What everything costs: the table that the planner decides from. Measured now, taken from a probe, or written by hand
 * for hardware one does not have; the JSON form is described in docs/PLAN.md. Times are nanoseconds. Numbers only:
 * nothing here knows what a chunk or a unit is. */
#ifndef ST_PLAN_COST_H
#define ST_PLAN_COST_H

#include "plan/schedule.h"
#include "json/read.h"

#define ST_COSTS_SCHEMA "stretto-costs/1"
#define ST_COST_POINTS_MAX 32
#define ST_COST_TOKENS_MAX 4096
#define ST_COST_CORES_MAX 256
#define ST_COST_NONE UINT32_MAX
#define ST_COST_NS_MAX 1e15 /* eleven days: more than any step takes */
#define ST_COST_BYTES_MAX (1ull << 50)
#define ST_COST_SLOWDOWN_LEAST 0.1 /* of those that a table has */
#define ST_COST_SLOWDOWN_MOST 1000.0
#define ST_COST_LEAST_RATE 0.05 /* a table may say that a neighbour speeds work up; not twentyfold */

enum st_work {
    ST_WORK_DECODE,  /* rows whose logits are wanted: one for each stream of a call, or a draft to verify */
    ST_WORK_PREFILL, /* tokens of one prompt, no logits */
    ST_WORK_BATCH,   /* of slowdowns only: decoding several rows, which wait less for memory than one does */
    ST_WORKS
};
extern const char *const st_work_names[]; /* "decode", "prefill", "batch"; ended by NULL */

/* Time of one call by its number of tokens. */
typedef struct st_cost_point {
    uint32_t tokens;
    double ns;
} st_cost_point;
typedef struct st_cost_curve {
    uint32_t n;                               /* 0: it cannot run there, or nobody knows */
    st_cost_point points[ST_COST_POINTS_MAX]; /* ascending tokens */
} st_cost_curve;

typedef struct st_cost_chunk {
    char name[ST_PLAN_NAME]; /* "1" */
    bool has_layers;
    uint32_t first, last;
    uint64_t weight_bytes;
    uint64_t kv_bytes; /* of one token of one stream */
} st_cost_chunk;

typedef struct st_cost_memory {
    char name[ST_PLAN_NAME];
    uint64_t bytes; /* 0: no limit known */
} st_cost_memory;

typedef struct st_cost_unit {
    char name[ST_PLAN_NAME];
    uint32_t n_cores; /* units that share a core cannot be used in one schedule */
    uint16_t cores[ST_COST_CORES_MAX];
    uint32_t n_threads;   /* 0: not a lane */
    uint32_t memory;      /* index; ST_COST_NONE: its own without a limit. Units of one memory share weights */
    double dispatch_ns;   /* added to each chunk's call */
    double choose_ns;     /* as the host's, of calls that end here; negative: the host's */
    double draft_ns;      /* a draft model's time for one token; 0: none runs there */
    double draft_read_ns; /* its time for a token of a prompt; 0: see st_cost_draft_read_ns */
} st_cost_unit;

/* From one unit to another: latency that keeps neither busy. */
typedef struct st_cost_transfer {
    double fixed_ns, token_ns; /* of a boundary: for each call, and each token in it */
    double kv_token_ns;        /* of a chunk's keys and values, for each token: a handover after the prompt */
} st_cost_transfer;

/* Host work between the last chunk of a call and the next step of its streams. */
typedef struct st_cost_host {
    double choose_ns; /* for each call: noticing its end, and starting the next one; where its unit has none */
    double text_ns;   /* for each token: choosing it, making text of it and handing it on */
    double lookup_ns; /* for each call: finding a draft */
} st_cost_host;

typedef struct st_costs {
    char title[256];
    char measured[320]; /* what measuring it left out; "": nothing */
    uint32_t n_chunks, n_units, n_memories;
    st_cost_chunk *chunks;       /* [n_chunks] owned, as all below */
    st_cost_unit *units;         /* [n_units] */
    st_cost_memory *memories;    /* [n_units] room for as many as units */
    st_cost_curve *curves;       /* [n_chunks][n_units][ST_WORKS], those of ST_WORK_BATCH unused */
    st_cost_transfer *transfers; /* [n_units][n_units] from, to */
    double *slowdowns;           /* [n_units][n_units][ST_WORKS][ST_WORKS] of any chunk on the first beside any on the
                                    second; 1: none; 0 of a batch: as of decoding */
    float **chunk_slowdowns; /* [n_units][n_units]: NULL, or [n_chunks * ST_WORKS][n_chunks * ST_WORKS] where pairs of
                                chunks differ; 0: as above */
    st_cost_host host;
    double acceptance[ST_DRAFTS]; /* probability that a drafted token is right; negative: unknown */
    uint32_t depth;               /* tokens in the context when it was measured */
} st_costs;

/* A table without any cost: no transfers, no slowdowns, acceptance unknown. Zeroed names. STRETTO_E_USAGE when there
 * are no or too many chunks or units, STRETTO_E_MEMORY. Owned by the caller: st_costs_free. */
int st_costs_create(st_costs *costs, uint32_t n_chunks, uint32_t n_units, stretto_error *err);
void st_costs_free(st_costs *costs); /* zeroed memory is fine */
/* The same table for some of its units: units[n], each once. As st_costs_create; *out is the caller's. */
int st_costs_of(st_costs *out, const st_costs *costs, const uint32_t *units, uint32_t n, stretto_error *err);

/* Index by name, or ST_COST_NONE. */
uint32_t st_costs_unit(const st_costs *costs, const char *name);
uint32_t st_costs_chunk(const st_costs *costs, const char *name);

st_cost_curve *st_costs_curve(const st_costs *costs, uint32_t chunk, uint32_t unit, enum st_work work);

/* Adds a point, or replaces that of the same number of tokens. False when the curve is full. */
bool st_cost_curve_add(st_cost_curve *curve, uint32_t tokens, double ns);

/* The time of a call: linear between points, and beyond the last along the line through the last two, or through the
 * origin where there is one. A prefill of fewer tokens than its first point lies between that and a decode of one.
 * 0: unknown. Without the unit's dispatch_ns. */
double st_cost_ns(const st_costs *costs, uint32_t chunk, uint32_t unit, enum st_work work, uint32_t tokens);

/* What is in a call: rows, those of prompts among them, and those whose logits are wanted. */
typedef struct st_cost_call {
    uint32_t tokens, n_prompt, wanted;
} st_cost_call;

/* Rows of prompts and of decoding streams that share a call cost what a prompt's do, and what the head adds for those
 * that are wanted. beside: which of the table's slowdowns are the call's. */
enum st_work st_cost_call_work(const st_cost_call *call);
enum st_work st_cost_call_beside(const st_cost_call *call);
double st_cost_call_ns(const st_costs *costs, uint32_t chunk, uint32_t unit, const st_cost_call *call);

/* A draft model's time for a prompt of so many tokens on a unit. What is not known is taken to be as many times that of
 * one token as it is for the model itself there, or else as there are tokens. */
double st_cost_draft_read_ns(const st_costs *costs, uint32_t unit, uint32_t tokens);

/* How many times slower chunk a's work on x goes while chunk b's work is done on y. */
double st_cost_slowdown(const st_costs *costs, uint32_t x, uint32_t a, enum st_work a_work, uint32_t y, uint32_t b,
                        enum st_work b_work);
/* For one pair of chunks; STRETTO_E_MEMORY. */
int st_cost_set_slowdown(st_costs *costs, uint32_t x, uint32_t a, enum st_work a_work, uint32_t y, uint32_t b,
                         enum st_work b_work, double slowdown, stretto_error *err);
double *st_cost_unit_slowdown(const st_costs *costs, uint32_t x, enum st_work x_work, uint32_t y, enum st_work y_work);

/* Noticing the end of a call whose last chunk is on the unit, and starting the next one. */
double st_cost_choose_ns(const st_costs *costs, uint32_t unit);

bool st_costs_share_core(const st_costs *costs, uint32_t x, uint32_t y);

/* Rates of two steps from what was measured of them together: solo times, and when each ended since the common start.
 * slowdown[i] is how many times slower side i went while both ran. */
void st_cost_slowdowns_of_pair(const double solo[2], const double end[2], double slowdown[2]);

/* UINT64_MAX where the sum is beyond any number. */
uint64_t st_bytes_sum(uint64_t a, uint64_t b);

/* Of a chunk's weights and KV of so many positions. */
uint64_t st_costs_chunk_bytes(const st_costs *costs, uint32_t chunk, uint64_t positions);
/* Whether the unit's memory has room for so many bytes; one without a limit has. */
bool st_costs_room(const st_costs *costs, uint32_t unit, uint64_t bytes);

/* Bytes that a schedule needs in each memory, and in each unit that has none: weights once, KV of `tokens` positions
 * for each stream in flight. need[n_memories + n_units]. unit_of: the schedule's units as indices of the table. */
void st_costs_memory(const st_costs *costs, const st_schedule *schedule, const uint32_t *unit_of, uint64_t tokens,
                     uint64_t *need);

/* Whether the table can say what the schedule costs and its memories suffice: STRETTO_E_INPUT names the chunk and unit
 * without a cost, the units that share a core, or the memory, how much is needed and how much there is. unit_of gets
 * the schedule's units as indices of the table. */
int st_costs_fit(const st_costs *costs, const st_schedule *schedule, uint64_t tokens, uint32_t *unit_of,
                 stretto_error *err);

/* Reads a table (st_costs_parse), or what a probe's JSON holds of one (st_costs_parse_probe): its costs of the whole
 * chain, or where it has none the solo times of its pairs; and the slowdowns of its pairs. Chunks that it did not
 * measure have no cost, which st_costs_fit tells. STRETTO_E_INPUT names key, expected and found; *costs needs no
 * freeing then. */
int st_costs_parse(st_costs *costs, const char *text, size_t len, stretto_error *err);
int st_costs_parse_probe(st_costs *costs, const char *text, size_t len, stretto_error *err);

/* Reads a table that is part of another document; in->code tells. *out needs no freeing after a failure. */
void st_costs_read(st_json_in *in, const st_json_value *object, st_costs *out);

/* The JSON form; the caller's reference. NULL when memory is out. */
json_t *st_costs_json(const st_costs *costs);

#endif
