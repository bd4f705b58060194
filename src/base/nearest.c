/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 63

static unsigned least3(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b: optimal string alignment, three rows. */
static unsigned edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX) return UINT_MAX;
    unsigned rows[3][WORD_MAX + 1];
    for (unsigned j = 0; j <= m; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *now = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            now[j] = least3(above[j] + 1, now[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_above[j - 2] + 1 < now[j]) now[j] = two_above[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

/* "temperature" for "temp". */
static const char *longest_beginning(const char *word, const char *const *candidates) {
    const char *longest = NULL;
    size_t most = 2;
    for (; *candidates; candidates++) {
        size_t len = strlen(*candidates);
        if (len > most && strncmp(word, *candidates, len) == 0) most = len, longest = *candidates;
    }
    return longest;
}

const char *st_nearest(const char *word, const char *const *candidates) {
    size_t len = strlen(word);
    unsigned best = len < 3 ? 2 : (unsigned)(len / 3) + 2; /* edits allowed, plus one */
    const char *nearest = NULL;
    for (const char *const *c = candidates; *c; c++) {
        unsigned distance = edit_distance(word, *c);
        bool begins = len >= 2 && strncmp(*c, word, len) == 0;
        if (begins) distance = 1;
        if (distance < best) best = distance, nearest = *c;
    }
    return nearest ? nearest : longest_beginning(word, candidates);
}
