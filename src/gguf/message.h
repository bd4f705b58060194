/* SPDX-License-Identifier: MIT
 * Pieces of messages: numbers with thousands separators, and names and paths from files, which may hold anything, made
 * short and printable. Each returns its buffer, so that ST_NUMBER(n) and ST_NAME(s) can be arguments of st_fail. */
#ifndef ST_GGUF_MESSAGE_H
#define ST_GGUF_MESSAGE_H

#include "gguf/gguf.h"

#define ST_NUMBER_SIZE 34 /* 20 digits, 6 commas, " bytes", NUL */
#define ST_NAME_SIZE 96
#define ST_DIMS_SIZE 120
#define ST_PATH_SIZE 160

/* "113,246,208" */
const char *st_number(char out[ST_NUMBER_SIZE], uint64_t value);
/* "1 byte", "113,246,208 bytes" */
const char *st_bytes(char out[ST_NUMBER_SIZE], uint64_t n);
/* The name with bytes that are not printable ASCII as \xNN, and "..." for what does not fit. */
const char *st_printable(char out[ST_NAME_SIZE], st_str name);
/* "[2,560 x 262,144]" */
const char *st_dims_text(char out[ST_DIMS_SIZE], const uint64_t *dims, uint32_t n_dims);
/* What is missing, turned into the likely reason. */
const char *st_short_reason(uint64_t missing_bytes);

/* Buffers that live until the end of the enclosing block. */
#define ST_NUMBER(value) st_number((char[ST_NUMBER_SIZE]){0}, (value))
#define ST_BYTES(n) st_bytes((char[ST_NUMBER_SIZE]){0}, (n))
#define ST_NAME(name) st_printable((char[ST_NAME_SIZE]){0}, (name))
#define ST_DIMS(dims, n_dims) st_dims_text((char[ST_DIMS_SIZE]){0}, (dims), (n_dims))

/* Puts the file's name in front of the reason in err; of a very long path only the end, so that the reason stays.
 * Returns err->code. */
int st_fail_in_file(stretto_error *err, const char *path);

/* Refuses what the file says, for the given reason: STRETTO_E_INPUT, with the file's name in front. */
int st_gguf_refuse(const st_gguf *gguf, stretto_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
