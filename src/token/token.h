/* SPDX-License-Identifier: MIT
 * Text to token ids and back, from the tokenizer that a GGUF file carries. Independent of the model's architecture.
 * A tokenizer is read-only after creation: any thread may encode and decode. */
#ifndef ST_TOKEN_TOKEN_H
#define ST_TOKEN_TOKEN_H

#include "base/buf.h"
#include "base/log.h"
#include "gguf/gguf.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_tokenizer st_tokenizer;

/* A growable list of ids. Zero-initialised is empty; owned, st_ids_free. */
typedef struct st_ids {
    int32_t *data;
    size_t len, cap;
} st_ids;
int st_ids_add(st_ids *ids, int32_t id, stretto_error *err);
void st_ids_free(st_ids *ids);

/* gguf must outlive the tokenizer (strings stay in the map). STRETTO_E_INPUT names the key, or lists the supported
 * models and pre-tokenizers. */
int st_tokenizer_create(st_tokenizer **out, const st_gguf *gguf, const st_log *log, stretto_error *err);
void st_tokenizer_destroy(st_tokenizer *tok); /* NULL is fine */

/* Appends the ids of n bytes at text (any bytes) to ids. parse_special: special tokens in the text are read as such,
 * else they are plain text (user-defined tokens of the vocabulary are always read). add_bos: what the model wants in
 * front. STRETTO_E_INPUT for a text of 4 GiB or more, STRETTO_E_MEMORY; ids is then as it was. */
int st_tokenizer_encode(const st_tokenizer *tok, const char *text, size_t n, bool parse_special, bool add_bos,
                        st_ids *ids, stretto_error *err);

/* Appends the bytes of one token to out: control tokens give nothing unless `special`. encode (without specials) and
 * then decode gives back the same bytes, but for what the model itself cannot tell apart: a space that add_space_prefix
 * put in front (`first` removes it), U+2581 where that is how the model writes a space (llama, gemma4), and bytes that
 * a byte-level vocabulary lacks (SmolLM2 has 235 of the 256). STRETTO_E_USAGE for an id out of range, STRETTO_E_MEMORY.
 */
int st_tokenizer_decode(const st_tokenizer *tok, int32_t id, bool special, bool first, st_buf *out, stretto_error *err);

uint32_t st_tokenizer_size(const st_tokenizer *tok);
int32_t st_tokenizer_bos(const st_tokenizer *tok);             /* -1 when it has none */
bool st_tokenizer_adds_bos(const st_tokenizer *tok);           /* by default: add_bos_token, or the model's habit */
bool st_tokenizer_is_end(const st_tokenizer *tok, int32_t id); /* ends generation: eos, eot, end of turn by name */
/* The token's text as it stands in the file (not decoded), for tables. */
st_str st_tokenizer_piece(const st_tokenizer *tok, int32_t id);

/* Streams whole UTF-8 characters: bytes of an unfinished character are kept until they are complete, or until they
 * cannot become complete: then U+FFFD stands for them (one for each beginning of a character that has no end, as
 * Unicode recommends), so that what comes out is always UTF-8. Zero-initialised is empty. */
typedef struct st_utf8_stream {
    unsigned char held[4];
    unsigned n_held;
} st_utf8_stream;
void st_utf8_push(st_utf8_stream *stream, const char *bytes, size_t n, st_buf *out);
void st_utf8_finish(st_utf8_stream *stream, st_buf *out); /* no more bytes come: what is held has no end */

/* Chat: wraps a conversation in the model's own template family (ChatML, Llama 3, Gemma, Gemma 4; recognised by the
 * file's tokenizer.chat_template and special tokens). */
typedef struct st_chat_turn {
    const char *role; /* "system", "user", "assistant" */
    const char *text;
    size_t len;
} st_chat_turn;
/* Appends ids ready for generation of the assistant's turn: user text never turns into special tokens. STRETTO_E_INPUT
 * when the file has no template, one of an unknown family (its first characters are told), or one whose
 * markers the vocabulary lacks; STRETTO_E_USAGE without turns or for another role; STRETTO_E_MEMORY. ids is then as it
 * was. */
int st_chat_encode(const st_tokenizer *tok, const st_chat_turn *turns, size_t n_turns, st_ids *ids, stretto_error *err);
/* "chatml", "llama3", "gemma", "gemma4", or NULL when none is known. */
const char *st_chat_family(const st_tokenizer *tok);

#endif
