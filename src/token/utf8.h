/* SPDX-License-Identifier: MIT
 * Characters of UTF-8 as the Unicode standard defines them (table 3-7: no surrogates, no overlong forms). */
#ifndef ST_TOKEN_UTF8_H
#define ST_TOKEN_UTF8_H

#include <stddef.h>

/* Bytes of the character that starts at bytes (1 to 4), or 0 when none does or n bytes are not all of it. n > 0. */
unsigned st_utf8_length(const char *bytes, size_t n);

/* Whether n bytes, n > 0, could be the beginning of a character that is not complete yet. */
int st_utf8_is_beginning(const char *bytes, size_t n);

/* Bytes of the white space character at the start of n bytes, or at their end; 0 when there is none. Unicode's
 * White_Space and the four separators U+001C..U+001F, which is what str.strip() and so a template's trim takes away. */
unsigned st_utf8_space_first(const char *bytes, size_t n);
unsigned st_utf8_space_last(const char *bytes, size_t n);

#endif
