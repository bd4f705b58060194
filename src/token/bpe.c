/* SPDX-License-Identifier: MIT
 * Byte-level byte-pair encoding (Radford et al. 2019): each byte is spelled as a character that can be seen, and merges
 * run within words. */
#include "token/tokenizer.h"

/* Bytes that are printable in Latin-1 stand for themselves, the others for the characters from U+0100 on, in order. */
unsigned st_bpe_spell(unsigned char byte, char out[2]) {
    unsigned c = byte;
    if (byte <= 0x20)
        c = 0x100u + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        c = 0x121u + (byte - 0x7fu);
    else if (byte == 0xad)
        c = 0x143u;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3f));
    return 2;
}

/* The token that a whole word is, or -1. */
static int32_t word_find(st_encoding *enc, const char *word, size_t n) {
    if (n > enc->tok->vocab.max_len) return -1;
    enc->text.len = 0;
    for (size_t i = 0; i < n; i++) {
        char spelled[2];
        st_buf_add(&enc->text, spelled, st_bpe_spell((unsigned char)word[i], spelled));
    }
    return enc->text.failed ? -1 : st_vocab_find_text(&enc->tok->vocab, enc->text.data, enc->text.len);
}

static int word_encode(st_encoding *enc, const char *word, size_t n) {
    const st_tokenizer *tok = enc->tok;
    if (st_pretokenizer_ignores_merges(tok->pre)) {
        int32_t whole = word_find(enc, word, n);
        if (whole >= 0) return st_ids_add(enc->ids, whole, enc->err);
    }
    int code = st_symbols_begin(&enc->symbols, n, enc->err);
    if (code) return code;
    for (size_t i = 0; i < n; i++) st_symbols_add(&enc->symbols, (uint32_t)i, 1, tok->byte_ids[(unsigned char)word[i]]);
    st_symbols_join(&enc->symbols, word, st_merges_pair, &tok->merges);
    return st_encode_symbols(enc, word);
}

int st_bpe_encode(st_encoding *enc, const char *text, size_t n) {
    st_words *words;
    int code = st_words_begin(&words, enc->tok->pre, text, n, enc->err);
    if (code) return code;
    size_t start, len;
    int more;
    while ((more = st_words_next(words, &start, &len, enc->err)) > 0) {
        code = word_encode(enc, text + start, len);
        if (code) break;
    }
    st_words_end(words);
    return code ? code : more;
}
