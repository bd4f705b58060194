/* SPDX-License-Identifier: MIT
 * The tokens of a file: their bytes (which stay in the map), their types, and the id of given bytes. */
#ifndef ST_TOKEN_VOCAB_H
#define ST_TOKEN_VOCAB_H

#include "base/log.h"
#include "gguf/gguf.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers of tokenizer.ggml.token_type (llama.h: llama_token_type). */
enum st_token_type {
    ST_TOKEN_NORMAL = 1,
    ST_TOKEN_UNKNOWN = 2, /* stands for what has no token */
    ST_TOKEN_CONTROL = 3, /* has a meaning, is not text */
    ST_TOKEN_USER = 4,    /* text that is always one token */
    ST_TOKEN_UNUSED = 5,
    ST_TOKEN_BYTE = 6, /* one byte, written <0xXX> */
};

typedef struct st_vocab {
    uint32_t n;
    const char *base; /* the array's first byte, in the map */
    uint32_t *start;  /* [n + 1] where token i's bytes start; the next token's 8-byte length stands between them */
    uint8_t *type;    /* [n] enum st_token_type; anything else counts as normal */
    uint64_t *slots;  /* [mask + 1] id by bytes: hash tag << 32 | not for text << 31 | id + 1, 0 is empty */
    uint32_t mask;
    uint32_t max_len; /* bytes of the longest token */
    bool has_types;   /* the file says them */
    bool has_twice;   /* some tokens stand there twice, so that bytes alone do not tell the id */
} st_vocab;

/* Reads tokenizer.ggml.tokens and .token_type. STRETTO_E_INPUT names the key when it is missing, has the wrong type,
 * the two have different lengths, or the tokens are made to collide; STRETTO_E_MEMORY. Tokens that stand twice are a
 * warning: the first id wins. On failure there is nothing to free. */
int st_vocab_create(st_vocab *vocab, const st_gguf *gguf, const st_log *log, stretto_error *err);
void st_vocab_free(st_vocab *vocab);

/* id of these bytes, or -1. Of any type, or only of a type that plain text may become (not control, unknown or byte).
 */
int32_t st_vocab_find(const st_vocab *vocab, const char *bytes, size_t n);
int32_t st_vocab_find_text(const st_vocab *vocab, const char *bytes, size_t n);

/* Many of the latter at once: their cache misses overlap, which makes it several times faster. */
typedef struct st_lookup {
    const char *bytes;
    size_t n;
    uint64_t hash; /* scratch */
    int32_t id;    /* the result, or -1 */
} st_lookup;
void st_vocab_find_texts(const st_vocab *vocab, st_lookup *lookups, size_t n_lookups);

/* Corrects a type. */
void st_vocab_set_type(st_vocab *vocab, int32_t id, enum st_token_type type);

static inline st_str st_vocab_text(const st_vocab *vocab, int32_t id) {
    uint32_t start = vocab->start[id];
    return (st_str){vocab->base + start, vocab->start[id + 1] - start - sizeof(uint64_t)};
}

static inline bool st_vocab_is_text(const st_vocab *vocab, int32_t id) {
    uint8_t type = vocab->type[id];
    return type != ST_TOKEN_CONTROL && type != ST_TOKEN_UNKNOWN && type != ST_TOKEN_BYTE;
}

/* The byte that text of the form <0xXX> stands for, or -1. */
int st_vocab_byte(st_str text);

#endif
