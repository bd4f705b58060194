/* SPDX-License-Identifier: MIT
 * Finding keys and tensors by name: names sorted by length, then bytes. A sorted table rather than a hash table, since
 * it cannot be flooded with colliding names, and duplicates end up side by side. */
#ifndef ST_GGUF_INDEX_H
#define ST_GGUF_INDEX_H

#include "gguf/gguf.h"

typedef struct st_index_entry {
    st_str name;
    size_t at; /* position in the indexed list */
} st_index_entry;

typedef struct st_index {
    st_index_entry *entries; /* [n]; owned: st_index_free */
    size_t n;
} st_index;

/* Makes room for n names, to be filled in by the caller; false when memory is out. */
bool st_index_create(st_index *index, size_t n);
/* Sorts. Returns false when a name is there twice, with the first pair of positions in duplicates. */
bool st_index_sort(st_index *index, size_t duplicates[2]);
/* The position of a name, or SIZE_MAX. */
size_t st_index_find(const st_index *index, st_str name);
void st_index_free(st_index *index);

/* Room for one more item of a growing array (n of *cap are in use): the array, perhaps moved, or NULL (then the old one
 * still stands). *cap never passes limit. */
void *st_grow(void *items, size_t n, size_t *cap, size_t item_size, size_t limit);

#endif
