/* SPDX-License-Identifier: MIT
 * Guessing what a mistyped word was meant to be. */
#ifndef ST_BASE_NEAREST_H
#define ST_BASE_NEAREST_H

/* The candidate nearest to word by edits, or NULL when none is near; ends at a NULL candidate. From any thread. */
const char *st_nearest(const char *word, const char *const *candidates);

#endif
