/* SPDX-License-Identifier: MIT
 * Writing GGUF version 3. Metadata and tensor shapes are declared first, then tensor data is streamed in the declared
 * order, so a file of any size needs little memory. */
#ifndef ST_GGUF_WRITER_H
#define ST_GGUF_WRITER_H

#include "gguf/types.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_gguf_writer st_gguf_writer;

/* Writes to PATH.part and renames in finish, so that a failed or interrupted write leaves nothing behind under path.
 * The first error sticks: later calls do nothing and finish reports it. */
int st_writer_open(st_gguf_writer **out, const char *path, stretto_error *err);

void st_writer_u32(st_gguf_writer *w, const char *key, uint32_t value);
void st_writer_i32(st_gguf_writer *w, const char *key, int32_t value);
void st_writer_f32(st_gguf_writer *w, const char *key, float value);
void st_writer_bool(st_gguf_writer *w, const char *key, bool value);
void st_writer_string(st_gguf_writer *w, const char *key, const char *value, size_t len);
void st_writer_strings(st_gguf_writer *w, const char *key, const char *const *values, const size_t *lens, size_t n);
/* value_type is a numeric enum st_value_type; values holds n items of it, in the host's byte order. */
void st_writer_array(st_gguf_writer *w, const char *key, uint32_t value_type, const void *values, size_t n);

/* Declares the next tensor; dims[0] is the row length. */
void st_writer_tensor(st_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims, uint32_t n_dims);
/* Appends n bytes to the data of the current tensor; when it is full, the next declared tensor is current. */
void st_writer_data(st_gguf_writer *w, const void *data, size_t n);

/* Checks that all declared data came, flushes and renames. Frees w in every case. */
int st_writer_finish(st_gguf_writer *w, stretto_error *err);
void st_writer_abort(st_gguf_writer *w); /* frees w and removes what was written; NULL is fine */

#endif
