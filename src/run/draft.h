/* SPDX-License-Identifier: MIT
 * Guesses by a smaller model with the same vocabulary [Leviathan et al. 2023, Fast inference from transformers via
 * speculative decoding]: it says what it would have said. It works on a unit of its own, one token after the other, and
 * nobody waits for it: while what it has guessed is verified it goes on as if all of that were right. Where that was
 * wrong, what it made is given up: it goes back to where the texts part, the token that it is at being the last.
 *
 * One thread at a time calls all functions; it is told by a listener when a step is done, and says so here. */
#ifndef ST_RUN_DRAFT_H
#define ST_RUN_DRAFT_H

#include "device/chain.h"

typedef struct st_draft st_draft;

/* What a text goes on with: pieces that follow each other. */
typedef struct st_draft_text {
    const int32_t *prompt, *ids, *guess;
    uint32_t n_prompt, n_ids, n_guess;
} st_draft_text;

/* chain is used for one stream, and outlives the draft, as does the listener, which is called when a step is done.
 * STRETTO_E_MEMORY. */
int st_draft_create(st_draft **out, st_chain *chain, st_listener *listener, stretto_error *err);
void st_draft_free(st_draft *draft); /* waits for the step that is under way; NULL is fine */

/* From now on the text is this one (copied; at least one token), and up to `most` tokens after it are wanted. What has
 * been read and made of it already stays. True when a step has been submitted: st_draft_arrived has to be called for
 * it. Nothing is made where the text does not fit the chain's context, and none any more once its unit has failed:
 * guesses are never necessary. */
bool st_draft_want(st_draft *draft, const st_draft_text *text, uint32_t most);

/* Wants nothing more; a step that is under way ends. */
void st_draft_stop(st_draft *draft);

/* The listener was called. True as above: the next step has been submitted. */
bool st_draft_arrived(st_draft *draft);

/* Whether tokens that are wanted are still to come; whether a part of the text comes first that is longer than what a
 * guess adds to it, as after a prompt, or where nothing was wanted for long; and whether a step is under way. */
bool st_draft_busy(const st_draft *draft);
bool st_draft_behind(const st_draft *draft);
bool st_draft_under_way(const st_draft *draft);

/* Copies the tokens after the text, up to `most` of those made so far, and returns their number. */
uint32_t st_draft_take(const st_draft *draft, int32_t *guess, uint32_t most);

#endif
