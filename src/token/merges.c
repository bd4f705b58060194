/* SPDX-License-Identifier: MIT */
#include "token/merges.h"

#include "base/buf.h"
#include "base/error.h"
#include "gguf/message.h"
#include "token/hash.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MERGES "tokenizer.ggml.merges"
#define BATCH 32 /* merges whose lookups are started together, so that their cache misses overlap */

st_pair st_merges_pair(const void *arg, const char *text, const st_symbol *left, const st_symbol *right) {
    (void)text;
    const st_merges *merges = arg;
    if (left->id < 0 || right->id < 0) return (st_pair){ST_NO_PAIR, -1};
    uint32_t at = (uint32_t)st_hash_pair((uint32_t)left->id, (uint32_t)right->id) & merges->mask;
    for (;; at = (at + 1) & merges->mask) {
        const st_merge *slot = &merges->slots[at];
        if (slot->left == left->id && slot->right == right->id) return (st_pair){slot->rank, slot->id};
        if (slot->left < 0) return (st_pair){ST_NO_PAIR, -1};
    }
}

static st_merge *merge_home(const st_merges *merges, int32_t left, int32_t right) {
    return &merges->slots[(uint32_t)st_hash_pair((uint32_t)left, (uint32_t)right) & merges->mask];
}

/* Files may hold a pair twice (the first rank counts). False when the chain is longer than chance makes them. */
static bool merge_insert(st_merges *merges, st_merge merge) {
    uint32_t at = (uint32_t)st_hash_pair((uint32_t)merge.left, (uint32_t)merge.right) & merges->mask;
    for (int steps = 0; steps <= ST_CHAIN_LIMIT; steps++, at = (at + 1) & merges->mask) {
        st_merge *slot = &merges->slots[at];
        if (slot->left == merge.left && slot->right == merge.right) return true;
        if (slot->left >= 0) continue;
        *slot = merge;
        return true;
    }
    return false;
}

/* The merges on their way from the file into the table. */
typedef struct reading {
    const st_vocab *vocab;
    st_merges *merges;
    const st_value *list;
    size_t cursor;
    uint32_t n_read;
    int32_t last;        /* what the merge before became */
    st_buf joined;       /* scratch */
    uint32_t n_lost;     /* merges that name tokens which are not there */
    uint32_t first_lost; /* the first of them */
    st_str first_text;
} reading;

static bool token_is(const st_vocab *vocab, int32_t id, st_str left, st_str right) {
    if ((uint32_t)id >= vocab->n || !st_vocab_is_text(vocab, id) || vocab->has_twice) return false;
    st_str text = st_vocab_text(vocab, id);
    return text.len == left.len + right.len && memcmp(text.data, left.data, left.len) == 0 &&
           memcmp(text.data + left.len, right.data, right.len) == 0;
}

/* The token that LEFT and RIGHT are together, or -1. Files list merges in the order of what they become, so more than
 * 99 of 100 times it is the token of the merge before (a token with several merges) or the one after that, and no
 * search is needed. */
static int32_t joined_find(reading *r, st_str left, st_str right) {
    if (token_is(r->vocab, r->last, left, right)) return r->last;
    if (token_is(r->vocab, r->last + 1, left, right)) return r->last + 1;
    r->joined.len = 0;
    st_buf_add(&r->joined, left.data, left.len);
    st_buf_add(&r->joined, right.data, right.len);
    return r->joined.failed ? -1 : st_vocab_find_text(r->vocab, r->joined.data, r->joined.len);
}

/* Cuts "LEFT RIGHT" in two. A token may start with a space, so the separator is the first one after that. Without a
 * separator, or when one of the two is empty (the joined token were no longer than the other, and joining would not
 * end), both are. */
static void merge_split(st_str text, st_str *left, st_str *right) {
    const char *space = text.len > 2 ? memchr(text.data + 1, ' ', text.len - 2) : NULL;
    *left = (st_str){text.data, space ? (size_t)(space - text.data) : 0};
    *right = (st_str){text.data + left->len + 1, space ? text.len - left->len - 1 : 0};
}

/* Reads the next n merges. False when pairs were made to collide. */
static bool batch_read(reading *r, uint32_t n) {
    st_lookup lookups[2 * BATCH];
    st_merge merges[BATCH];
    st_str texts[BATCH];
    for (uint32_t i = 0; i < n; i++) {
        st_str left, right;
        texts[i] = st_value_next_string(r->list, &r->cursor);
        merge_split(texts[i], &left, &right);
        lookups[2 * i] = (st_lookup){.bytes = left.data, .n = left.len};
        lookups[2 * i + 1] = (st_lookup){.bytes = right.data, .n = right.len};
        merges[i] = (st_merge){.rank = r->n_read + i, .id = left.len > 0 ? joined_find(r, left, right) : -1};
        if (merges[i].id >= 0) r->last = merges[i].id;
    }
    st_vocab_find_texts(r->vocab, lookups, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        merges[i].left = lookups[2 * i].id;
        merges[i].right = lookups[2 * i + 1].id;
        __builtin_prefetch(merge_home(r->merges, merges[i].left, merges[i].right), 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        bool found = merges[i].left >= 0 && merges[i].right >= 0 && merges[i].id >= 0;
        if (found && !merge_insert(r->merges, merges[i])) return false;
        if (found || r->n_lost++ > 0) continue;
        r->first_lost = r->n_read + i;
        r->first_text = texts[i];
    }
    r->n_read += n;
    return true;
}

static int merges_fill(reading *r, const st_gguf *gguf, const st_log *log, stretto_error *err) {
    uint32_t n_all = (uint32_t)r->list->count;
    while (r->n_read < n_all) {
        uint32_t n = n_all - r->n_read < BATCH ? n_all - r->n_read : BATCH;
        if (!batch_read(r, n))
            return st_gguf_refuse(gguf, err, "key %s: more than %d pairs share a hash, as if made to", KEY_MERGES,
                                  ST_CHAIN_LIMIT);
        if (r->joined.failed) return st_fail_memory(err, "the merges", r->list->bytes);
    }
    if (r->n_lost > 0)
        st_warn(
            log,
            "%s: key %s: %s of %s merges name tokens that the vocabulary lacks and are skipped, such as item %u \"%s\"",
            gguf->path, KEY_MERGES, ST_NUMBER(r->n_lost), ST_NUMBER(n_all), r->first_lost, ST_NAME(r->first_text));
    return 0;
}

int st_merges_create(st_merges *merges, const st_vocab *vocab, const st_gguf *gguf, const st_log *log,
                     stretto_error *err) {
    const st_value *list;
    *merges = (st_merges){0};
    int code = st_gguf_array(gguf, KEY_MERGES, true, ST_V_STRING, &list, err);
    if (code) return code;
    if (list->count >= (uint32_t)1 << 30)
        return st_gguf_refuse(gguf, err, "key %s has %s items: too many", KEY_MERGES, ST_NUMBER(list->count));
    size_t size = 16;
    while (size < list->count * 2) size *= 2;
    merges->mask = (uint32_t)(size - 1);
    merges->slots = malloc(size * sizeof *merges->slots);
    if (!merges->slots) return st_fail_memory(err, "the merges", size * sizeof *merges->slots);
    memset(merges->slots, 0xff, size * sizeof *merges->slots);
    reading r = {.vocab = vocab, .merges = merges, .list = list, .last = -1, .first_text = {"", 0}};
    code = merges_fill(&r, gguf, log, err);
    st_buf_free(&r.joined);
    if (code) st_merges_free(merges);
    return code;
}

void st_merges_free(st_merges *merges) {
    free(merges->slots);
    *merges = (st_merges){0};
}
