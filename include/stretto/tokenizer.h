/* SPDX-License-Identifier: MIT
 * Text to token ids and back, with the tokenizer that a GGUF file carries. */
#ifndef STRETTO_TOKENIZER_H
#define STRETTO_TOKENIZER_H

#include "stretto/error.h"
#include "stretto/export.h"
#include "stretto/log.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read-only once it is open: any thread may call any function at any time. */
typedef struct stretto_tokenizer stretto_tokenizer;

/* Needs the file's tokenizer only: its architecture need not be supported. path and log are not kept; *out is owned by
 * the caller, stretto_tokenizer_close; NULL on failure. STRETTO_OK, STRETTO_E_IO, STRETTO_E_INPUT (malformed, or a kind
 * of tokenizer that is not supported: lists those that are), STRETTO_E_MEMORY. */
STRETTO_API int stretto_tokenizer_open(stretto_tokenizer **out, const char *path, const stretto_log *log,
                                       stretto_error *err);
STRETTO_API void stretto_tokenizer_close(stretto_tokenizer *tokenizer); /* NULL is fine */

enum stretto_token_flag {
    STRETTO_TOKEN_BOS = 1,     /* encode: put in front what the model wants there (nothing for some models) */
    STRETTO_TOKEN_SPECIAL = 2, /* encode: special tokens in the text are read as such, not as plain text
                                  decode: control tokens give their names, not nothing */
    STRETTO_TOKEN_REST = 4, /* decode: ids go on in the middle of a text: keep a space that a text's first word drops */
};

/* Ids of n bytes at text, which may be any bytes. Writes at most max ids and sets *n_ids to how many there are, so that
 * a call with max 0 measures; there are seldom more than n + 2. flags: a sum of enum stretto_token_flag. STRETTO_OK
 * (also when max was too small), STRETTO_E_INPUT (more than 2 GB, or bytes that the vocabulary has no token for),
 * STRETTO_E_MEMORY. */
STRETTO_API int stretto_tokenizer_encode(const stretto_tokenizer *tokenizer, const char *text, size_t n, unsigned flags,
                                         int32_t *ids, size_t max, size_t *n_ids, stretto_error *err);

/* Bytes of n ids, those that were encoded (but SentencePiece and Gemma vocabularies take U+2581 for a space). Writes at
 * most max bytes, without a NUL, and sets *n_bytes to how many there are. One token may be a part of a UTF-8 character
 * only. STRETTO_OK (also when max was too small), STRETTO_E_USAGE for an id that is not in the vocabulary,
 * STRETTO_E_MEMORY. */
STRETTO_API int stretto_tokenizer_decode(const stretto_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                         unsigned flags, char *bytes, size_t max, size_t *n_bytes, stretto_error *err);

STRETTO_API uint32_t stretto_tokenizer_size(const stretto_tokenizer *tokenizer);
/* The token that begins a text, -1: there is none. */
STRETTO_API int32_t stretto_tokenizer_bos(const stretto_tokenizer *tokenizer);
/* 1 for a token that ends what the model has to say (end of text, end of turn), else 0. */
STRETTO_API int stretto_tokenizer_is_end(const stretto_tokenizer *tokenizer, int32_t id);

typedef struct stretto_chat_turn {
    const char *role; /* "system", "user" or "assistant" */
    const char *text; /* [n] any bytes: nothing in it is read as a special token */
    size_t n;
} stretto_chat_turn;

/* Ids of a conversation in the model's own chat form, ready for the assistant's turn to be generated. Room as in
 * encode. STRETTO_OK, STRETTO_E_INPUT when the file has no chat form or one of an unknown family, STRETTO_E_USAGE
 * without a turn or for an unknown role, STRETTO_E_MEMORY. */
STRETTO_API int stretto_tokenizer_chat(const stretto_tokenizer *tokenizer, const stretto_chat_turn *turns,
                                       size_t n_turns, int32_t *ids, size_t max, size_t *n_ids, stretto_error *err);

#ifdef __cplusplus
}
#endif
#endif
