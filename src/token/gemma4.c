/* SPDX-License-Identifier: MIT
 * Gemma 4's byte-pair encoding: spaces become U+2581, merges run over whole lines of raw UTF-8, and a run of newlines
 * is apart from the text around it: one token when there is one for it. */
#include "token/tokenizer.h"

#include <string.h>

static int line_encode(st_encoding *enc, size_t start, size_t n) {
    const char *text = enc->text.data;
    int32_t whole = text[start] == '\n' ? st_vocab_find_text(&enc->tok->vocab, text + start, n) : -1;
    if (whole >= 0) return st_ids_add(enc->ids, whole, enc->err);
    int code = st_encode_characters(enc, start, n);
    if (code) return code;
    st_symbols_join(&enc->symbols, text, st_merges_pair, &enc->tok->merges);
    return st_encode_symbols(enc, text);
}

/* Where the run of newlines, or of anything else, that starts at `at` ends. */
static size_t run_end(const char *text, size_t n, size_t at) {
    if (text[at] != '\n') {
        const char *newline = memchr(text + at, '\n', n - at);
        return newline ? (size_t)(newline - text) : n;
    }
    while (at < n && text[at] == '\n') at++;
    return at;
}

int st_gemma4_encode(st_encoding *enc, const char *text, size_t n) {
    enc->text.len = 0;
    int code = st_encode_escaped(enc, text, n);
    for (size_t at = 0; !code && at < enc->text.len;) {
        size_t end = run_end(enc->text.data, enc->text.len, at);
        code = line_encode(enc, at, end - at);
        at = end;
    }
    return code;
}
