/* SPDX-License-Identifier: MIT
 * The inside of a chain, shared with the stand-alone steps made from it. */
#ifndef ST_DEVICE_CHAIN_IMPL_H
#define ST_DEVICE_CHAIN_IMPL_H

#include "device/chain.h"
#include "device/pass.h"

struct st_chain {
    const st_model *model;
    uint32_t n_chunks, n_ctx, max_batch, max_logits;
    enum st_kv_type kv_type;
    const atomic_bool *stop;
    const st_chunk *chunks; /* [n_chunks] the placement's */
    st_placement *placement;
    st_stream *stream;
    st_pass *pass, *ahead;           /* the second of one row, of decode steps that are submitted early */
    uint64_t busy_ns[ST_MAX_CHUNKS]; /* of each chunk in the last forward */
    st_pass *last;                   /* pass with wanted rows, */
    uint32_t last_wanted;            /* and the last of them */
    uint32_t n_before;               /* positions before the pass that is under way */
};

#endif
