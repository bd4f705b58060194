/* SPDX-License-Identifier: MIT
 * SentencePiece's BPE (Kudo & Richardson 2018) as GGUF files carry it: two neighbours join when together they are a
 * token, the highest score first. */
#include "token/tokenizer.h"

#include <math.h>
#include <string.h>

/* Orders floats as integers, the greatest first; NaN comes last, and -0 is 0. */
static uint32_t key_of_score(float score) {
    uint32_t bits;
    if (isnan(score)) score = -INFINITY;
    score += 0.0f;
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
}

static st_pair spm_pair(const void *arg, const char *text, const st_symbol *left, const st_symbol *right) {
    const st_tokenizer *tok = arg;
    int32_t id = st_vocab_find_text(&tok->vocab, text + left->start, (size_t)left->len + right->len);
    if (id < 0) return (st_pair){ST_NO_PAIR, -1};
    float score;
    memcpy(&score, tok->scores + sizeof score * (size_t)id, sizeof score);
    return (st_pair){key_of_score(score), id};
}

int st_spm_encode(st_encoding *enc, const char *text, size_t n, bool space_in_front) {
    enc->text.len = 0;
    int code = space_in_front ? st_encode_escaped(enc, " ", 1) : 0;
    if (!code) code = st_encode_escaped(enc, text, n);
    if (!code) code = st_encode_characters(enc, 0, enc->text.len);
    if (code) return code;
    st_symbols_join(&enc->symbols, enc->text.data, spm_pair, enc->tok);
    return st_encode_symbols(enc, enc->text.data);
}
