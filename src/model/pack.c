/* SPDX-License-Identifier: MIT
 * Repacking all matrices of a model into the kernels' layout, on all workers of a pool. */
#include "model/bind.h"
#include "model/finite.h"

#include "base/error.h"

#include <stdlib.h>

#define TASK_BYTES (1u << 20) /* of source rows a worker takes at a time */

typedef struct pack_job {
    st_binder *bind;
    size_t *first_task;       /* [n_packs + 1] number of the first task of each matrix */
    atomic_size_t next;       /* task to take */
    atomic_uint_fast64_t bad; /* place_of the first row with a weight that is not finite, NO_PLACE: none */
} pack_job;

#define NO_PLACE UINT64_MAX

/* A row of a matrix, in the order of tasks. */
static uint64_t place_of(size_t pack, uint32_t row) {
    return (uint64_t)pack << 32 | row;
}

static uint32_t task_strips(const st_pack *pack) {
    size_t strip = ST_STRIP * (pack->tensor->bytes / pack->matrix->rows);
    return strip >= TASK_BYTES ? 1 : (uint32_t)(TASK_BYTES / strip);
}

/* Packs strips lo..hi-1, checking each one's source while it is in cache; false: *bad_row has a weight that is no
 * number. */
static bool pack_strips(const st_pack *pack, uint8_t *data, uint32_t lo, uint32_t hi, uint32_t *bad_row) {
    const st_matrix *m = pack->matrix;
    const st_tensor *t = pack->tensor;
    size_t row_bytes = t->bytes / m->rows;
    for (uint32_t strip = lo; strip < hi; strip++) {
        uint32_t row = strip * ST_STRIP, n = m->rows - row < ST_STRIP ? m->rows - row : ST_STRIP;
        const uint8_t *src = t->data + row * row_bytes;
        for (uint32_t r = 0; r < n; r++)
            if (!st_row_finite(t->type, src + r * row_bytes, m->cols)) {
                *bad_row = row + r;
                return false;
            }
        m->format->pack(data + strip * m->strip_bytes, src, row_bytes, n, m->cols);
    }
    return true;
}

/* The kernel may take back the source pages of strips lo..hi-1: packed weights and mapped ones are never both resident.
 */
static void drop_strips(const st_binder *bind, const st_pack *pack, uint32_t lo, uint32_t hi) {
    size_t row_bytes = pack->tensor->bytes / pack->matrix->rows;
    uint32_t end = hi * ST_STRIP < pack->matrix->rows ? hi * ST_STRIP : pack->matrix->rows;
    st_tensor part = *pack->tensor;
    part.data += lo * ST_STRIP * row_bytes;
    part.bytes = (end - lo * ST_STRIP) * row_bytes;
    st_gguf_drop(bind->gguf, &part);
}

static size_t pack_of_task(const pack_job *job, size_t task) {
    size_t lo = 0, hi = job->bind->n_packs;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (job->first_task[mid] <= task)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Of the rows that workers find, the first stays, whoever found it and when. */
static void note_bad(pack_job *job, uint64_t place) {
    uint_fast64_t seen = atomic_load(&job->bad);
    while (place < seen && !atomic_compare_exchange_weak(&job->bad, &seen, place)) {
    }
}

static bool stopped(const pack_job *job) {
    return job->bind->stop && atomic_load_explicit(job->bind->stop, memory_order_relaxed);
}

#define SETTLE_PARTS 256u /* of a worker's share of the huge pages: of 64 GiB still only some milliseconds' worth */

static void settle_share(const pack_job *job, const st_worker *worker) {
    const st_region *weights = &job->bind->model->weights;
    bool good = true;
    for (unsigned i = 0; i < SETTLE_PARTS && good && !stopped(job); i++)
        good = st_region_settle(weights, worker->id * SETTLE_PARTS + i, worker->count * SETTLE_PARTS);
}

static void pack_worker(void *arg, const st_worker *worker) {
    pack_job *job = arg;
    st_binder *bind = job->bind;
    settle_share(job, worker);
    st_worker_sync(worker); /* no worker's weights land on small pages of another's part */
    while (!stopped(job)) {
        size_t task = atomic_fetch_add(&job->next, 1);
        if (task >= job->first_task[bind->n_packs]) return;
        size_t i = pack_of_task(job, task);
        const st_pack *pack = &bind->packs[i];
        uint32_t step = task_strips(pack), lo = (uint32_t)(task - job->first_task[i]) * step;
        uint32_t strips = st_matrix_strips(pack->matrix), hi = strips - lo < step ? strips : lo + step, bad_row = 0;
        if (place_of(i, lo * ST_STRIP) >= atomic_load(&job->bad)) return;
        if (!pack_strips(pack, bind->model->weights.data + pack->offset, lo, hi, &bad_row)) {
            note_bad(job, place_of(i, bad_row));
            return;
        }
        drop_strips(bind, pack, lo, hi);
    }
}

static void pack_run(pack_job *job, st_pool *pool) {
    st_worker alone = st_worker_alone();
    if (pool)
        st_pool_run(pool, pack_worker, job);
    else
        pack_worker(job, &alone);
}

/* Once more all of it: a fault maps the pages around it, too, also those that were given back before, and strips that
 * share a page leave it. What lies between the tensors comes back when it is read. */
static void drop_all(const st_binder *bind) {
    if (bind->n_packs == 0) return;
    st_tensor all = *bind->packs[0].tensor;
    const uint8_t *start = all.data, *end = start;
    for (size_t i = 0; i < bind->n_packs; i++) {
        const st_tensor *t = bind->packs[i].tensor;
        if (t->data < start) start = t->data;
        if (t->data + t->bytes > end) end = t->data + t->bytes;
    }
    all.data = start;
    all.bytes = (uint64_t)(end - start);
    st_gguf_drop(bind->gguf, &all);
}

int st_bind_pack(st_binder *bind, st_pool *pool, stretto_error *err) {
    int code = st_region_map(&bind->model->weights, "stretto-weights", bind->region_bytes, err);
    if (code) return code;
    size_t *first = calloc(bind->n_packs + 1, sizeof *first);
    if (!first) return st_fail_memory(err, "list of packing tasks", (bind->n_packs + 1) * sizeof *first);
    for (size_t i = 0; i < bind->n_packs; i++) {
        uint32_t step = task_strips(&bind->packs[i]);
        first[i + 1] = first[i] + (st_matrix_strips(bind->packs[i].matrix) + step - 1) / step;
        bind->packs[i].matrix->data = bind->model->weights.data + bind->packs[i].offset;
    }
    pack_job job = {.bind = bind, .first_task = first, .next = 0, .bad = NO_PLACE};
    pack_run(&job, pool);
    free(first);
    if (stopped(&job)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while loading the weights");
    const uint64_t bad = atomic_load(&job.bad);
    if (bad != NO_PLACE) return st_not_finite(bind->gguf, bind->packs[bad >> 32].tensor, (uint32_t)bad, err);
    drop_all(bind);
    return STRETTO_OK;
}
