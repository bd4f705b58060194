/* SPDX-License-Identifier: MIT
 * A piece of text as a chain of symbols of which neighbouring pairs are joined, the best pair anywhere first: the one
 * algorithm behind byte-pair encoding (best: lowest merge rank) and SentencePiece (best: highest score).
 * Time is O(n log n) for n symbols, memory O(n), without recursion. One thread at a time uses one st_symbols. */
#ifndef ST_TOKEN_SYMBOLS_H
#define ST_TOKEN_SYMBOLS_H

#include "stretto/error.h"

#include <stddef.h>
#include <stdint.h>

#define ST_NO_PAIR UINT32_MAX

typedef struct st_symbol {
    uint32_t start, len; /* bytes of the text; len is 0 once it was joined to the one before */
    int32_t id;          /* its token, or -1 */
    uint32_t prev, next; /* neighbours that are still there, ST_NO_PAIR at the ends */
    uint32_t key;        /* of the pair with the next one, ST_NO_PAIR when the two do not join */
    int32_t joined;      /* what that pair becomes */
} st_symbol;

/* What two neighbours become. Pairs with smaller keys are joined first, among equal keys the leftmost. */
typedef struct st_pair {
    uint32_t key; /* ST_NO_PAIR: they do not join */
    int32_t id;
} st_pair;

/* Must depend on nothing but the two symbols, and the joined symbol must be longer than both (it is). */
typedef st_pair (*st_pair_fn)(const void *arg, const char *text, const st_symbol *left, const st_symbol *right);

/* Zero-initialised is empty; reused from piece to piece. Owned, st_symbols_free. */
typedef struct st_symbols {
    st_symbol *data;
    uint64_t *heap; /* key << 32 | position, smallest first */
    size_t n, cap, n_heap;
} st_symbols;

/* Empties it and makes room for n symbols, n < UINT32_MAX. STRETTO_E_MEMORY. */
int st_symbols_begin(st_symbols *symbols, size_t n, stretto_error *err);
/* Appends one of those. */
void st_symbols_add(st_symbols *symbols, uint32_t start, uint32_t len, int32_t id);
/* Joins what can be joined. What is left has len > 0, in order. */
void st_symbols_join(st_symbols *symbols, const char *text, st_pair_fn pair, const void *arg);
void st_symbols_free(st_symbols *symbols);

#endif
