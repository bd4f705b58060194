/* SPDX-License-Identifier: MIT */
#include "device/stream.h"

#include "base/error.h"
#include "gguf/message.h"

#include <stdlib.h>
#include <string.h>

#define ANY_BYTE 0x2c /* as each byte of a number in f16 or f32: a small one */

/* The chunk before `end` that owns a layer. */
static uint32_t owner_of(const st_stream *s, uint32_t end, uint32_t layer) {
    uint32_t c = 0;
    while (c + 1 < end && s->chunks[c].span.last < layer) c++;
    return c;
}

int st_stream_check_room(const st_chunk *chunks, uint32_t n_chunks, enum st_kv_type kv_type, uint32_t n_ctx,
                         uint32_t max_rows, uint32_t n, uint64_t beside, stretto_error *err) {
    const st_model *m = chunks[0].model;
    uint64_t kv = 0, weights = m->weights.bytes, most = m->memory;
    for (uint32_t i = 0; i < n_chunks; i++) kv += n * st_kv_size(m, chunks[i].span, kv_type, n_ctx, max_rows);
    if (!most || (kv <= most && weights + beside <= most - kv)) return STRETTO_OK;
    return st_fail(
        err, STRETTO_E_MEMORY,
        "the KV of %u stream%s of %u positions takes %s of memory, the weights take %s and working memory %s, but all "
        "that "
        "this process may have here is %s (the machine's, or its control group's limit): a shorter context%s%s "
        "takes less",
        n, n == 1 ? "" : "s", n_ctx, ST_BYTES(kv), ST_BYTES(weights), ST_BYTES(beside), ST_BYTES(most),
        kv_type == ST_KV_F32 ? ", or a KV in f16," : "", n == 1 ? "" : ", or fewer streams,");
}

int st_stream_open(st_stream **out, const st_chunk *chunks, uint32_t n_chunks, enum st_kv_type kv_type, uint32_t n_ctx,
                   uint32_t max_rows, stretto_error *err) {
    *out = NULL;
    st_stream *s = calloc(1, sizeof *s);
    if (!s) return st_fail_memory(err, "stream", sizeof *s);
    *s = (st_stream){.chunks = chunks, .n_chunks = n_chunks, .n_ctx = n_ctx};
    s->kv = calloc(n_chunks, sizeof *s->kv);
    int code = s->kv ? STRETTO_OK : st_fail_memory(err, "stream", n_chunks * sizeof *s->kv);
    for (uint32_t i = 0; i < n_chunks && !code; i++) {
        const st_chunk *chunk = &chunks[i];
        code = st_kv_create(&s->kv[i], chunk->model, chunk->span, kv_type, n_ctx, max_rows, err);
        for (uint32_t b = 0; b < chunk->n_borrowed && !code; b++)
            st_kv_borrow(s->kv[i], chunk->borrowed[b], s->kv[owner_of(s, i, chunk->borrowed[b])]);
    }
    if (code)
        st_stream_close(s);
    else
        *out = s;
    return code;
}

void st_stream_close(st_stream *s) {
    if (!s) return;
    for (uint32_t i = s->kv ? s->n_chunks : 0; i-- > 0;) st_kv_free(s->kv[i]);
    free(s->kv);
    free(s);
}

uint64_t st_stream_kv_bytes(const st_stream *s) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) bytes += s->kv[i]->bytes;
    return bytes;
}

/* Position n sees n - window + 1 and later; a ring holds the last `capacity` of all positions that were ever stored. */
static int check_layer(const st_stream *s, const st_kv *kv, uint32_t layer, uint32_t n, stretto_error *err) {
    uint32_t window = kv->model->layers[layer].window, capacity = kv->own[layer - kv->span.first].capacity;
    if (!window || !capacity || s->n_stored <= capacity) return STRETTO_OK;
    if ((uint64_t)n + capacity + 1 >= (uint64_t)s->n_stored + window) return STRETTO_OK;
    return st_fail(err, STRETTO_E_USAGE, "cannot go back to position %u: layer %u holds only the last %u of %u", n,
                   layer, capacity, s->n_stored);
}

int st_stream_truncate(st_stream *s, uint32_t n, stretto_error *err) {
    if (n > s->n_past) return st_fail(err, STRETTO_E_USAGE, "cannot go back to position %u from %u", n, s->n_past);
    int code = STRETTO_OK;
    for (uint32_t i = 0; i < s->n_chunks; i++)
        for (uint32_t l = s->chunks[i].span.first; l <= s->chunks[i].span.last && !code; l++)
            code = check_layer(s, s->kv[i], l, n, err);
    if (!code) s->n_past = n;
    return code;
}

/* Written, since memory that never was is one page of zeros, which caches hold. */
void st_stream_pretend(st_stream *s, uint32_t n) {
    for (uint32_t i = 0; i < s->n_chunks; i++) memset(s->kv[i]->memory, ANY_BYTE, s->kv[i]->bytes);
    s->n_past = s->n_stored = n;
}

void st_stream_reset(st_stream *s) {
    s->n_past = s->n_stored = 0;
}
