/* SPDX-License-Identifier: MIT
 * What the models share when they turn characters into ids. */
#include "token/tokenizer.h"

#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

int st_encode_escaped(st_encoding *enc, const char *text, size_t n) {
    const char *end = text + n;
    while (text < end) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        const char *stop = space ? space : end;
        st_buf_add(&enc->text, text, (size_t)(stop - text));
        if (space) st_buf_add(&enc->text, ST_SPACE, strlen(ST_SPACE));
        text = space ? space + 1 : end;
    }
    if (enc->text.failed) return st_fail_memory(enc->err, "the text", n * strlen(ST_SPACE));
    if (enc->text.len >= UINT32_MAX)
        return st_fail(enc->err, STRETTO_E_INPUT, "a text of %zu bytes is too long to tokenize at once", n);
    return 0;
}

int st_encode_characters(st_encoding *enc, size_t start, size_t n) {
    const char *text = enc->text.data + start;
    int code = st_symbols_begin(&enc->symbols, n, enc->err);
    if (code) return code;
    for (size_t at = 0; at < n;) {
        unsigned len = st_utf8_length(text + at, n - at);
        int32_t id = len > 0 ? st_vocab_find_text(&enc->tok->vocab, text + at, len) : -1;
        if (len == 0) len = 1;
        st_symbols_add(&enc->symbols, (uint32_t)(start + at), len, id);
        at += len;
    }
    return 0;
}

/* Appends the token of one byte, else the unknown token, else nothing when the vocabulary has neither.
 *
 * Some byte-level vocabularies lack bytes that their makers never saw (SmolLM2: 0x04 and those that UTF-8 has no use
 * for), and call a control token "unknown". Text must not turn into one of those, so such a byte is left out, as in
 * llama.cpp. */
static int encode_byte(st_encoding *enc, unsigned char byte) {
    const st_tokenizer *tok = enc->tok;
    int32_t id = tok->byte_ids[byte];
    if (id < 0 && tok->unknown >= 0 && tok->vocab.type[tok->unknown] == ST_TOKEN_UNKNOWN) id = tok->unknown;
    return id < 0 ? 0 : st_ids_add(enc->ids, id, enc->err);
}

/* A space that has no U+2581 in the vocabulary is the byte it was, not the three bytes of U+2581. */
static int symbol_spell(st_encoding *enc, const char *bytes, size_t n) {
    if (n == strlen(ST_SPACE) && memcmp(bytes, ST_SPACE, n) == 0) return encode_byte(enc, ' ');
    int code = 0;
    for (size_t i = 0; !code && i < n; i++) code = encode_byte(enc, (unsigned char)bytes[i]);
    return code;
}

int st_encode_symbols(st_encoding *enc, const char *text) {
    int code = 0;
    for (size_t i = 0; !code && i < enc->symbols.n; i++) {
        const st_symbol *symbol = &enc->symbols.data[i];
        if (symbol->len == 0) continue;
        if (symbol->id >= 0)
            code = st_ids_add(enc->ids, symbol->id, enc->err);
        else
            code = symbol_spell(enc, text + symbol->start, symbol->len);
    }
    return code;
}
