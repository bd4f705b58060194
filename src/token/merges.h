/* SPDX-License-Identifier: MIT
 * The merges of a byte-pair encoding: which two neighbouring tokens become one, and which pair goes first. */
#ifndef ST_TOKEN_MERGES_H
#define ST_TOKEN_MERGES_H

#include "token/symbols.h"
#include "token/vocab.h"

typedef struct st_merge {
    int32_t left, right; /* left is -1 in an empty slot */
    uint32_t rank;       /* the lower goes first */
    int32_t id;          /* what the two become */
} st_merge;

typedef struct st_merges {
    st_merge *slots; /* [mask + 1] */
    uint32_t mask;
} st_merges;

/* Reads tokenizer.ggml.merges: "LEFT RIGHT" in order of rank. Merges that name tokens which the vocabulary lacks (or
 * which text must not become) can never apply: they are skipped with a warning that names the first. STRETTO_E_INPUT
 * when the key is missing or has the wrong type, or the pairs are made to collide; STRETTO_E_MEMORY. On failure there
 * is nothing to free. */
int st_merges_create(st_merges *merges, const st_vocab *vocab, const st_gguf *gguf, const st_log *log,
                     stretto_error *err);
void st_merges_free(st_merges *merges);

/* What two neighbours become; the key is the rank. An st_pair_fn for st_symbols_join, whose arg is the st_merges. */
st_pair st_merges_pair(const void *arg, const char *text, const st_symbol *left, const st_symbol *right);

#endif
