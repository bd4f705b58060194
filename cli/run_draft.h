/* SPDX-License-Identifier: MIT
 * The draft model of a schedule that has one. */
#ifndef CLI_RUN_DRAFT_H
#define CLI_RUN_DRAFT_H

#include "session.h"

typedef struct run_draft {
    st_gguf *gguf;
    st_model *model;
    st_chain **chains; /* [n_chains] one for each stream */
    uint32_t n_chains;
} run_draft;

/* Loads the model `name`, whose vocabulary must be that of the session's, and opens n_streams chains of n_ctx positions
 * on unit, which must outlive them. STRETTO_E_INPUT names the first token that differs. run_draft_close in every case.
 */
int run_draft_open(run_draft *draft, session *s, const char *name, st_unit *unit, uint32_t n_streams, uint32_t n_ctx,
                   stretto_error *err);
void run_draft_close(run_draft *draft); /* zeroed memory is fine */

#endif
