/* SPDX-License-Identifier: MIT
 * Prompt lookup: guesses how a text goes on from where its last tokens stood before [Saxena 2023, prompt lookup
 * decoding; Leviathan et al. 2023 for the verification], where that pays (run/worth.h). */
#ifndef ST_RUN_LOOKUP_H
#define ST_RUN_LOOKUP_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stdint.h>

#define ST_LOOKUP_MAX 15  /* most tokens of one guess */
#define ST_LOOKUP_GRAMS 3 /* the last 2, 3 or 4 tokens are looked for */

typedef struct st_lookup st_lookup;

/* Remembers up to n_max tokens. STRETTO_E_MEMORY. One thread at a time. */
int st_lookup_create(st_lookup **out, uint32_t n_max, stretto_error *err);
void st_lookup_free(st_lookup *lookup);  /* NULL is fine */
void st_lookup_reset(st_lookup *lookup); /* forgets the text, keeps what it knows of costs */

/* The text goes on with id; what is beyond n_max is not remembered. */
void st_lookup_add(st_lookup *lookup, int32_t id);

/* Fills guess with 0 to most tokens (at most ST_LOOKUP_MAX), none where guessing does not pay, and none
 * before the time of a plain step is known (st_lookup_learn). */
uint32_t st_lookup_guess(st_lookup *lookup, int32_t *guess, uint32_t most);

/* Whether a guess of up to `most` tokens would be made; where it would not, this counts as st_lookup_guess does. To be
 * asked in its place where the guess cannot be used yet. */
bool st_lookup_would(st_lookup *lookup, uint32_t most);

/* What the last guess of n tokens came to: how many of them were right, and how long the pass took that verified them
 * (n may be 0: a plain step, which comes first). */
void st_lookup_learn(st_lookup *lookup, uint32_t n, uint32_t right, uint64_t pass_ns);

#endif
