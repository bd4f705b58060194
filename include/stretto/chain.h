/* SPDX-License-Identifier: MIT
 * A model as a chain of chunks, each on a unit, for one stream of tokens: ids in, logits out. Results do not depend on
 * how the chain is cut, where its chunks run, on how many threads, or on how many ids go in at once. */
#ifndef STRETTO_CHAIN_H
#define STRETTO_CHAIN_H

#include "stretto/error.h"
#include "stretto/export.h"
#include "stretto/model.h"
#include "stretto/unit.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Used by one thread at a time. Several chains may use one model and the same units at the same time. */
typedef struct stretto_chain stretto_chain;

enum stretto_kv_type { STRETTO_KV_F16, STRETTO_KV_F32 };

/* Zeroed is the default of everything. */
typedef struct stretto_chain_options {
    const char *chunks; /* how to cut: "4" chunks, even in bytes, or "0-7,8-14,15-24,25-29", which must cover all
                           layers in order; NULL: the model's own way */
    stretto_unit *const *units; /* [n_units] chunk i runs on units[i % n_units]; they must outlive the chain. None: a
                                   CPU unit of all cores that the chain opens for itself */
    size_t n_units;
    uint32_t n_ctx;      /* positions that there is room for; 0: the smaller of the model's own and 4096 */
    uint32_t max_batch;  /* most ids that pass through a chunk at once; 0: 256 */
    uint32_t max_logits; /* ids whose logits are computed at once where those of each are wanted; 0: 1 */
    enum stretto_kv_type kv_type;
    const stretto_log *log; /* of the unit that the chain opens for itself; NULL: silence */
} stretto_chain_options;

/* model must outlive the chain. options: NULL is as good as zeroed; nothing of it is kept. *out: owned by the caller,
 * stretto_chain_close; NULL on failure. STRETTO_OK, STRETTO_E_USAGE (a cut that makes no sense, a unit that is NULL or
 * does not share memory, an unknown type of KV, a context beyond counting), STRETTO_E_UNIT, STRETTO_E_MEMORY. */
STRETTO_API int stretto_chain_open(stretto_chain **out, const stretto_model *model,
                                   const stretto_chain_options *options, stretto_error *err);
STRETTO_API void stretto_chain_close(stretto_chain *chain); /* NULL is fine */

/* Called on the caller's thread for every id in order: logits [n_vocab] of what follows position pos, valid during the
 * call, and the id with the largest. Returning other than 0 stops. */
typedef int (*stretto_logits_fn)(void *arg, uint32_t pos, const float *logits, int32_t argmax);

/* Appends n ids to the stream; with none nothing happens. fn NULL: logits of the last one only, to be had from
 * stretto_chain_logits and _argmax; else of each, handed to fn. Allocates nothing. STRETTO_OK; STRETTO_E_INPUT when an
 * id is not in the vocabulary, or there is no room (says by how much): nothing was appended; and when weights or logits
 * are no numbers: some ids before that may have been appended, and stretto_chain_length says how many;
 * STRETTO_E_STOPPED when fn said so: the ids up to there, and perhaps some more, were appended; STRETTO_E_UNIT when a
 * unit failed: the chain must be reset. */
STRETTO_API int stretto_chain_append(stretto_chain *chain, const int32_t *ids, size_t n, stretto_logits_fn fn,
                                     void *arg, stretto_error *err);

/* Of the last id of the last append: logits [n_vocab], owned by the chain and valid until the next append; the id with
 * the largest. Only after an append of an id or more that succeeded. */
STRETTO_API const float *stretto_chain_logits(const stretto_chain *chain);
STRETTO_API int32_t stretto_chain_argmax(const stretto_chain *chain);

STRETTO_API uint32_t stretto_chain_length(const stretto_chain *chain); /* positions so far */
STRETTO_API uint32_t stretto_chain_ctx(const stretto_chain *chain);    /* positions there is room for */

/* Forgets positions n and later. STRETTO_OK, STRETTO_E_USAGE when there are fewer than n or a layer with a sliding
 * window has lost what position n needs (nothing was changed then). */
STRETTO_API int stretto_chain_truncate(stretto_chain *chain, uint32_t n, stretto_error *err);
/* Forgets everything: as good as new, to the bit. */
STRETTO_API void stretto_chain_reset(stretto_chain *chain);

typedef struct stretto_chunk_info {
    char name[16];             /* "1" */
    char unit[48];             /* name of the unit that it runs on */
    uint32_t first, last;      /* layers, inclusive */
    bool head;                 /* final norm, head and argmax too */
    uint64_t bytes;            /* of weights that one decode step reads, as they are in the file */
    uint64_t operations;       /* multiply-adds of one decode step, without attention */
    uint64_t start_ns, end_ns; /* of its last execution, on the clock of stretto_now_ns; 0 before the first */
} stretto_chunk_info;

STRETTO_API size_t stretto_chain_n_chunks(const stretto_chain *chain);
/* STRETTO_OK, STRETTO_E_USAGE when there is no chunk i (0 is the first, which people call chunk 1). */
STRETTO_API int stretto_chain_chunk(const stretto_chain *chain, size_t i, stretto_chunk_info *info, stretto_error *err);

#ifdef __cplusplus
}
#endif
#endif
