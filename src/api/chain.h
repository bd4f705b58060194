/* SPDX-License-Identifier: MIT
 * The inside of a public chain. */
#ifndef ST_API_CHAIN_H
#define ST_API_CHAIN_H

#include "device/chain.h"
#include "stretto/chain.h"

struct stretto_chain {
    st_chain *chain;
    stretto_unit *own_unit;      /* that it opened for itself, or NULL */
    stretto_unit **units;        /* [n_chunks] where each chunk runs */
    stretto_logits_fn logits_fn; /* of the append in progress */
    void *logits_arg;
};

#endif
