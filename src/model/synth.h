/* SPDX-License-Identifier: MIT
 * Synthetic models: a GGUF file with seeded random weights and a made-up vocabulary at the shapes of a named model, so
 * that speed and overlap can be studied without that model's weights. Other programs load the file as well. */
#ifndef ST_MODEL_SYNTH_H
#define ST_MODEL_SYNTH_H

#include "base/buf.h"
#include "base/log.h"
#include "gguf/types.h"
#include "stretto/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_synth_options {
    const char *like;              /* one of st_synth_name's */
    uint32_t type;                 /* enum st_type of the matrices, any readable one; vectors are F32 */
    uint32_t scale_num, scale_den; /* widths and vocabulary are multiplied by num/den, at most 1; 0/0 means 1/1 */
    uint64_t seed;
    const st_log *log; /* told which rows fell back to another type, and a vocabulary that could not shrink further */
    /* Called on the caller's thread every few MB of tensor data, and at the end with done == total. May be NULL. */
    void (*progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_arg;
    const atomic_bool *stop; /* another thread or a signal handler sets it to end early; NULL: never */
} st_synth_options;

/* Writes the file, streaming: memory is some MB for the vocabulary, whatever the model's size. The same options give
 * the same bytes on every machine. STRETTO_E_USAGE for an unknown name (lists the names), a type that cannot be written
 * or a scale that is not in (0, 1]; STRETTO_E_IO when the file cannot be written; STRETTO_E_STOPPED; STRETTO_E_MEMORY.
 * After a failure nothing is left under path. */
int st_synth_write(const char *path, const st_synth_options *options, stretto_error *err);

/* The i-th name ("smollm2-135m"), NULL past the last. */
const char *st_synth_name(size_t i);

/* Appends the types that weights can have: "F32, F16, Q4_0, ...", all of them. */
void st_synth_types_text(st_buf *out);

/* Reads "1/8" or "1". STRETTO_E_USAGE for anything else, for 0 and for more than 1. */
int st_synth_scale_parse(const char *text, uint32_t *num, uint32_t *den, stretto_error *err);

#endif
