/* SPDX-License-Identifier: MIT
 * Stand-alone steps: one chunk of a chain that runs again and again on the same inputs. */
#include "device/chain_impl.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/min.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT_ROWS 64 /* of a call that reads earlier positions: a matrix is read once for all of them */

struct st_chunk_step {
    const st_chunk *chunk;
    uint32_t n_chunks; /* chunks 0..n_chunks-1 have KV here; the last is the one that runs */
    uint32_t n_rows;
    uint32_t max_rows; /* of a call, those included that read what comes before */
    st_kv **kv;        /* [n_chunks] */
    st_kv **rows;      /* [max_rows] */
    st_scratch *scratch;
    float *input;     /* [n_rows][d_model] what the chunk before has produced */
    float *hidden;    /* [max_rows][d_model] */
    float *ple;       /* [max_rows][ple stride] */
    float *logits;    /* [n_rows][logits stride] */
    int32_t *ids;     /* [n_ids] */
    uint32_t *pos;    /* [max_rows] */
    int32_t *argmax;  /* [n_rows] */
    uint32_t *wanted; /* [max_rows] */
    st_batch batch;
    st_step step;
};

static int step_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    const st_chunk_step *s = arg;
    if (!s->batch.embed) {
        if (worker->id == 0)
            memcpy(s->hidden, s->input, (size_t)s->n_rows * s->chunk->model->d_model * sizeof *s->hidden);
        st_worker_sync(worker);
    }
    st_chunk_forward(s->chunk, s->scratch, &s->batch, worker);
    return 0;
}

static int make_kv(st_chunk_step *s, const st_chain *chain, uint32_t n_ids, stretto_error *err) {
    s->kv = calloc(s->n_chunks, sizeof *s->kv);
    if (!s->kv) return st_fail_memory(err, "KV", s->n_chunks * sizeof *s->kv);
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        const st_chunk *chunk = &chain->chunks[c];
        int code = st_kv_create(&s->kv[c], chain->model, chunk->span, chain->kv_type, n_ids, n_ids, err);
        if (code) return code;
        for (uint32_t b = 0; b < chunk->n_borrowed; b++)
            for (uint32_t j = 0; j < c; j++)
                if (s->kv[j]->visible[chunk->borrowed[b]]) st_kv_borrow(s->kv[c], chunk->borrowed[b], s->kv[j]);
    }
    return 0;
}

static int make_buffers(st_chunk_step *s, const st_chain *chain, const int32_t *ids, uint32_t n_ids,
                        stretto_error *err) {
    const st_model *m = chain->model;
    size_t n = s->n_rows, most = s->max_rows;
    s->input = st_alloc(n * m->d_model, sizeof *s->input);
    s->hidden = st_alloc(most * m->d_model, sizeof *s->hidden);
    s->ple = st_alloc(most * st_ple_stride(m) + 1, sizeof *s->ple);
    s->logits = st_alloc(s->chunk->head ? n * st_logits_stride(m) : 1, sizeof *s->logits);
    s->ids = calloc(n_ids, sizeof *s->ids);
    s->pos = calloc(most, sizeof *s->pos);
    s->argmax = calloc(n, sizeof *s->argmax);
    s->wanted = calloc(most, sizeof *s->wanted);
    s->rows = calloc(most, sizeof *s->rows);
    if (!s->input || !s->hidden || !s->ple || !s->logits || !s->ids || !s->pos || !s->argmax || !s->wanted || !s->rows)
        return st_fail_memory(err, "chunk step", (2 * most * m->d_model + n * st_logits_stride(m)) * sizeof(float));
    memcpy(s->ids, ids, n_ids * sizeof *ids);
    return 0;
}

static void set_rows(st_chunk_step *s, uint32_t first, uint32_t n, st_kv *kv) {
    for (uint32_t r = 0; r < n; r++) {
        s->pos[r] = first + r;
        s->rows[r] = kv;
        s->wanted[r] = r;
    }
    s->batch.n = n;
    s->batch.ids = s->ids + first;
}

/* Runs chunks 0..n-1 over n_rows ids from `first` on, on this thread. */
static void run_before(st_chunk_step *s, const st_chain *chain, uint32_t n, uint32_t first, uint32_t n_rows) {
    st_worker alone = st_worker_alone();
    s->batch.n_wanted = 0;
    for (uint32_t c = 0; c < n; c++) {
        set_rows(s, first, n_rows, s->kv[c]);
        s->batch.embed = c == 0;
        st_chunk_forward(&chain->chunks[c], s->scratch, &s->batch, &alone);
    }
}

/* Earlier positions into the KV, the input of the last rows, then everything as the step itself will need it. A long
 * context takes a while: STRETTO_E_STOPPED when the chain is to stop. */
static int warm_up(st_chunk_step *s, const st_chain *chain, uint32_t n_ids, stretto_error *err) {
    uint32_t first = n_ids - s->n_rows;
    for (uint32_t at = 0; at < first;) {
        uint32_t n = st_min_u32(first - at, s->max_rows);
        if (chain->stop && atomic_load_explicit(chain->stop, memory_order_relaxed))
            return st_fail(err, STRETTO_E_STOPPED, "stopped after %u of %u tokens of context", at, first);
        run_before(s, chain, s->n_chunks, at, n);
        at += n;
    }
    run_before(s, chain, s->n_chunks - 1, first, s->n_rows);
    memcpy(s->input, s->hidden, (size_t)s->n_rows * chain->model->d_model * sizeof *s->input);
    set_rows(s, first, s->n_rows, s->kv[s->n_chunks - 1]);
    s->batch.embed = s->n_chunks == 1;
    s->batch.n_wanted = s->chunk->head ? s->n_rows : 0;
    return 0;
}

static uint32_t most_threads(const st_chain *chain) {
    uint32_t threads = 1;
    for (uint32_t i = 0; i < chain->n_chunks; i++) {
        st_unit_info info;
        st_unit_info_get(chain->placement->units[i], &info);
        if (info.n_threads > threads) threads = info.n_threads;
    }
    return threads;
}

static uint64_t kv_bytes(const st_chunk_step *s, const st_chain *chain, uint32_t n_ids) {
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < s->n_rows; r++)
        bytes += st_kv_read_bytes(chain->model, s->chunk->span, chain->kv_type, n_ids - s->n_rows + r);
    return bytes;
}

static int fill(st_chunk_step *s, const st_chain *chain, const int32_t *ids, uint32_t n_ids, uint32_t max_threads,
                stretto_error *err) {
    int code = make_kv(s, chain, n_ids, err);
    if (!code) code = make_buffers(s, chain, ids, n_ids, err);
    if (!code) code = st_scratch_create(&s->scratch, chain->chunks, s->n_chunks, s->max_rows, max_threads, err);
    if (code) return code;
    s->batch = (st_batch){.pos = s->pos,
                          .kv = s->rows,
                          .hidden = s->hidden,
                          .ple = s->ple,
                          .wanted = s->wanted,
                          .logits = s->logits,
                          .argmax = s->argmax};
    code = warm_up(s, chain, n_ids, err);
    if (code) return code;
    s->step = (st_step){.name = s->chunk->step_name,
                        .run = step_run,
                        .arg = s,
                        .bytes = s->chunk->bytes + kv_bytes(s, chain, n_ids),
                        .operations = s->chunk->operations * s->n_rows};
    return 0;
}

int st_chunk_step_create(st_chunk_step **out, const st_chain *chain, uint32_t i, const int32_t *ids, uint32_t n_ids,
                         uint32_t n_rows, uint32_t max_threads, stretto_error *err) {
    *out = NULL;
    if (i >= chain->n_chunks)
        return st_fail(err, STRETTO_E_USAGE, "no chunk %u: the model has %u (1 to %u)", i + 1, chain->n_chunks,
                       chain->n_chunks);
    if (n_rows == 0 || n_rows > n_ids || n_ids > chain->n_ctx)
        return st_fail(err, STRETTO_E_USAGE,
                       "a step of %u rows over %u ids: expected 1 <= rows <= ids <= %u (the context)", n_rows, n_ids,
                       chain->n_ctx);
    for (uint32_t t = 0; t < n_ids; t++)
        if (ids[t] < 0 || (uint32_t)ids[t] >= chain->model->n_vocab)
            return st_fail(err, STRETTO_E_INPUT, "token id %d is not in the vocabulary of %u", ids[t],
                           chain->model->n_vocab);
    st_chunk_step *s = calloc(1, sizeof *s);
    if (!s) return st_fail_memory(err, "chunk step", sizeof *s);
    s->chunk = &chain->chunks[i];
    s->n_chunks = i + 1;
    s->n_rows = n_rows;
    uint32_t before = st_min_u32(n_ids - n_rows, CONTEXT_ROWS);
    s->max_rows = before > n_rows ? before : n_rows;
    int code = fill(s, chain, ids, n_ids, max_threads ? max_threads : most_threads(chain), err);
    if (code) {
        st_chunk_step_free(s);
        return code;
    }
    *out = s;
    return 0;
}

void st_chunk_step_free(st_chunk_step *s) {
    if (!s) return;
    for (uint32_t c = s->kv ? s->n_chunks : 0; c-- > 0;) st_kv_free(s->kv[c]);
    free(s->kv);
    free(s->rows);
    st_scratch_free(s->scratch);
    st_free(s->input);
    st_free(s->hidden);
    st_free(s->ple);
    st_free(s->logits);
    free(s->ids);
    free(s->pos);
    free(s->argmax);
    free(s->wanted);
    free(s);
}

const st_step *st_chunk_step_get(const st_chunk_step *step) {
    return &step->step;
}
const float *st_chunk_step_logits(const st_chunk_step *step) {
    return step->logits;
}
