/* SPDX-License-Identifier: MIT
 * libFuzzer target of the tokenizers. The first byte picks one of the tiny models' tokenizers or a vocabulary that the
 * next bytes describe; what is left is text. Any text turns into ids of the vocabulary and back into the same bytes,
 * plain text never turns into control tokens, and a conversation with that text is encoded or refused. */
#include "gguf/bytes.h"
#include "token/token.h"

#include <stdbool.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_TINY = 4, MAX_TOKENS = 48, MAX_MERGES = 48 };
enum { NORMAL = 1, CONTROL = 3, USER = 4, BYTE = 6 };

/* What is left of the input. */
typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static unsigned take(input *in, unsigned below) {
    if (in->size == 0) return 0;
    in->size--;
    return *in->data++ % below;
}

static void must(bool fact, const char *what) {
    if (fact) return;
    fprintf(stderr, "token_fuzz: %s\n", what);
    abort();
}

static st_tokenizer *tiny(unsigned which) {
    static const char *const names[N_TINY] = {"tiny-llama-F32", "tiny-qwen2-F32", "tiny-gemma3-F32", "tiny-gemma4-F32"};
    static st_tokenizer *toks[N_TINY];
    static st_gguf *ggufs[N_TINY];
    if (!toks[which]) {
        char path[500];
        stretto_error err = {0};
        snprintf(path, sizeof path, ST_GOLDEN "/%s.gguf", names[which]);
        must(st_gguf_open(&ggufs[which], path, NULL, &err) == 0, err.text);
        must(st_tokenizer_create(&toks[which], ggufs[which], NULL, &err) == 0, err.text);
    }
    return toks[which];
}

/* A few bytes out of few, so that tokens meet. */
static void put_piece(st_buf *b, input *in, unsigned most) {
    static const char *const bits[] = {"a", "b", "<", ">", "\xc4\xa0", "\xe2\x96\x81", "\n", "\xc3\xa6", "s", "1"};
    st_buf piece = {0};
    for (unsigned n = take(in, most + 1); n > 0; n--) st_buf_text(&piece, bits[take(in, sizeof bits / sizeof *bits)]);
    put_u64(b, piece.len);
    st_buf_add(b, piece.data ? piece.data : "", piece.len);
    st_buf_free(&piece);
}

/* User-defined tokens are ASCII letters: in byte-level vocabularies those of other characters could pose as bytes. */
static void put_user_piece(st_buf *b, input *in) {
    put_u64(b, 2);
    put_u8(b, (uint8_t)('a' + take(in, 2)));
    put_u8(b, (uint8_t)('a' + take(in, 2)));
}

/* The token that spells a byte: U+0100 and up for what cannot be seen, or <0xXX>. */
static void put_byte(st_buf *b, unsigned byte, bool spelled) {
    char name[8];
    bool seen = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    unsigned c = seen ? byte : byte <= 0x20 ? 0x100 + byte : byte == 0xad ? 0x143 : 0x121 + byte - 0x7f;
    if (!spelled)
        snprintf(name, sizeof name, "<0x%02X>", byte);
    else if (c < 0x80)
        snprintf(name, sizeof name, "%c", (int)c);
    else
        snprintf(name, sizeof name, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    put_str(b, name);
}

static void put_tokens(st_buf *b, input *in, bool spelled) {
    unsigned n = take(in, MAX_TOKENS);
    uint32_t types[256 + MAX_TOKENS];
    put_key(b, "tokenizer.ggml.tokens", ST_V_ARRAY);
    put_array(b, ST_V_STRING, 256 + n);
    for (unsigned i = 0; i < 256; i++) {
        put_byte(b, i, spelled);
        types[i] = spelled ? NORMAL : BYTE;
    }
    for (unsigned i = 256; i < 256 + n; i++) {
        static const uint32_t some[] = {NORMAL, NORMAL, NORMAL, CONTROL, USER, 2, 5, 77};
        types[i] = some[take(in, 8)];
        if (types[i] == USER)
            put_user_piece(b, in);
        else
            put_piece(b, in, 5);
    }
    put_key(b, "tokenizer.ggml.token_type", ST_V_ARRAY);
    put_array(b, ST_V_I32, 256 + n);
    for (unsigned i = 0; i < 256 + n; i++) put_u32(b, types[i]);
    put_key(b, "tokenizer.ggml.scores", ST_V_ARRAY);
    put_array(b, ST_V_F32, 256 + n);
    for (unsigned i = 0; i < 256 + n; i++) put_u32(b, take(in, 256) << 24 | take(in, 256) << 16);
}

static void put_merges(st_buf *b, input *in) {
    unsigned n = take(in, MAX_MERGES);
    put_key(b, "tokenizer.ggml.merges", ST_V_ARRAY);
    put_array(b, ST_V_STRING, n);
    for (unsigned i = 0; i < n; i++) {
        st_buf text = {0};
        put_piece(&text, in, 3);
        size_t left = text.len - 8;
        put_piece(&text, in, 3);
        put_u64(b, text.len - 16 + 1);
        st_buf_add(b, text.data + 8, left);
        put_u8(b, ' ');
        st_buf_add(b, text.data + left + 16, text.len - left - 16);
        st_buf_free(&text);
    }
}

static void put_vocabulary(st_buf *b, input *in) {
    static const char *const models[] = {"gpt2", "llama", "gemma4"};
    static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "default"};
    static const char *const templates[] = {"<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|turn>", "?"};
    unsigned model = take(in, 3);
    put_header(b, 3, 0, 9);
    put_key(b, "tokenizer.ggml.model", ST_V_STRING);
    put_str(b, models[model]);
    put_key(b, "tokenizer.ggml.pre", ST_V_STRING);
    put_str(b, pres[take(in, 5)]);
    put_key(b, "tokenizer.chat_template", ST_V_STRING);
    put_str(b, templates[take(in, 5)]);
    put_key_u32(b, "tokenizer.ggml.bos_token_id", 250 + take(in, 20));
    put_key(b, "tokenizer.ggml.add_space_prefix", ST_V_BOOL);
    put_u8(b, (uint8_t)take(in, 2));
    put_tokens(b, in, model == 0);
    put_merges(b, in);
}

static bool gives_text(const st_tokenizer *tok, int32_t id, st_buf *out, bool first) {
    stretto_error err = {0};
    size_t before = out->len;
    must(st_tokenizer_decode(tok, id, false, first, out, &err) == 0, err.text);
    return out->len > before;
}

static void check_text(const st_tokenizer *tok, const char *text, size_t n) {
    stretto_error err = {0};
    st_ids ids = {0};
    st_buf back = {0};
    must(st_tokenizer_encode(tok, text, n, false, false, &ids, &err) == 0, err.text);
    for (size_t i = 0; i < ids.len; i++) {
        bool shown = gives_text(tok, ids.data[i], &back, i == 0);
        must(shown || i == 0, "plain text gave a token that is no text");
    }
    /* U+2581 and a space are the same to most models. */
    if (!memmem(text, n, "\xe2\x96\x81", 3))
        must(back.len == n && (n == 0 || memcmp(back.data, text, n) == 0), "the text did not come back");
    ids.len = 0;
    must(st_tokenizer_encode(tok, text, n, true, true, &ids, &err) == 0, err.text);
    for (size_t i = 0; i < ids.len; i++) gives_text(tok, ids.data[i], &back, false);
    const st_chat_turn turns[] = {
        {"system", text, n / 2}, {"user", text, n}, {"assistant", text, n}, {"user", text, n}};
    (void)st_chat_encode(tok, turns + n % 3, 1 + n % 2, &ids, &err);
    st_buf_free(&back);
    st_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    unsigned which = take(&in, 2 * N_TINY);
    if (which < N_TINY) {
        check_text(tiny(which), (const char *)in.data, in.size);
        return 0;
    }
    stretto_error err = {0};
    st_gguf *gguf = NULL;
    st_tokenizer *tok = NULL;
    st_buf file = {0};
    put_vocabulary(&file, &in);
    must(!file.failed && st_gguf_parse(&gguf, file.data, file.len, "fuzz", NULL, &err) == 0, err.text);
    if (st_tokenizer_create(&tok, gguf, NULL, &err) == 0) check_text(tok, (const char *)in.data, in.size);
    st_tokenizer_destroy(tok);
    st_gguf_close(gguf);
    st_buf_free(&file);
    return 0;
}
