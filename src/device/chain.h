/* SPDX-License-Identifier: MIT
 * A model as a chain of chunks placed on units, for one stream: ids in, logits out. This is where chunks become steps.
 */
#ifndef ST_DEVICE_CHAIN_H
#define ST_DEVICE_CHAIN_H

#include "base/log.h"
#include "chunk/chunk.h"
#include "device/pass.h"
#include "unit/event.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct st_chain st_chain;

typedef struct st_chain_options {
    const st_model *model; /* must outlive the chain, as must the units */
    const st_span *spans;  /* [n_chunks]; copied */
    uint32_t n_chunks;
    st_unit *const *units; /* [n_chunks] where each chunk runs */
    enum st_kv_type kv_type;
    uint32_t n_ctx;          /* positions; 0: the smaller of the model's own and 4096 */
    uint32_t max_batch;      /* tokens of a micro-batch; 0: the default */
    uint32_t max_logits;     /* rows of logits of one micro-batch; 0: 1 */
    const atomic_bool *stop; /* looked at between micro-batches; NULL: cannot be stopped */
    const st_trace *trace;   /* NULL in real use */
} st_chain_options;

/* *out is the caller's: st_chain_close; NULL on failure. STRETTO_E_USAGE when there is no chunk, the context is too
 * large or a unit does not share memory, STRETTO_E_UNIT, STRETTO_E_MEMORY. */
int st_chain_open(st_chain **out, const st_chain_options *options, stretto_error *err);
void st_chain_close(st_chain *chain); /* NULL is fine */

enum st_want { ST_WANT_NONE, ST_WANT_LAST, ST_WANT_ALL };

/* Called on the caller's thread for each wanted position in order; logits[n_vocab] is valid during the call. Returning
 * non-zero ends the forward with STRETTO_E_STOPPED after the micro-batch. */
typedef int (*st_logits_fn)(void *arg, uint32_t pos, const float *logits, int32_t argmax);

/* Appends n ids to the stream, in micro-batches. STRETTO_E_INPUT when an id is not in the vocabulary or the context is
 * too small (says by how much): nothing is changed then; and when a weight is no number, or logits are none.
 * STRETTO_E_STOPPED when the stop flag is set: the micro-batches before stay. STRETTO_E_UNIT when a unit fails: the
 * chain must be reset. fn may be NULL. One thread at a time. Allocates nothing. */
int st_chain_forward(st_chain *chain, const int32_t *ids, uint32_t n, enum st_want want, st_logits_fn fn, void *arg,
                     stretto_error *err);

/* The same of at most a micro-batch, in two parts, for a caller that goes on meanwhile: the listener is called when it
 * is done (on the completing thread, or here and now), and then st_chain_settle has to be. The stop flag is not looked
 * at. When submitting fails nothing is under way. */
int st_chain_submit(st_chain *chain, const int32_t *ids, uint32_t n, bool want_last, st_listener *listener,
                    stretto_error *err);
int st_chain_settle(st_chain *chain, stretto_error *err);
uint32_t st_chain_batch(const st_chain *chain); /* tokens of a micro-batch at most */

/* Decoding one token after the other. */
typedef struct st_decoding {
    int32_t first;   /* is appended, then each id that its step chooses but the last */
    uint32_t n;      /* steps, at least 1 */
    st_pick_fn pick; /* chooses; NULL: argmax. Called for one step more than `on_id` when that ends it */
    void *pick_arg;
    /* Called on the caller's thread for the id that each step chose, in order; non-zero ends it. */
    int (*on_id)(void *arg, int32_t id);
    void *arg;
} st_decoding;

/* As st_chain_forward of one token at a time, but while the caller looks at an id the next step is already under way:
 * it takes the id from the step before, on the unit. What is under way when on_id ends it is waited for and forgotten;
 * that is no error. The errors are those of st_chain_forward; the chain then holds the tokens before the step that
 * failed. The stop flag is not looked at. */
int st_chain_decode(st_chain *chain, const st_decoding *decoding, stretto_error *err);

/* Argmax and logits of the last position of the last forward that wanted some; owned by the chain. */
int32_t st_chain_argmax(const st_chain *chain);
const float *st_chain_logits(const st_chain *chain);

uint32_t st_chain_length(const st_chain *chain); /* positions so far */
uint32_t st_chain_ctx(const st_chain *chain);
uint64_t st_chain_kv_bytes(const st_chain *chain);
/* Forgets positions n and later (n <= length). STRETTO_E_USAGE when a sliding layer has already lost what position n
 * needs. */
int st_chain_truncate(st_chain *chain, uint32_t n, stretto_error *err);
void st_chain_reset(st_chain *chain); /* bit-equal to a fresh chain */

/* ---- for probe, audit and spike ---- */
uint32_t st_chain_n_chunks(const st_chain *chain);
const st_chunk *st_chain_chunk(const st_chain *chain, uint32_t i);
st_unit *st_chain_unit(const st_chain *chain, uint32_t i);
/* Start and end of chunk i in the last micro-batch, on its unit's clock. */
void st_chain_times(const st_chain *chain, uint32_t i, uint64_t *start_ns, uint64_t *end_ns);
/* How long chunk i ran in the last forward or decoding, all its passes together. */
uint64_t st_chain_busy_ns(const st_chain *chain, uint32_t i);

/* A stand-alone step of chunk i of a chain: what a decode of the last n_rows of n_ids tokens makes it do. Creation runs
 * chunks 0..i over ids on the calling thread, on KV of its own, so that the input is the hidden state that the chunk
 * before has just produced, and the KV holds the earlier positions; the chain's stream is not touched. Running it
 * always computes and writes the same positions, so it can run again and again. Needs 1 <= n_rows <= n_ids <= the
 * chain's context. It may run on units of up to max_threads workers (0: as the chain's own units). STRETTO_E_USAGE says
 * which of these is wrong, and names a chunk that is not there; STRETTO_E_STOPPED when the chain's stop flag is set
 * while the earlier positions are read. Owned by the caller: st_chunk_step_free; the chain must outlive it. Two steps
 * may run at once. */
typedef struct st_chunk_step st_chunk_step;
int st_chunk_step_create(st_chunk_step **out, const st_chain *chain, uint32_t i, const int32_t *ids, uint32_t n_ids,
                         uint32_t n_rows, uint32_t max_threads, stretto_error *err);
void st_chunk_step_free(st_chunk_step *step);                /* NULL is fine */
const st_step *st_chunk_step_get(const st_chunk_step *step); /* bytes (weights and KV) and operations filled in */
/* What the last run of the last chunk gave: logits of the first row [n_vocab], the step's own. */
const float *st_chunk_step_logits(const st_chunk_step *step);

/* Streams the weights of all chunks but those listed through the caches of the calling thread: all of them once and,
 * where that is less than min_bytes, again until it has been that many. Returns how many. */
uint64_t st_chain_stream_weights(const st_chain *chain, const uint32_t *except, uint32_t n_except, uint64_t min_bytes);

#endif
