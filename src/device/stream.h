/* SPDX-License-Identifier: MIT
 * One sequence: its KV in every chunk, and how many positions it has. */
#ifndef ST_DEVICE_STREAM_H
#define ST_DEVICE_STREAM_H

#include "chunk/chunk.h"

typedef struct st_stream {
    const st_chunk *chunks; /* [n_chunks] */
    uint32_t n_chunks, n_ctx;
    st_kv **kv;        /* [n_chunks] owned */
    uint32_t n_past;   /* positions, those of passes in flight included */
    uint32_t n_stored; /* the most positions there have been since the last reset */
    int32_t next_id;   /* the token chosen after the latest wanted row; written by the unit of the last chunk */
} st_stream;

/* Whether the KV of n such streams fits into memory together with the model's weights and `beside` bytes: once it is
 * filled, the system would end the process without a word. STRETTO_E_MEMORY with all the numbers, and what takes less.
 */
int st_stream_check_room(const st_chunk *chunks, uint32_t n_chunks, enum st_kv_type kv_type, uint32_t n_ctx,
                         uint32_t max_rows, uint32_t n, uint64_t beside, stretto_error *err);

/* Room for n_ctx positions, and for passes with up to max_rows rows of this stream. The stream may go through any
 * placement with these chunks (which must outlive it), one pass after the other. STRETTO_E_MEMORY. */
int st_stream_open(st_stream **out, const st_chunk *chunks, uint32_t n_chunks, enum st_kv_type kv_type, uint32_t n_ctx,
                   uint32_t max_rows, stretto_error *err);
void st_stream_close(st_stream *stream); /* NULL is fine */

uint64_t st_stream_kv_bytes(const st_stream *stream);

/* Forgets positions n and later (n <= n_past). STRETTO_E_USAGE when a sliding layer has already lost what position n
 * needs: going back by fewer than max_rows positions from the most there ever were is always possible. */
int st_stream_truncate(st_stream *stream, uint32_t n, stretto_error *err);
/* As if n positions had been read (n <= n_ctx), for measuring: what a pass costs does not depend on the keys and
 * values, which become any finite numbers. */
void st_stream_pretend(st_stream *stream, uint32_t n);
/* As good as a fresh one, bit for bit: nothing reads keys and values that were not stored since. */
void st_stream_reset(st_stream *stream);

#endif
