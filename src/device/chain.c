/* SPDX-License-Identifier: MIT */
#include "device/chain_impl.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CTX 4096
#define DEFAULT_BATCH 256

static int chunk_step_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    const st_chunk_call *call = arg;
    st_chunk_forward(call->chunk, call->scratch, &call->batch, worker);
    return 0;
}

/* One queue a unit; chunks on the same unit share it. */
static int open_queues(st_chain *c, stretto_error *err) {
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        uint32_t same = 0;
        while (same < i && c->calls[same].unit != c->calls[i].unit) same++;
        if (same < i) {
            c->calls[i].queue = c->calls[same].queue;
            continue;
        }
        int code = st_queue_open(c->calls[i].unit, &c->calls[i].queue, err);
        if (code) return code;
        c->calls[i].owns_queue = true;
    }
    return 0;
}

static int open_kv(st_chain *c, stretto_error *err) {
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        const st_chunk *chunk = &c->chunks[i];
        st_chunk_call *call = &c->calls[i];
        int code = st_kv_create(&call->kv, c->model, chunk->span, c->kv_type, c->n_ctx, c->max_batch, err);
        if (code) return code;
        for (uint32_t b = 0; b < chunk->n_borrowed; b++)
            for (uint32_t j = 0; j < i; j++)
                if (chunk->borrowed[b] >= c->chunks[j].span.first && chunk->borrowed[b] <= c->chunks[j].span.last)
                    st_kv_borrow(call->kv, chunk->borrowed[b], c->calls[j].kv);
        call->rows = calloc(c->max_batch, sizeof *call->rows);
        if (!call->rows) return st_fail_memory(err, "rows", c->max_batch * sizeof *call->rows);
        for (uint32_t r = 0; r < c->max_batch; r++) call->rows[r] = call->kv;
    }
    return 0;
}

static int open_buffers(st_chain *c, stretto_error *err) {
    const st_model *m = c->model;
    uint32_t threads = 1;
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        st_unit_info info;
        st_unit_info_get(c->calls[i].unit, &info);
        if (info.n_threads > threads) threads = info.n_threads;
    }
    c->hidden = st_alloc((size_t)c->max_batch * m->d_model, sizeof *c->hidden);
    c->ple = st_alloc(c->max_batch * st_ple_stride(m) + 1, sizeof *c->ple);
    c->logits = st_alloc(c->max_logits * st_logits_stride(m), sizeof *c->logits);
    c->ids = calloc(c->max_batch, sizeof *c->ids);
    c->pos = calloc(c->max_batch, sizeof *c->pos);
    c->argmax = calloc(c->max_logits, sizeof *c->argmax);
    c->wanted = calloc(c->max_logits, sizeof *c->wanted);
    if (!c->hidden || !c->ple || !c->logits || !c->ids || !c->pos || !c->argmax || !c->wanted)
        return st_fail_memory(err, "chain", (uint64_t)c->max_batch * m->d_model + c->max_logits * st_logits_stride(m));
    return st_scratch_create(&c->scratch, c->chunks, c->n_chunks, c->max_batch, threads, err);
}

static void bind_calls(st_chain *c, const st_trace *trace) {
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        st_chunk_call *call = &c->calls[i];
        call->chunk = &c->chunks[i];
        call->scratch = c->scratch;
        call->batch = (st_batch){.ids = c->ids,
                                 .pos = c->pos,
                                 .kv = call->rows,
                                 .hidden = c->hidden,
                                 .embed = i == 0,
                                 .ple = c->ple,
                                 .wanted = c->wanted,
                                 .logits = c->logits,
                                 .argmax = c->argmax,
                                 .trace = trace};
        call->step = (st_step){.name = call->chunk->name,
                               .run = chunk_step_run,
                               .arg = call,
                               .bytes = call->chunk->bytes,
                               .operations = call->chunk->operations};
        st_event_init(&call->event);
    }
}

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
    c->chunks = calloc(c->n_chunks, sizeof *c->chunks);
    c->calls = calloc(c->n_chunks, sizeof *c->calls);
    if (!c->chunks || !c->calls) return st_fail_memory(err, "chain", c->n_chunks * sizeof *c->calls);
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        st_unit_info info;
        c->calls[i].unit = o->units[i];
        st_unit_info_get(o->units[i], &info);
        if (!info.shares_memory)
            return st_fail(err, STRETTO_E_USAGE, "unit %s does not share memory with the host, so chunk %u cannot run there",
                           info.name, i + 1);
    }
    return 0;
}

int st_chain_open(st_chain **out, const st_chain_options *options, stretto_error *err) {
    *out = NULL;
    st_chain *c = calloc(1, sizeof *c);
    if (!c) return st_fail_memory(err, "chain", sizeof *c);
    c->model = options->model;
    c->kv_type = options->kv_type;
    c->stop = options->stop;
    int code = set_sizes(c, options, err);
    if (!code) {
        st_chunks_describe(c->chunks, options->spans, c->n_chunks, c->model);
        code = open_queues(c, err);
    }
    if (!code) code = open_kv(c, err);
    if (!code) code = open_buffers(c, err);
    if (code) {
        st_chain_close(c);
        return code;
    }
    bind_calls(c, options->trace);
    *out = c;
    return 0;
}

void st_chain_close(st_chain *c) {
    if (!c) return;
    for (uint32_t i = 0; c->calls && i < c->n_chunks; i++)
        if (c->calls[i].owns_queue) st_queue_close(c->calls[i].queue);
    for (uint32_t i = c->calls ? c->n_chunks : 0; i-- > 0;) {
        st_kv_free(c->calls[i].kv);
        free(c->calls[i].rows);
    }
    st_scratch_free(c->scratch);
    st_free(c->hidden);
    st_free(c->ple);
    st_free(c->logits);
    free(c->ids);
    free(c->pos);
    free(c->argmax);
    free(c->wanted);
    free(c->calls);
    free(c->chunks);
    free(c);
}

/* Submits all chunks, each after the one before, and waits once. What was submitted is waited for in every case. */
static int run_calls(st_chain *c, stretto_error *err) {
    uint32_t n = 0;
    int code = 0;
    for (; n < c->n_chunks && !code; n++) {
        st_event *before = n ? &c->calls[n - 1].event : NULL;
        code = st_submit(c->calls[n].queue, &c->calls[n].step, n ? &before : NULL, n ? 1 : 0, &c->calls[n].event, err);
    }
    if (code) {
        stretto_error ignored;
        for (uint32_t i = 0; i + 1 < n; i++) st_event_wait(&c->calls[i].event, &ignored);
        return code;
    }
    /* One sleep, for the end of the last step. An earlier event may still be on its way to being marked done: whoever
     * completes it tells those that depend on it first. */
    code = st_event_wait(&c->calls[c->n_chunks - 1].event, err);
    for (uint32_t i = 0; i + 1 < c->n_chunks; i++) st_event_wait(&c->calls[i].event, NULL);
    return code;
}

static int check_input(const st_chain *c, const int32_t *ids, uint32_t n, stretto_error *err) {
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->n_vocab)
            return st_fail(err, STRETTO_E_INPUT, "token id %d at position %u is not in the vocabulary of %u", ids[i],
                           c->n_past + i, c->model->n_vocab);
    if (n > c->n_ctx - c->n_past)
        return st_fail(err, STRETTO_E_INPUT, "%u tokens do not fit: the context holds %u, of which %u are used (%u too many)", n,
                       c->n_ctx, c->n_past, n - (c->n_ctx - c->n_past));
    return 0;
}

/* One micro-batch of n ids with n_wanted rows of logits, the last ones. */
static int forward_batch(st_chain *c, const int32_t *ids, uint32_t n, uint32_t n_wanted, stretto_error *err) {
    for (uint32_t i = 0; i < n; i++) {
        c->ids[i] = ids[i];
        c->pos[i] = c->n_past + i;
    }
    for (uint32_t i = 0; i < n_wanted; i++) c->wanted[i] = n - n_wanted + i;
    for (uint32_t i = 0; i < c->n_chunks; i++) {
        c->calls[i].batch.n = n;
        c->calls[i].batch.n_wanted = n_wanted;
    }
    /* Before the run: one that fails half-way has stored something too. */
    if (c->n_past + n > c->n_stored) c->n_stored = c->n_past + n;
    int code = run_calls(c, err);
    if (code) return code;
    c->n_past += n;
    if (n_wanted) c->last_wanted = n_wanted - 1;
    return 0;
}

static int hand_over(st_chain *c, uint32_t n_wanted, st_logits_fn fn, void *arg, stretto_error *err) {
    for (uint32_t i = 0; fn && i < n_wanted; i++)
        if (fn(arg, c->n_past - n_wanted + i, c->logits + i * st_logits_stride(c->model), c->argmax[i]))
            return st_fail(err, STRETTO_E_STOPPED, "stopped");
    return 0;
}

int st_chain_forward(st_chain *c, const int32_t *ids, uint32_t n, enum st_want want, st_logits_fn fn, void *arg,
                     stretto_error *err) {
    int code = check_input(c, ids, n, err);
    uint32_t step = want == ST_WANT_ALL ? c->max_logits : c->max_batch;
    for (uint32_t done = 0; done < n && !code;) {
        uint32_t m = n - done < step ? n - done : step;
        if (c->stop && atomic_load_explicit(c->stop, memory_order_relaxed))
            return st_fail(err, STRETTO_E_STOPPED, "stopped");
        uint32_t wanted = want == ST_WANT_ALL ? m : want == ST_WANT_LAST && done + m == n ? 1 : 0;
        code = forward_batch(c, ids + done, m, wanted, err);
        if (!code) code = hand_over(c, wanted, fn, arg, err);
        done += m;
    }
    return code;
}

int32_t st_chain_argmax(const st_chain *c) { return c->argmax[c->last_wanted]; }
const float *st_chain_logits(const st_chain *c) { return c->logits + c->last_wanted * st_logits_stride(c->model); }
uint32_t st_chain_length(const st_chain *c) { return c->n_past; }
uint32_t st_chain_ctx(const st_chain *c) { return c->n_ctx; }

uint64_t st_chain_kv_bytes(const st_chain *c) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->n_chunks; i++) bytes += c->calls[i].kv->bytes;
    return bytes;
}

int st_chain_truncate(st_chain *c, uint32_t n, stretto_error *err) {
    if (n > c->n_past) return st_fail(err, STRETTO_E_USAGE, "cannot go back to position %u from %u", n, c->n_past);
    for (uint32_t i = 0; i < c->n_chunks; i++)
        for (uint32_t l = c->chunks[i].span.first; l <= c->chunks[i].span.last; l++) {
            uint32_t window = c->model->layers[l].window, capacity = c->calls[i].kv->own[l - c->chunks[i].span.first].capacity;
            if (!window || !capacity || c->n_past <= capacity) continue;
            /* Position n sees n - window + 1 and later; the ring still holds the last `capacity` positions. */
            if ((uint64_t)n + capacity + 1 < (uint64_t)c->n_past + window)
                return st_fail(err, STRETTO_E_USAGE, "cannot go back to position %u: layer %u holds only the last %u of %u", n, l,
                               capacity, c->n_past);
        }
    c->n_past = n;
    return 0;
}

void st_chain_reset(st_chain *c) {
    for (uint32_t i = 0; i < c->n_chunks; i++) st_kv_reset(c->calls[i].kv, c->n_stored);
    c->n_past = c->n_stored = 0;
}

uint32_t st_chain_n_chunks(const st_chain *c) { return c->n_chunks; }
const st_chunk *st_chain_chunk(const st_chain *c, uint32_t i) { return &c->chunks[i]; }
st_unit *st_chain_unit(const st_chain *c, uint32_t i) { return c->calls[i].unit; }

void st_chain_times(const st_chain *c, uint32_t i, uint64_t *start_ns, uint64_t *end_ns) {
    *start_ns = c->calls[i].event.start_ns;
    *end_ns = c->calls[i].event.end_ns;
}
