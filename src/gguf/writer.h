/* SPDX-License-Identifier: MIT
 * Writing GGUF version 3. Metadata and tensor shapes are declared first, then tensor data is streamed in the declared
 * order, so a file of any size needs little memory. One thread at a time uses a writer. */
#ifndef ST_GGUF_WRITER_H
#define ST_GGUF_WRITER_H

#include "gguf/types.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_gguf_writer st_gguf_writer;

/* Writes to PATH.part and renames in finish, so that a failed or interrupted write leaves nothing behind under path.
 * The first error sticks: later calls do nothing and finish reports it. STRETTO_E_IO with path and reason when
 * PATH.part cannot be made or path is a folder, STRETTO_E_MEMORY; *out is NULL then. */
int st_writer_open(st_gguf_writer **out, const char *path, stretto_error *err);

/* Keys are 1 to 65,535 bytes and each stands once; they come before the first data. The u32 general.alignment (a power
 * of two, 8 or more; 32 without it) governs how this file is laid out and comes before the first tensor. Everything
 * handed over is copied. */
void st_writer_u32(st_gguf_writer *w, const char *key, uint32_t value);
void st_writer_f32(st_gguf_writer *w, const char *key, float value);
void st_writer_bool(st_gguf_writer *w, const char *key, bool value);
/* One number of any numeric enum st_value_type, in the host's byte order. */
void st_writer_number(st_gguf_writer *w, const char *key, uint32_t value_type, const void *value);
void st_writer_string(st_gguf_writer *w, const char *key, const char *value, size_t len);
void st_writer_strings(st_gguf_writer *w, const char *key, const char *const *values, const size_t *lens, size_t n);
/* value_type is a numeric enum st_value_type; values holds n items of it, in the host's byte order. */
void st_writer_array(st_gguf_writer *w, const char *key, uint32_t value_type, const void *values, size_t n);

/* Declares the next tensor; dims[0] is the row length, whole blocks of the type; 1 to 4 dimensions, none of them 0. Any
 * known type, readable or not. */
void st_writer_tensor(st_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims, uint32_t n_dims);
/* Appends n bytes to the data of the current tensor; when it is full, the next declared tensor is current. */
void st_writer_data(st_gguf_writer *w, const void *data, size_t n);

/* False once something failed: then a caller with much data still to make can go to finish at once. */
bool st_writer_ok(const st_gguf_writer *w);

/* Checks that all declared data came, flushes and renames. Frees w in every case. On failure path is as it was before
 * and PATH.part is gone: STRETTO_E_USAGE names the key or tensor that was declared or filled wrongly; STRETTO_E_IO with
 * path and reason (disk full, ...); STRETTO_E_MEMORY. */
int st_writer_finish(st_gguf_writer *w, stretto_error *err);
void st_writer_abort(st_gguf_writer *w); /* frees w and removes what was written; NULL is fine */

#endif
