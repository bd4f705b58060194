/* SPDX-License-Identifier: MIT
 * Guessing what a mistyped word was meant to be. */
#ifndef ST_BASE_NEAREST_H
#define ST_BASE_NEAREST_H

/* The candidate nearest to word by edits, or that begins with it; where there is none the longest, of three letters at
 * least, that word begins with; else NULL. Ends at a NULL candidate. From any thread. */
const char *st_nearest(const char *word, const char *const *candidates);

#endif
