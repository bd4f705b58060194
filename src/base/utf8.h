/* SPDX-License-Identifier: MIT
 * Characters of UTF-8 as the Unicode standard defines them (table 3-7: no surrogates, no overlong forms). */
#ifndef ST_BASE_UTF8_H
#define ST_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Bytes of the character that starts at bytes (1 to 4), or 0 when none does or n bytes are not all of it. n > 0. */
unsigned st_utf8_length(const char *bytes, size_t n);

/* Whether n bytes, n > 0, could be the beginning of a character that is not complete yet. */
bool st_utf8_is_beginning(const char *bytes, size_t n);

/* Bytes of the control character that starts at bytes (1, or 2 of U+0080 to U+009F, which steer terminals, too), or 0.
 */
unsigned st_utf8_control(const char *bytes, size_t n);
/* Each byte of a control character in text becomes '?'. */
void st_utf8_tame(char *text);

/* How many of the len bytes at text to show where there is room for `most`: as many as fit, but no part of a character.
 */
size_t st_utf8_cut(const char *text, size_t len, size_t most);

/* The two arguments of a "%.*s" that shows at most so many bytes of a text, which ends at a NUL, in whole characters.
 */
#define ST_CUT(text, most) (int)st_utf8_cut((text), strnlen((text), (size_t)(most) + 4), (most)), (text)

/* Drops a character that is not complete from the end of a text that was cut there. */
void st_utf8_trim(char *text);

/* Appends text; each byte that is no part of UTF-8 becomes U+FFFD. */
void st_utf8_clean(st_buf *out, const char *text);

#endif
