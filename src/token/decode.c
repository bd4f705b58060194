/* SPDX-License-Identifier: MIT
 * Ids back to bytes. */
#include "token/tokenizer.h"

#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

/* The byte that a character of byte-level BPE spells (st_bpe_spell turned round), or -1. */
static int byte_spelled(const char *bytes, unsigned len) {
    unsigned c = (unsigned char)bytes[0];
    if (len == 2) c = (c & 0x1f) << 6 | ((unsigned char)bytes[1] & 0x3f);
    if (len > 2 || len == 0 || c == 0xad || c <= 0x20 || (c >= 0x7f && c <= 0xa0)) return -1;
    if (c <= 0xff) return (int)c;
    if (c <= 0x120) return (int)(c - 0x100);
    if (c <= 0x142) return (int)(c - 0x121 + 0x7f);
    return c == 0x143 ? 0xad : -1;
}

/* A character that spells no byte stays as it is: tokens of other makings are rather shown than lost. */
static void bpe_decode(st_str text, st_buf *out) {
    for (size_t at = 0; at < text.len;) {
        unsigned len = st_utf8_length(text.data + at, text.len - at);
        int byte = byte_spelled(text.data + at, len);
        if (len == 0) len = 1;
        if (byte >= 0)
            st_buf_add(out, &(char){(char)byte}, 1);
        else
            st_buf_add(out, text.data + at, len);
        at += len;
    }
}

static void unescape(st_str text, st_buf *out) {
    const size_t n_space = strlen(ST_SPACE);
    const char *at = text.data, *end = text.data + text.len;
    while (at < end) {
        const char *space = memmem(at, (size_t)(end - at), ST_SPACE, n_space);
        st_buf_add(out, at, (size_t)((space ? space : end) - at));
        if (!space) break;
        st_buf_add(out, " ", 1);
        at = space + n_space;
    }
}

/* Whether the bytes start with a space that encoding may have put there: never in a user-defined token that was found
 * in the text as it stands. */
static bool starts_with_space(st_str text, int byte) {
    size_t n = strlen(ST_SPACE);
    return byte == ' ' || (text.len >= n && memcmp(text.data, ST_SPACE, n) == 0);
}

int st_tokenizer_decode(const st_tokenizer *tok, int32_t id, bool special, bool first, st_buf *out,
                        stretto_error *err) {
    if (id < 0 || (uint32_t)id >= tok->vocab.n)
        return st_fail(err, STRETTO_E_USAGE, "no token %d: the vocabulary has 0 to %u", id, tok->vocab.n - 1);
    st_str text = st_vocab_text(&tok->vocab, id);
    uint8_t type = tok->vocab.type[id];
    int byte = type == ST_TOKEN_BYTE ? st_vocab_byte(text) : -1;
    bool bare = first && tok->adds_space && starts_with_space(text, byte);
    if (type == ST_TOKEN_CONTROL || type == ST_TOKEN_UNKNOWN) {
        if (special) st_buf_add(out, text.data, text.len);
    } else if (byte >= 0) {
        if (!bare) st_buf_add(out, &(char){(char)byte}, 1);
    } else if (tok->model == ST_MODEL_BPE && type != ST_TOKEN_USER) {
        bpe_decode(text, out);
    } else if (tok->model == ST_MODEL_BPE) {
        st_buf_add(out, text.data, text.len);
    } else {
        size_t skipped = bare ? strlen(ST_SPACE) : 0;
        unescape((st_str){text.data + skipped, text.len - skipped}, out);
    }
    return out->failed ? st_fail_memory(err, "the text", text.len) : 0;
}
