/* SPDX-License-Identifier: MIT
 * Choosing the next token from logits. Same options, seed, history and logits: same token, on every machine.
 *
 * Order, as in llama.cpp: repeat penalty, top-k, top-p, min-p, temperature, draw. Top-p and min-p look at probabilities
 * before the temperature. A temperature of 0 takes the largest (penalised) logit, the first of equals. */
#ifndef ST_RUN_SAMPLER_H
#define ST_RUN_SAMPLER_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct st_sampler_options {
    double temperature;    /* 0: greedy */
    uint32_t top_k;        /* keep the k most probable; 0: all */
    double top_p;          /* keep the fewest that hold this much probability together; 0 or 1: all */
    double min_p;          /* keep those at least this share of the most probable one; 0: all */
    double repeat_penalty; /* logits of recent tokens are divided (positive) or multiplied (negative) by it; 0 or 1: off
                              [Keskar et al. 2019, CTRL, section 4.1] */
    uint32_t repeat_last;  /* how many recent tokens, prompt included; 0: no penalty */
    uint64_t seed;
} st_sampler_options;

typedef struct st_sampler st_sampler;

/* STRETTO_E_USAGE names an option out of range (negative, not finite, top_p or min_p above 1, penalty below 0);
 * STRETTO_E_MEMORY. Owned by the caller: st_sampler_free. One thread at a time. */
int st_sampler_create(st_sampler **out, const st_sampler_options *options, uint32_t n_vocab, stretto_error *err);
void st_sampler_free(st_sampler *sampler); /* NULL is fine */

/* Back to the state after creation: seed and history. */
void st_sampler_reset(st_sampler *sampler);

/* Tells of a token that the text now holds (prompt and generated alike); ids outside the vocabulary are ignored. */
void st_sampler_accept(st_sampler *sampler, int32_t id);

/* The next token for logits[n_vocab], which are left as they are. NaN is taken for the least likely. Does not accept
 * it. Allocates nothing. */
int32_t st_sampler_pick(st_sampler *sampler, const float *logits);

/* True when the pick is the plain argmax, so that no logits need to be looked at. */
bool st_sampler_is_argmax(const st_sampler *sampler);

#endif
