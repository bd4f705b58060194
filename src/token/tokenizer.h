/* SPDX-License-Identifier: MIT
 * What a tokenizer is made of, for the files of this module. */
#ifndef ST_TOKEN_TOKENIZER_H
#define ST_TOKEN_TOKENIZER_H

#include "token/merges.h"
#include "token/pretokenize.h"
#include "token/special.h"
#include "token/token.h"
#include "token/vocab.h"

enum st_token_model {
    ST_MODEL_BPE,    /* "gpt2": byte-level byte-pair encoding */
    ST_MODEL_SPM,    /* "llama": SentencePiece */
    ST_MODEL_GEMMA4, /* "gemma4": byte-pair encoding over characters */
};

#define ST_MAX_ENDS 32

struct st_tokenizer {
    const st_gguf *gguf;
    enum st_token_model model;
    st_vocab vocab;
    st_special special;
    st_merges merges;      /* not of SPM */
    st_pretokenizer *pre;  /* of BPE */
    const uint8_t *scores; /* of SPM: [vocab.n] f32, unaligned, in the map */
    int32_t byte_ids[256]; /* the token of each byte, or -1 */
    int32_t bos, unknown;  /* or -1 */
    int32_t ends[ST_MAX_ENDS];
    unsigned n_ends;
    bool adds_bos;
    bool adds_space;      /* of SPM: in front of text that starts or follows a control token */
    st_str template_text; /* tokenizer.chat_template, empty when there is none */
};

/* Scratch memory of one call of st_tokenizer_encode. */
typedef struct st_encoding {
    const st_tokenizer *tok;
    st_ids *ids; /* appended to */
    st_symbols symbols;
    st_buf text;
    stretto_error *err;
} st_encoding;

/* Each encodes a piece of text that holds no special tokens. 0, or a code with the reason in enc->err. */
int st_bpe_encode(st_encoding *enc, const char *text, size_t n);
int st_spm_encode(st_encoding *enc, const char *text, size_t n, bool space_in_front);
int st_gemma4_encode(st_encoding *enc, const char *text, size_t n);

/* Appends n bytes of text to enc->text with each space as U+2581. STRETTO_E_MEMORY. */
int st_encode_escaped(st_encoding *enc, const char *text, size_t n);
/* The characters of n bytes of enc->text from `start` on become the symbols, each with its token if it has one; a byte
 * that is not UTF-8 is a symbol of its own, without a token. STRETTO_E_MEMORY. */
int st_encode_characters(st_encoding *enc, size_t start, size_t n);
/* Appends the tokens of what is left of the symbols of `text`, byte by byte where a symbol has none. */
int st_encode_symbols(st_encoding *enc, const char *text);

/* The character that stands for a byte in the tokens of byte-level BPE, as UTF-8; its length. */
unsigned st_bpe_spell(unsigned char byte, char out[2]);

#define ST_SPACE "\xe2\x96\x81" /* U+2581, how SentencePiece writes a space */

#endif
