/* SPDX-License-Identifier: MIT */
#include "token/vocab.h"

#include "base/error.h"
#include "base/mem.h"
#include "gguf/message.h"
#include "token/hash.h"

#include <stdlib.h>
#include <string.h>

#define KEY_TOKENS "tokenizer.ggml.tokens"
#define KEY_TYPES "tokenizer.ggml.token_type"
#define NOT_TEXT ((uint64_t)1 << 31)
#define BATCH 32 /* tokens whose slots are asked from memory together: one by one, a miss each is most of the time */

int st_vocab_byte(st_str text) {
    if (text.len != 6 || memcmp(text.data, "<0x", 3) != 0 || text.data[5] != '>') return -1;
    int value = 0;
    for (int i = 3; i < 5; i++) {
        char c = text.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static int32_t slot_id(uint64_t slot) {
    return (int32_t)(slot & (NOT_TEXT - 1)) - 1;
}
static int32_t slot_text_id(uint64_t slot) {
    return slot & NOT_TEXT ? -1 : slot_id(slot);
}

static bool slot_holds(const st_vocab *vocab, uint64_t slot, uint64_t hash, const char *bytes, size_t n) {
    if (slot >> 32 != hash >> 32) return false;
    st_str text = st_vocab_text(vocab, slot_id(slot));
    return text.len == n && memcmp(text.data, bytes, n) == 0;
}

/* The slot that holds these bytes, or the empty one where they belong; the length of the way there in *steps. */
static uint64_t *slot_find(const st_vocab *vocab, uint64_t hash, const char *bytes, size_t n, uint32_t *steps) {
    uint32_t at = (uint32_t)hash & vocab->mask;
    *steps = 0;
    while (vocab->slots[at] != 0 && !slot_holds(vocab, vocab->slots[at], hash, bytes, n)) {
        at = (at + 1) & vocab->mask;
        ++*steps;
    }
    return &vocab->slots[at];
}

static uint64_t vocab_lookup(const st_vocab *vocab, const char *bytes, size_t n) {
    uint32_t steps;
    if (n > vocab->max_len) return 0;
    return *slot_find(vocab, st_hash_bytes(bytes, n), bytes, n, &steps);
}

int32_t st_vocab_find(const st_vocab *vocab, const char *bytes, size_t n) {
    return slot_id(vocab_lookup(vocab, bytes, n));
}

int32_t st_vocab_find_text(const st_vocab *vocab, const char *bytes, size_t n) {
    return slot_text_id(vocab_lookup(vocab, bytes, n));
}

/* The first slot on the way with the right tag: nearly always the one that holds these bytes. */
static int32_t tag_find(const st_vocab *vocab, uint64_t hash) {
    uint32_t at = (uint32_t)hash & vocab->mask;
    while (vocab->slots[at] != 0 && vocab->slots[at] >> 32 != hash >> 32) at = (at + 1) & vocab->mask;
    return slot_id(vocab->slots[at]);
}

void st_vocab_find_texts(const st_vocab *vocab, st_lookup *lookups, size_t n_lookups) {
    for (size_t i = 0; i < n_lookups; i++) {
        lookups[i].hash = st_hash_bytes(lookups[i].bytes, lookups[i].n);
        __builtin_prefetch(&vocab->slots[(uint32_t)lookups[i].hash & vocab->mask]);
    }
    for (size_t i = 0; i < n_lookups; i++) {
        lookups[i].id = tag_find(vocab, lookups[i].hash);
        if (lookups[i].id >= 0) __builtin_prefetch(&vocab->start[lookups[i].id]);
    }
    for (size_t i = 0; i < n_lookups; i++)
        if (lookups[i].id >= 0) __builtin_prefetch(vocab->base + vocab->start[lookups[i].id]);
    for (size_t i = 0; i < n_lookups; i++) {
        uint32_t steps;
        lookups[i].id = slot_text_id(*slot_find(vocab, lookups[i].hash, lookups[i].bytes, lookups[i].n, &steps));
    }
}

void st_vocab_set_type(st_vocab *vocab, int32_t id, enum st_token_type type) {
    st_str text = st_vocab_text(vocab, id);
    uint32_t steps;
    uint64_t *slot = slot_find(vocab, st_hash_bytes(text.data, text.len), text.data, text.len, &steps);
    vocab->type[id] = (uint8_t)type;
    if (slot_id(*slot) != id) return; /* a later one of two equal tokens is never found */
    *slot = (*slot & ~NOT_TEXT) | (st_vocab_is_text(vocab, id) ? 0 : NOT_TEXT);
}

/* Token types as the file has them; without them, byte tokens are known by their looks and the rest is normal. */
static int types_read(st_vocab *vocab, const st_gguf *gguf, stretto_error *err) {
    const st_value *types = st_gguf_find(gguf, KEY_TYPES);
    vocab->has_types = types != NULL;
    if (!types) {
        for (uint32_t i = 0; i < vocab->n; i++)
            vocab->type[i] = st_vocab_byte(st_vocab_text(vocab, (int32_t)i)) >= 0 ? ST_TOKEN_BYTE : ST_TOKEN_NORMAL;
        return 0;
    }
    int code = st_gguf_array(gguf, KEY_TYPES, true, ST_V_I32, &types, err);
    if (code) return code;
    if (types->count != vocab->n)
        return st_gguf_refuse(gguf, err, "key %s has %s items, but %s has %s", KEY_TYPES, ST_NUMBER(types->count),
                              KEY_TOKENS, ST_NUMBER(vocab->n));
    for (uint32_t i = 0; i < vocab->n; i++) {
        int32_t type;
        memcpy(&type, types->data + sizeof type * i, sizeof type);
        vocab->type[i] = type >= ST_TOKEN_NORMAL && type <= ST_TOKEN_BYTE ? (uint8_t)type : ST_TOKEN_NORMAL;
    }
    return 0;
}

static void starts_read(st_vocab *vocab, const st_value *tokens) {
    size_t cursor = 0;
    for (uint32_t i = 0; i < vocab->n; i++) {
        st_str text = st_value_next_string(tokens, &cursor);
        vocab->start[i] = (uint32_t)(text.data - vocab->base);
        if (text.len > vocab->max_len) vocab->max_len = (uint32_t)text.len;
    }
    vocab->start[vocab->n] = (uint32_t)(cursor + sizeof(uint64_t));
}

/* What was found twice, to be told once. */
typedef struct twice {
    uint32_t n;
    int32_t first, again; /* ids of the first such pair */
} twice;

/* Puts a token where its hash belongs. False when the chain there is longer than chance makes them. */
static bool slot_fill(st_vocab *vocab, uint32_t id, uint64_t hash, twice *seen) {
    st_str text = st_vocab_text(vocab, (int32_t)id);
    uint32_t steps;
    uint64_t *slot = slot_find(vocab, hash, text.data, text.len, &steps);
    if (steps > ST_CHAIN_LIMIT) return false;
    if (*slot == 0) {
        *slot = (hash >> 32 << 32) | (st_vocab_is_text(vocab, (int32_t)id) ? 0 : NOT_TEXT) | (id + 1);
    } else if (seen->n++ == 0) {
        seen->first = slot_id(*slot);
        seen->again = (int32_t)id;
    }
    return true;
}

static int slots_fill(st_vocab *vocab, const st_gguf *gguf, const st_log *log, stretto_error *err) {
    twice seen = {0};
    uint64_t hashes[BATCH];
    for (uint32_t i = 0; i < vocab->n; i++) {
        for (uint32_t k = 0; i % BATCH == 0 && k < BATCH && i + k < vocab->n; k++) {
            st_str text = st_vocab_text(vocab, (int32_t)(i + k));
            hashes[k] = st_hash_bytes(text.data, text.len);
            __builtin_prefetch(&vocab->slots[(uint32_t)hashes[k] & vocab->mask], 1);
        }
        if (!slot_fill(vocab, i, hashes[i % BATCH], &seen))
            return st_gguf_refuse(gguf, err, "key %s: more than %d tokens share a hash, as if made to (item %u)",
                                  KEY_TOKENS, ST_CHAIN_LIMIT, i);
    }
    vocab->has_twice = seen.n > 0;
    if (vocab->has_twice)
        st_warn(log,
                "%s: key %s: %s tokens stand there twice and only the first is used, such as \"%s\" (ids %d and %d)",
                gguf->path, KEY_TOKENS, ST_NUMBER(seen.n), ST_NAME(st_vocab_text(vocab, seen.first)), seen.first,
                seen.again);
    return 0;
}

/* A power of two, at least twice n. */
static uint32_t slots_for(uint32_t n) {
    uint32_t size = 16;
    while (size < n * (uint64_t)2) size *= 2;
    return size;
}

int st_vocab_create(st_vocab *vocab, const st_gguf *gguf, const st_log *log, stretto_error *err) {
    const st_value *tokens;
    *vocab = (st_vocab){0};
    int code = st_gguf_array(gguf, KEY_TOKENS, true, ST_V_STRING, &tokens, err);
    if (code) return code;
    if (tokens->count == 0) return st_gguf_refuse(gguf, err, "key %s has no items", KEY_TOKENS);
    if (tokens->count >= (uint32_t)1 << 30 || tokens->bytes > UINT32_MAX - sizeof(uint64_t))
        return st_gguf_refuse(gguf, err, "key %s has %s tokens of %s bytes: too many", KEY_TOKENS,
                              ST_NUMBER(tokens->count), ST_NUMBER(tokens->bytes));
    vocab->n = (uint32_t)tokens->count;
    vocab->base = (const char *)tokens->data;
    vocab->mask = slots_for(vocab->n) - 1;
    vocab->start = malloc(((size_t)vocab->n + 1) * sizeof *vocab->start);
    vocab->type = calloc(vocab->n, sizeof *vocab->type);
    vocab->slots = st_alloc((size_t)vocab->mask + 1, sizeof *vocab->slots);
    if (vocab->start && vocab->type && vocab->slots) {
        starts_read(vocab, tokens);
        code = types_read(vocab, gguf, err);
        if (!code) code = slots_fill(vocab, gguf, log, err);
    } else {
        code = st_fail_memory(err, "the vocabulary", (uint64_t)vocab->n * 21);
    }
    if (code) st_vocab_free(vocab);
    return code;
}

void st_vocab_free(st_vocab *vocab) {
    free(vocab->start);
    free(vocab->type);
    st_free(vocab->slots);
    *vocab = (st_vocab){0};
}
