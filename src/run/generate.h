/* SPDX-License-Identifier: MIT
 * Generating text with one stream: prompt ids in, one id after the other out, with the times people ask for. */
#ifndef ST_RUN_GENERATE_H
#define ST_RUN_GENERATE_H

#include "device/chain.h"
#include "run/sampler.h"
#include "token/token.h"

#include <stdatomic.h>

enum st_finish {
    ST_FINISH_LENGTH,  /* n_max ids are there */
    ST_FINISH_END,     /* the model ended its turn */
    ST_FINISH_CONTEXT, /* the context is full */
    ST_FINISH_STOPPED, /* the cancel flag, or a callback that wanted no more */
    ST_FINISH_ERROR,   /* what was asked cannot be done, or a unit failed */
};
const char *st_finish_name(enum st_finish finish); /* "length", "end", "context", "cancelled", "error" */

typedef struct st_generate_options {
    const int32_t *prompt; /* [n_prompt], at least 1 */
    uint32_t n_prompt;
    uint32_t n_max;   /* most ids to generate; 0 only reads the prompt */
    uint32_t n_batch; /* tokens between two looks at cancel while the prompt is read; 0: 256 */
    /* NULL: greedy. Not reset here; accepts prompt and generated ids, and chooses and accepts one more when something
     * ends the generation early. Used on a unit's thread meanwhile. */
    st_sampler *sampler;
    const st_tokenizer *tok; /* whose end tokens end the generation; NULL: none do */
    /* Called on the caller's thread for each id as soon as it is chosen, the end token included; non-zero stops. May be
     * NULL. */
    int (*on_id)(void *arg, int32_t id);
    /* Called on the caller's thread while the prompt is read: so many of its tokens are, and there are more. May be
     * NULL. */
    void (*on_read)(void *arg, uint32_t n);
    void *arg;
    const atomic_bool *cancel; /* NULL: cannot be cancelled */
    uint64_t handed_ns;        /* st_now_ns() when the prompt was handed over; 0: when st_generate is called */
} st_generate_options;

/* All times are wall time of the caller, measured once each; none is a difference of two runs. */
typedef struct st_generate_result {
    enum st_finish finish;
    uint32_t n_prompt, n_generated; /* generated: the end token included */
    uint64_t prefill_ns;            /* from the first prompt token's submission until the last one's logits are there */
    uint64_t first_token_ns;        /* from handed_ns until the first id is chosen; 0 when there is none */
    uint64_t decode_ns;             /* from the first id until the last one is chosen */
} st_generate_result;

/* Tokens a second; 0 when nothing was timed. Decode excludes the prompt and the first token. */
double st_generate_prefill_rate(const st_generate_result *result);
double st_generate_decode_rate(const st_generate_result *result);

/* Appends the prompt to the chain's stream and generates from there. *result is filled in every case, with what was
 * done so far. STRETTO_E_INPUT when the prompt is empty, has ids outside the vocabulary or does not fit the context (by
 * how much); STRETTO_E_STOPPED after cancel or a callback's wish; STRETTO_E_UNIT when a unit fails. The chain then
 * holds the prompt and all generated ids but the last. Allocates nothing. One thread at a time. */
int st_generate(st_chain *chain, const st_generate_options *options, st_generate_result *result, stretto_error *err);

#endif
