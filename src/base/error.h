/* SPDX-License-Identifier: MIT
 * Filling a stretto_error. */
#ifndef ST_BASE_ERROR_H
#define ST_BASE_ERROR_H

#include "stretto/error.h"

#include <stdarg.h>

/* Stores code and the formatted reason in err (err may be NULL) and returns code, so that a caller can write
 * `return st_fail(err, STRETTO_E_INPUT, "key %s: ...", key)`. A reason that is too long is cut between characters, and
 * control characters become '?', since reasons quote hostile files and end on terminals. */
int st_fail(stretto_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int st_failv(stretto_error *err, int code, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));

/* Puts "PREFIX: " in front of the reason that err already holds (a file's name, say); returns err->code. */
int st_fail_prefix(stretto_error *err, const char *prefix);

/* What a function of somebody else's returned, as a code of ours: STRETTO_E_UNIT where it is none (an errno, say). */
int st_code_of(int returned);

/* Out of memory while making `what` of `bytes` bytes. */
int st_fail_memory(stretto_error *err, const char *what, unsigned long long bytes);

#endif
