/* SPDX-License-Identifier: MIT
 * Guesses by a smaller model with the same vocabulary [Leviathan et al. 2023, Fast inference from transformers via
 * speculative decoding]: it says what it would have said. */
#ifndef ST_RUN_DRAFT_H
#define ST_RUN_DRAFT_H

#include "device/chain.h"

typedef struct st_draft st_draft;

/* chain is used for one stream, and outlives the draft. STRETTO_E_MEMORY. One thread at a time. */
int st_draft_create(st_draft **out, st_chain *chain, stretto_error *err);
void st_draft_free(st_draft *draft); /* NULL is fine */

/* Fills guess with up to most tokens that follow the text, which is prompt and then ids, together at least one token.
 * What the chain has read of it already it does not read again. None where the text does not fit the chain's context or
 * has ids that it does not know, and none any more once its unit has failed: guesses are never necessary. */
uint32_t st_draft_guess(st_draft *draft, const int32_t *prompt, uint32_t n_prompt, const int32_t *ids, uint32_t n_ids,
                        int32_t *guess, uint32_t most);

#endif
