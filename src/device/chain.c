/* SPDX-License-Identifier: MIT */
#include "device/chain_impl.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CTX 4096
#define DEFAULT_BATCH 256

static int set_sizes(st_chain *c, const st_chain_options *o, stretto_error *err) {
    const st_model *m = o->model;
    uint32_t trained = m->n_ctx_train ? m->n_ctx_train : DEFAULT_CTX;
    c->n_ctx = o->n_ctx ? o->n_ctx : trained < DEFAULT_CTX ? trained : DEFAULT_CTX;
    c->max_batch = o->max_batch ? o->max_batch : DEFAULT_BATCH;
    if (c->max_batch > c->n_ctx) c->max_batch = c->n_ctx;
    c->max_logits = o->max_logits ? o->max_logits : 1;
    if (c->max_logits > c->max_batch) c->max_logits = c->max_batch;
    c->n_chunks = o->n_chunks;
    if (c->n_ctx > INT32_MAX) return st_fail(err, STRETTO_E_USAGE, "a context of %u positions is too large", c->n_ctx);
    return 0;
}

/* Working memory, and the logits of a pass, count with the KV. */
static int check_room(const st_chain *c, stretto_error *err) {
    uint64_t logits = (uint64_t)(c->max_logits + 1) * st_logits_stride(c->model) * sizeof(float);
    return st_stream_check_room(c->placement->chunks, c->n_chunks, c->kv_type, c->n_ctx, c->max_batch, 1,
                                st_placement_bytes(c->placement) + logits, err);
}

int st_chain_open(st_chain **out, const st_chain_options *o, stretto_error *err) {
    *out = NULL;
    if (o->n_chunks == 0) return st_fail(err, STRETTO_E_USAGE, "a chain needs at least one chunk");
    st_chain *c = calloc(1, sizeof *c);
    if (!c) return st_fail_memory(err, "chain", sizeof *c);
    c->model = o->model;
    c->kv_type = o->kv_type;
    c->stop = o->stop;
    int code = set_sizes(c, o, err);
    if (!code) code = st_placement_open(&c->placement, o->model, o->spans, o->n_chunks, o->units, c->max_batch, err);
    if (!code) code = check_room(c, err);
    if (!code) {
        c->chunks = c->placement->chunks;
        code = st_stream_open(&c->stream, c->chunks, c->n_chunks, c->kv_type, c->n_ctx, c->max_batch, err);
    }
    if (!code) code = st_pass_open(&c->pass, c->placement, c->max_batch, c->max_logits, o->trace, err);
    if (!code) code = st_pass_open(&c->ahead, c->placement, 1, 1, o->trace, err);
    c->last = c->pass;
    if (code)
        st_chain_close(c);
    else
        *out = c;
    return code;
}

void st_chain_close(st_chain *c) {
    if (!c) return;
    st_pass_close(c->pass);
    st_pass_close(c->ahead);
    st_stream_close(c->stream);
    st_placement_close(c->placement);
    free(c);
}

static int no_room(const st_chain *c, uint32_t n, stretto_error *err) {
    uint32_t used = c->stream->n_past;
    return st_fail(err, STRETTO_E_INPUT,
                   "%u tokens do not fit: the context holds %u, of which %u are used (%u too many)", n, c->n_ctx, used,
                   n - (c->n_ctx - used));
}

static int check_input(const st_chain *c, const int32_t *ids, uint32_t n, stretto_error *err) {
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->n_vocab)
            return st_fail(err, STRETTO_E_INPUT, "token id %d at position %u is not in the vocabulary of %u", ids[i],
                           c->stream->n_past + i, c->model->n_vocab);
    return n > c->n_ctx - c->stream->n_past ? no_room(c, n, err) : STRETTO_OK;
}

/* One micro-batch of n ids with n_wanted rows of logits, the last ones. */
static int submit_batch(st_chain *c, const int32_t *ids, uint32_t n, uint32_t n_wanted, stretto_error *err) {
    c->n_before = c->stream->n_past;
    st_pass_clear(c->pass);
    st_pass_add(c->pass, c->stream, ids, n, n_wanted);
    int code = st_pass_submit(c->pass, err);
    if (code) c->stream->n_past = c->n_before;
    return code;
}

/* Waits for a pass, and keeps what it came to. */
static int settle(st_chain *c, st_pass *pass, stretto_error *err) {
    int code = st_pass_wait(pass, err);
    if (!code) code = st_pass_check(pass, 0, st_pass_rows(pass), err);
    for (uint32_t i = 0; i < c->n_chunks && !code; i++) {
        uint64_t start, end;
        st_pass_times(pass, i, &start, &end);
        c->busy_ns[i] += end - start;
    }
    if (!code && st_pass_wanted(pass)) {
        c->last = pass;
        c->last_wanted = st_pass_wanted(pass) - 1;
    }
    return code;
}

int st_chain_settle(st_chain *c, stretto_error *err) {
    int code = settle(c, c->pass, err);
    if (code) c->stream->n_past = c->n_before;
    return code;
}

int st_chain_submit(st_chain *c, const int32_t *ids, uint32_t n, bool want_last, st_listener *listener,
                    stretto_error *err) {
    int code = check_input(c, ids, n, err);
    memset(c->busy_ns, 0, c->n_chunks * sizeof *c->busy_ns);
    if (!code) code = submit_batch(c, ids, n, want_last, err);
    if (!code && !st_pass_listen(c->pass, listener)) listener->fn(listener, STRETTO_OK, NULL);
    return code;
}

static int hand_over(st_chain *c, uint32_t n_wanted, st_logits_fn fn, void *arg, stretto_error *err) {
    for (uint32_t i = 0; fn && i < n_wanted; i++)
        if (fn(arg, c->stream->n_past - n_wanted + i, st_pass_logits(c->pass, i), st_pass_chosen(c->pass, i)))
            return st_fail(err, STRETTO_E_STOPPED, "stopped");
    return 0;
}

int st_chain_forward(st_chain *c, const int32_t *ids, uint32_t n, enum st_want want, st_logits_fn fn, void *arg,
                     stretto_error *err) {
    int code = check_input(c, ids, n, err);
    memset(c->busy_ns, 0, c->n_chunks * sizeof *c->busy_ns);
    uint32_t step = want == ST_WANT_ALL ? c->max_logits : c->max_batch;
    for (uint32_t done = 0; done < n && !code;) {
        uint32_t m = n - done < step ? n - done : step;
        if (c->stop && atomic_load_explicit(c->stop, memory_order_relaxed))
            return st_fail(err, STRETTO_E_STOPPED, "stopped");
        uint32_t wanted = want == ST_WANT_ALL ? m : want == ST_WANT_LAST && done + m == n ? 1 : 0;
        code = submit_batch(c, ids + done, m, wanted, err);
        if (!code) code = st_chain_settle(c, err);
        if (!code) code = hand_over(c, wanted, fn, arg, err);
        done += m;
    }
    return code;
}

/* A step of decoding, of a known token or, where there is a pass before it, of the one that this chooses. When that
 * fails the stream is as it was. */
static int submit_step(st_chain *c, st_pass *pass, const st_decoding *d, st_pass *before, stretto_error *err) {
    uint32_t n_before = c->stream->n_past;
    st_pass_clear(pass);
    if (before)
        st_pass_add_fed(pass, c->stream, before);
    else
        st_pass_add(pass, c->stream, &d->first, 1, 1);
    if (d->pick) st_pass_pick(pass, d->pick, d->pick_arg);
    int code = st_pass_submit(pass, err);
    if (code) c->stream->n_past = n_before;
    return code;
}

/* Gives up what was submitted after the first n positions. */
static int give_up(st_chain *c, st_pass *pass, uint32_t n, stretto_error *err) {
    st_pass_wait(pass, NULL);
    return st_stream_truncate(c->stream, n, err);
}

int st_chain_decode(st_chain *c, const st_decoding *d, stretto_error *err) {
    uint32_t n = c->stream->n_past;
    st_pass *pass = c->pass, *next = c->ahead;
    int code = check_input(c, &d->first, 1, err);
    memset(c->busy_ns, 0, c->n_chunks * sizeof *c->busy_ns);
    if (!code && d->n > c->n_ctx - n) code = no_room(c, d->n, err);
    if (!code) code = submit_step(c, pass, d, NULL, err);
    if (code) return code;
    for (uint32_t step = 0; step < d->n; step++) {
        stretto_error later = {0};
        int submitted = step + 1 < d->n ? submit_step(c, next, d, pass, &later) : STRETTO_OK;
        code = settle(c, pass, err);
        if (code) {
            st_pass_wait(next, NULL);
            c->stream->n_past = n;
            return code;
        }
        n++;
        if (d->on_id && d->on_id(d->arg, st_pass_chosen(pass, 0))) return give_up(c, next, n, err);
        if (submitted) return st_fail(err, submitted, "%s", later.text);
        st_pass *done = pass;
        pass = next;
        next = done;
    }
    return STRETTO_OK;
}

int32_t st_chain_argmax(const st_chain *c) {
    return st_pass_chosen(c->last, c->last_wanted);
}
const float *st_chain_logits(const st_chain *c) {
    return st_pass_logits(c->last, c->last_wanted);
}
uint32_t st_chain_length(const st_chain *c) {
    return c->stream->n_past;
}
uint32_t st_chain_batch(const st_chain *c) {
    return c->max_batch;
}
uint32_t st_chain_ctx(const st_chain *c) {
    return c->n_ctx;
}
uint64_t st_chain_kv_bytes(const st_chain *c) {
    return st_stream_kv_bytes(c->stream);
}
int st_chain_truncate(st_chain *c, uint32_t n, stretto_error *err) {
    return st_stream_truncate(c->stream, n, err);
}
void st_chain_reset(st_chain *c) {
    st_stream_reset(c->stream);
}
uint32_t st_chain_n_chunks(const st_chain *c) {
    return c->n_chunks;
}
const st_chunk *st_chain_chunk(const st_chain *c, uint32_t i) {
    return &c->chunks[i];
}
st_unit *st_chain_unit(const st_chain *c, uint32_t i) {
    return c->placement->units[i];
}

void st_chain_times(const st_chain *c, uint32_t i, uint64_t *start_ns, uint64_t *end_ns) {
    st_pass_times(c->pass, i, start_ns, end_ns);
}

uint64_t st_chain_busy_ns(const st_chain *c, uint32_t i) {
    return c->busy_ns[i];
}
