/* SPDX-License-Identifier: MIT
 * Lists of ids, and text to ids. */
#include "token/tokenizer.h"

#include "base/error.h"

#include <stdlib.h>

int st_ids_add(st_ids *ids, int32_t id, stretto_error *err) {
    if (ids->len == ids->cap) {
        size_t cap = ids->cap == 0 ? 64 : ids->cap * 2;
        int32_t *data = realloc(ids->data, cap * sizeof *data);
        if (!data) return st_fail_memory(err, "a list of ids", cap * sizeof *data);
        ids->data = data;
        ids->cap = cap;
    }
    ids->data[ids->len++] = id;
    return 0;
}

void st_ids_free(st_ids *ids) {
    free(ids->data);
    *ids = (st_ids){0};
}

static int text_encode(st_encoding *enc, const char *text, size_t n, bool space_in_front) {
    switch (enc->tok->model) {
    case ST_MODEL_BPE:
        return st_bpe_encode(enc, text, n);
    case ST_MODEL_SPM:
        return st_spm_encode(enc, text, n, space_in_front && enc->tok->adds_space);
    default:
        return st_gemma4_encode(enc, text, n);
    }
}

/* SentencePiece's space goes in front of the whole text and, as in llama.cpp, of text behind a control token; never
 * behind a user-defined token, which is text. */
static int pieces_encode(st_encoding *enc, const char *text, const st_piece *pieces, size_t n_pieces) {
    bool fresh = true;
    int code = 0;
    for (size_t i = 0; !code && i < n_pieces; i++) {
        const st_piece *piece = &pieces[i];
        if (piece->id < 0)
            code = text_encode(enc, text + piece->start, piece->len, fresh);
        else
            code = st_ids_add(enc->ids, piece->id, enc->err);
        fresh = piece->id >= 0 && enc->tok->vocab.type[piece->id] != ST_TOKEN_USER;
    }
    return code;
}

int st_tokenizer_encode(const st_tokenizer *tok, const char *text, size_t n, bool parse_special, bool add_bos,
                        st_ids *ids, stretto_error *err) {
    if (n >= UINT32_MAX) return st_fail(err, STRETTO_E_INPUT, "a text of %zu bytes is too long to tokenize at once", n);
    size_t n_before = ids->len, n_pieces;
    st_encoding enc = {.tok = tok, .ids = ids, .err = err};
    st_piece *pieces;
    int code = st_special_split(&tok->special, text, n, parse_special, &pieces, &n_pieces, err);
    if (!code && add_bos && tok->adds_bos) code = st_ids_add(ids, tok->bos, err);
    if (!code) code = pieces_encode(&enc, text, pieces, n_pieces);
    if (code) ids->len = n_before;
    st_symbols_free(&enc.symbols);
    st_buf_free(&enc.text);
    free(pieces);
    return code;
}
