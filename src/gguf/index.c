/* SPDX-License-Identifier: MIT */
#include "gguf/index.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int name_compare(st_str a, st_str b) {
    if (a.len != b.len) return a.len < b.len ? -1 : 1;
    return a.len ? memcmp(a.data, b.data, a.len) : 0;
}

static int entry_compare(const void *a, const void *b) {
    const st_index_entry *x = a, *y = b;
    int order = name_compare(x->name, y->name);
    return order ? order : x->at < y->at ? -1 : 1; /* by position too, so that every qsort gives the same pair */
}

bool st_index_create(st_index *index, size_t n) {
    index->entries = st_alloc(n ? n : 1, sizeof *index->entries);
    index->n = index->entries ? n : 0;
    return index->entries != NULL;
}

bool st_index_sort(st_index *index, size_t duplicates[2]) {
    qsort(index->entries, index->n, sizeof *index->entries, entry_compare);
    for (size_t i = 1; i < index->n; i++) {
        if (name_compare(index->entries[i - 1].name, index->entries[i].name) != 0) continue;
        duplicates[0] = index->entries[i - 1].at;
        duplicates[1] = index->entries[i].at;
        return false;
    }
    return true;
}

size_t st_index_find(const st_index *index, st_str name) {
    size_t lo = 0, hi = index->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = name_compare(name, index->entries[mid].name);
        if (order == 0) return index->entries[mid].at;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return SIZE_MAX;
}

void st_index_free(st_index *index) {
    st_free(index->entries);
    *index = (st_index){0};
}

void *st_grow(void *items, size_t n, size_t *cap, size_t item_size, size_t limit) {
    if (n < *cap) return items;
    size_t wanted = *cap < 16 ? 32 : *cap > SIZE_MAX / 2 / item_size ? SIZE_MAX / item_size : *cap * 2;
    if (wanted > limit) wanted = limit;
    if (wanted <= n || wanted > SIZE_MAX / item_size) return NULL;
    void *moved = realloc(items, wanted * item_size);
    if (moved) *cap = wanted;
    return moved;
}
