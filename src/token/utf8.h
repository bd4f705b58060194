/* SPDX-License-Identifier: MIT
 * White space in UTF-8. */
#ifndef ST_TOKEN_UTF8_H
#define ST_TOKEN_UTF8_H

#include <stddef.h>

/* Bytes of the white space character at the start of n bytes, or at their end; 0 when there is none. Unicode's
 * White_Space and the four separators U+001C..U+001F, which is what str.strip() and so a template's trim takes away. */
unsigned st_utf8_space_first(const char *bytes, size_t n);
unsigned st_utf8_space_last(const char *bytes, size_t n);

#endif
