/* SPDX-License-Identifier: MIT
 * Cutting text into words before byte-pair encoding: merges never cross a word's end. */
#ifndef ST_TOKEN_PRETOKENIZE_H
#define ST_TOKEN_PRETOKENIZE_H

#include "gguf/gguf.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A compiled pattern. Read-only after creation: any thread. */
typedef struct st_pretokenizer st_pretokenizer;

/* name is that of tokenizer.ggml.pre. Without jit the pattern is interpreted, as it also is where the processor or the
 * system allows no generated code. STRETTO_E_INPUT with a reason that lists the names known here; STRETTO_E_MEMORY. */
int st_pretokenizer_create(st_pretokenizer **out, st_str name, bool jit, stretto_error *err);
void st_pretokenizer_destroy(st_pretokenizer *pre); /* NULL is fine */

/* A word that is itself a token is taken whole, whatever the merges say. */
bool st_pretokenizer_ignores_merges(const st_pretokenizer *pre);
/* Models of this kind want BOS in front when their file doesn't say. */
bool st_pretokenizer_wants_bos(const st_pretokenizer *pre);

/* Walks the words of a text, one thread at a time. */
typedef struct st_words st_words;

/* Bytes that are not UTF-8 each count as a symbol (neither letter, number nor space), as U+FFFD would. text must
 * outlive it. STRETTO_E_MEMORY; *out is NULL then. */
int st_words_begin(st_words **out, const st_pretokenizer *pre, const char *text, size_t n, stretto_error *err);
/* 1 and the next word (never empty; words follow each other without gaps), 0 at the end of the text. STRETTO_E_MEMORY
 * when the interpreter's memory limit was reached, STRETTO_E_INTERNAL. */
int st_words_next(st_words *words, size_t *start, size_t *len, stretto_error *err);
void st_words_end(st_words *words); /* NULL is fine */

#endif
