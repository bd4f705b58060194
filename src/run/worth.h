/* SPDX-License-Identifier: MIT
 * When guessing pays, from measured acceptance and cost, and how much it may lose: half a step and one hundredth of the
 * time, whatever the text. Plain numbers, for guesses of any origin; tests/run/worth_test.c and lookup_test.c hold it
 * to that. */
#ifndef ST_RUN_WORTH_H
#define ST_RUN_WORTH_H

#include <stdbool.h>
#include <stdint.h>

#define ST_WORTH_KINDS 3 /* of guesses, whose acceptance differs */

typedef struct st_worth {
    double right[ST_WORTH_KINDS], weight[ST_WORTH_KINDS]; /* share of tokens that were right; of how many */
    double plain_ns, row_cost;                            /* a plain step; one more token of a guess, in plain steps, */
    uint32_t n_costs;                                     /* measured so often */
    double steps, saved; /* the time of all passes, and what guesses have saved of it (or lost), in plain steps */
    uint32_t held_back, retry;
} st_worth;

/* Nothing is measured: right[ST_WORTH_KINDS] is how likely a guessed token is taken to be right, by kind, and row_cost
 * what one more of them is taken to cost of a plain step. */
void st_worth_init(st_worth *worth, const double *right, double row_cost);
/* Another text: forgets how often guesses were right and what they have cost, keeps what passes cost. */
void st_worth_reset(st_worth *worth, const double *right);

/* How long a guess of this kind should be, 0 to most tokens: none where it does not pay, apart from a rare one of a
 * single token, since texts change; none longer than may be lost; none before the time of a plain step is known. To be
 * asked once a pass, where a guess could be made. */
uint32_t st_worth_length(st_worth *worth, unsigned kind, uint32_t most);

/* Whether st_worth_length would say more than 0. Where it would not, this counts as it does; where it would, nothing
 * changes. */
bool st_worth_would(st_worth *worth, unsigned kind, uint32_t most);

/* Whether a guess would be made now, or nobody knows yet. */
bool st_worth_pays(const st_worth *worth, unsigned kind);

/* A guess of n tokens, of which so many were right, took ns with the pass that verified it. */
void st_worth_learn(st_worth *worth, unsigned kind, uint32_t n, uint32_t right, uint64_t ns);
/* A plain step took ns. alone: nothing was made for later guesses meanwhile; otherwise what it took longer is theirs.
 */
void st_worth_learn_plain(st_worth *worth, bool alone, uint64_t ns);

#endif
