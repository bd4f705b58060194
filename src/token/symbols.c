/* SPDX-License-Identifier: MIT
 * Entries of the heap are never taken out when their pair goes away. An entry counts only if its key is still that of
 * the symbol at its position; one that is out of date but happens to have the right key stands where the right one
 * stands, so taking it changes nothing. */
#include "token/symbols.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdlib.h>

/* Every join takes one entry and adds at most two, so n symbols need fewer than 2 n entries. */
#define HEAP_PER_SYMBOL 2

int st_symbols_begin(st_symbols *symbols, size_t n, stretto_error *err) {
    symbols->n = symbols->n_heap = 0;
    if (n <= symbols->cap) return 0;
    size_t cap = n < 64 ? 64 : n > symbols->cap * 2 ? n : symbols->cap * 2;
    bool fits = cap <= SIZE_MAX / (HEAP_PER_SYMBOL * sizeof(st_symbol));
    st_symbol *data = fits ? malloc(cap * sizeof *data) : NULL;
    uint64_t *heap = fits ? malloc(cap * HEAP_PER_SYMBOL * sizeof *heap) : NULL;
    if (!data || !heap) {
        free(data);
        free(heap);
        return st_fail_memory(err, "a piece of text", cap * (sizeof *data + HEAP_PER_SYMBOL * sizeof *heap));
    }
    st_symbols_free(symbols);
    *symbols = (st_symbols){.data = data, .heap = heap, .cap = cap};
    return 0;
}

void st_symbols_free(st_symbols *symbols) {
    free(symbols->data);
    free(symbols->heap);
    *symbols = (st_symbols){0};
}

void st_symbols_add(st_symbols *symbols, uint32_t start, uint32_t len, int32_t id) {
    symbols->data[symbols->n++] = (st_symbol){.start = start, .len = len, .id = id};
}

static void heap_down(uint64_t *heap, size_t n, size_t at) {
    uint64_t entry = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (entry <= heap[child]) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void heap_push(st_symbols *symbols, uint64_t entry) {
    uint64_t *heap = symbols->heap;
    size_t at = symbols->n_heap++;
    while (at > 0 && heap[(at - 1) / 2] > entry) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

static uint64_t heap_pop(st_symbols *symbols) {
    uint64_t least = symbols->heap[0];
    symbols->heap[0] = symbols->heap[--symbols->n_heap];
    if (symbols->n_heap > 0) heap_down(symbols->heap, symbols->n_heap, 0);
    return least;
}

static uint64_t entry_of(uint32_t key, size_t at) {
    return (uint64_t)key << 32 | at;
}

/* Links the symbols and fills the heap with all pairs that join. */
static void pairs_begin(st_symbols *symbols, const char *text, st_pair_fn pair, const void *arg) {
    st_symbol *data = symbols->data;
    for (size_t i = 0; i < symbols->n; i++) {
        bool last = i + 1 == symbols->n;
        data[i].prev = i == 0 ? ST_NO_PAIR : (uint32_t)(i - 1);
        data[i].next = last ? ST_NO_PAIR : (uint32_t)(i + 1);
        data[i].key = ST_NO_PAIR;
        if (last) break;
        st_pair found = pair(arg, text, &data[i], &data[i + 1]);
        data[i].key = found.key;
        data[i].joined = found.id;
        if (found.key != ST_NO_PAIR) symbols->heap[symbols->n_heap++] = entry_of(found.key, i);
    }
    for (size_t i = symbols->n_heap / 2; i-- > 0;) heap_down(symbols->heap, symbols->n_heap, i);
}

/* Looks at the pair that starts at position `at` anew, since one of the two has changed. */
static void pair_renew(st_symbols *symbols, uint32_t at, const char *text, st_pair_fn pair, const void *arg) {
    st_symbol *left = &symbols->data[at];
    left->key = ST_NO_PAIR;
    if (left->next == ST_NO_PAIR) return;
    st_pair found = pair(arg, text, left, &symbols->data[left->next]);
    left->key = found.key;
    left->joined = found.id;
    if (found.key != ST_NO_PAIR) heap_push(symbols, entry_of(found.key, at));
}

void st_symbols_join(st_symbols *symbols, const char *text, st_pair_fn pair, const void *arg) {
    pairs_begin(symbols, text, pair, arg);
    while (symbols->n_heap > 0) {
        uint64_t entry = heap_pop(symbols);
        uint32_t at = (uint32_t)entry;
        st_symbol *left = &symbols->data[at];
        if (left->len == 0 || left->key != entry >> 32) continue;
        st_symbol *right = &symbols->data[left->next];
        left->len += right->len;
        left->id = left->joined;
        left->next = right->next;
        right->len = 0;
        if (left->next != ST_NO_PAIR) symbols->data[left->next].prev = at;
        if (left->prev != ST_NO_PAIR) pair_renew(symbols, left->prev, text, pair, arg);
        pair_renew(symbols, at, text, pair, arg);
    }
}
