/* SPDX-License-Identifier: MIT */
#include "device/pass.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* One chunk of a pass as a step: what it runs, on what, where. */
typedef struct call {
    st_pass *pass;
    st_queue *queue;
    bool owns_queue;
    uint32_t last_reader; /* chunk that is the last to read KV which this one writes */
    st_kv **kv;           /* [max_rows] */
    st_batch batch;
    st_step step;
    st_event event;
} call;

/* A row whose token the stream's pass before chooses. */
typedef struct feed {
    const st_stream *stream;
    uint32_t row;
} feed;

/* How the token after a wanted row is chosen, and whose next one it is. */
typedef struct pick {
    st_pick_fn fn; /* NULL: argmax */
    void *arg;
    st_stream *stream; /* NULL when a later row of the same stream is wanted, too */
} pick;

/* Whether a row's numbers are any. */
enum { ROW_FINE, ROW_WEIGHTS, ROW_LOGITS };

struct st_pass {
    st_placement *placement;
    uint32_t max_rows, max_logits, n_rows, n_wanted, n_fed, n_after;
    bool in_flight;
    call *calls;      /* [n_chunks] */
    float *hidden;    /* [max_rows][d_model] */
    float *ple;       /* [max_rows][ple stride] */
    float *logits;    /* [max_logits][logits stride] */
    int32_t *ids;     /* [max_rows] */
    uint32_t *pos;    /* [max_rows] */
    uint8_t *fault;   /* [max_rows] ROW_FINE, or why its numbers are lost */
    int32_t *chosen;  /* [max_logits] */
    uint32_t *wanted; /* [max_logits] */
    feed *fed;        /* [max_rows] */
    pick *picks;      /* [max_logits] */
    struct {
        st_pass *pass;
        bool whole; /* the first chunk waits for its last one */
    } after[ST_PASS_MAX_AFTER];
};

/* ---- what the units run ---- */

static void take_fed(const st_pass *p, const st_worker *worker) {
    if (worker->id == 0)
        for (uint32_t i = 0; i < p->n_fed; i++) p->ids[p->fed[i].row] = p->fed[i].stream->next_id;
    st_worker_sync(worker);
}

/* The row's own worker writes what it chose, as several may choose at once. */
static void run_picks(const st_pass *p, const st_worker *worker) {
    size_t stride = st_logits_stride(p->placement->model);
    for (uint32_t i = worker->id; i < p->n_wanted; i += worker->count) {
        const pick *own = &p->picks[i];
        if (own->fn) p->chosen[i] = own->fn(own->arg, p->logits + i * stride, p->chosen[i]);
        if (own->stream) own->stream->next_id = p->chosen[i];
    }
}

/* Worker 0 looks at the rows, after all have done their share. A token's own weights can be no numbers, and weights
 * that are numbers may still overflow on the way: then every logit of a row is lost. What one row has lost is nothing
 * to those of other streams. */
static void check_rows(const st_pass *p, const call *c, uint32_t chunk) {
    const st_scratch *scratch = p->placement->scratch[chunk];
    for (uint32_t i = 0; c->batch.embed && i < p->n_rows; i++)
        p->fault[i] = st_model_check_row(p->placement->model, p->ids[i], NULL) ? ROW_WEIGHTS : ROW_FINE;
    for (uint32_t i = 0; chunk + 1 == p->placement->n_chunks && i < p->n_wanted; i++) {
        uint8_t *fault = &p->fault[p->wanted[i]];
        if (*fault == ROW_FINE && !isfinite(st_scratch_best(scratch, i))) *fault = ROW_LOGITS;
    }
}

static int call_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    const call *c = arg;
    const st_pass *p = c->pass;
    uint32_t chunk = (uint32_t)(c - p->calls);
    if (p->n_fed && c->batch.embed) take_fed(p, worker);
    st_chunk_forward(&p->placement->chunks[chunk], p->placement->scratch[chunk], &c->batch, worker);
    if (worker->id == 0) check_rows(p, c, chunk);
    if (chunk + 1 == p->placement->n_chunks) run_picks(p, worker);
    return STRETTO_OK;
}

/* ---- opening ---- */

/* One queue a unit; chunks on the same unit share it. */
static int open_queues(st_pass *p, stretto_error *err) {
    for (uint32_t i = 0; i < p->placement->n_chunks; i++) {
        uint32_t same = 0;
        while (p->placement->units[same] != p->placement->units[i]) same++;
        if (same < i) {
            p->calls[i].queue = p->calls[same].queue;
            continue;
        }
        int code = st_queue_open(p->placement->units[i], &p->calls[i].queue, err);
        if (code) return code;
        p->calls[i].owns_queue = true;
    }
    return STRETTO_OK;
}

static int open_buffers(st_pass *p, stretto_error *err) {
    const st_model *m = p->placement->model;
    size_t rows = p->max_rows, logits = p->max_logits;
    p->hidden = st_alloc(rows * m->d_model, sizeof *p->hidden);
    p->ple = st_alloc(rows * st_ple_stride(m) + 1, sizeof *p->ple);
    p->logits = st_alloc(logits * st_logits_stride(m), sizeof *p->logits);
    p->ids = calloc(rows, sizeof *p->ids);
    p->pos = calloc(rows, sizeof *p->pos);
    p->fault = calloc(rows, sizeof *p->fault);
    p->chosen = calloc(logits, sizeof *p->chosen);
    p->wanted = calloc(logits, sizeof *p->wanted);
    p->fed = calloc(rows, sizeof *p->fed);
    p->picks = calloc(logits, sizeof *p->picks);
    bool good = p->hidden && p->ple && p->logits && p->ids && p->pos && p->fault && p->chosen && p->wanted && p->fed &&
                p->picks;
    for (uint32_t i = 0; i < p->placement->n_chunks && good; i++) {
        p->calls[i].kv = calloc(rows, sizeof *p->calls[i].kv);
        good = p->calls[i].kv != NULL;
    }
    if (good) return STRETTO_OK;
    return st_fail_memory(err, "pass", (rows * m->d_model + logits * st_logits_stride(m)) * sizeof(float));
}

static uint32_t last_reader(const st_placement *placement, uint32_t chunk) {
    const st_span *own = &placement->chunks[chunk].span;
    uint32_t last = chunk;
    for (uint32_t c = chunk + 1; c < placement->n_chunks; c++)
        for (uint32_t b = 0; b < placement->chunks[c].n_borrowed; b++) {
            uint32_t layer = placement->chunks[c].borrowed[b];
            if (layer >= own->first && layer <= own->last) last = c;
        }
    return last;
}

static void bind_calls(st_pass *p, const st_trace *trace) {
    for (uint32_t i = 0; i < p->placement->n_chunks; i++) {
        call *c = &p->calls[i];
        const st_chunk *chunk = &p->placement->chunks[i];
        c->pass = p;
        c->last_reader = last_reader(p->placement, i);
        c->batch = (st_batch){.ids = p->ids,
                              .pos = p->pos,
                              .kv = c->kv,
                              .hidden = p->hidden,
                              .embed = i == 0,
                              .ple = p->ple,
                              .wanted = p->wanted,
                              .logits = p->logits,
                              .argmax = p->chosen,
                              .trace = trace};
        c->step = (st_step){.name = chunk->step_name,
                            .run = call_run,
                            .arg = c,
                            .bytes = chunk->bytes,
                            .operations = chunk->operations};
        st_event_init(&c->event);
    }
}

int st_pass_open(st_pass **out, st_placement *placement, uint32_t max_rows, uint32_t max_logits, const st_trace *trace,
                 stretto_error *err) {
    *out = NULL;
    st_pass *p = calloc(1, sizeof *p);
    if (!p) return st_fail_memory(err, "pass", sizeof *p);
    p->placement = placement;
    p->max_rows = max_rows;
    p->max_logits = max_logits;
    p->calls = st_alloc(placement->n_chunks, sizeof *p->calls);
    int code = p->calls ? open_buffers(p, err) : st_fail_memory(err, "pass", placement->n_chunks * sizeof *p->calls);
    if (!code) {
        bind_calls(p, trace);
        code = open_queues(p, err);
    }
    if (code)
        st_pass_close(p);
    else
        *out = p;
    return code;
}

void st_pass_close(st_pass *p) {
    if (!p) return;
    st_pass_wait(p, NULL);
    for (uint32_t i = 0; p->calls && i < p->placement->n_chunks; i++) {
        if (p->calls[i].owns_queue) st_queue_close(p->calls[i].queue);
        free(p->calls[i].kv);
    }
    st_free(p->calls);
    st_free(p->hidden);
    st_free(p->ple);
    st_free(p->logits);
    free(p->ids);
    free(p->pos);
    free(p->fault);
    free(p->chosen);
    free(p->wanted);
    free(p->fed);
    free(p->picks);
    free(p);
}

/* ---- filling ---- */

void st_pass_clear(st_pass *p) {
    p->n_rows = p->n_wanted = p->n_fed = p->n_after = 0;
}

static void add_row(st_pass *p, st_stream *stream, int32_t id) {
    uint32_t row = p->n_rows++;
    p->ids[row] = id;
    p->pos[row] = stream->n_past++;
    for (uint32_t i = 0; i < p->placement->n_chunks; i++) p->calls[i].kv[row] = stream->kv[i];
}

void st_pass_add(st_pass *p, st_stream *stream, const int32_t *ids, uint32_t n, uint32_t n_wanted) {
    uint32_t first = p->n_rows;
    for (uint32_t i = 0; i < n; i++) add_row(p, stream, ids[i]);
    for (uint32_t i = n - n_wanted; i < n; i++) {
        p->picks[p->n_wanted] = (pick){.stream = i + 1 == n ? stream : NULL};
        p->wanted[p->n_wanted++] = first + i;
    }
    /* Before the run: one that fails half-way has stored something too. */
    if (stream->n_past > stream->n_stored) stream->n_stored = stream->n_past;
}

static void add_after(st_pass *p, st_pass *before, bool whole) {
    for (uint32_t i = 0; i < p->n_after; i++) {
        if (p->after[i].pass != before) continue;
        p->after[i].whole = p->after[i].whole || whole;
        return;
    }
    p->after[p->n_after].pass = before;
    p->after[p->n_after++].whole = whole;
}

void st_pass_add_fed(st_pass *p, st_stream *stream, st_pass *from) {
    static const int32_t unknown = 0;
    p->fed[p->n_fed++] = (feed){.stream = stream, .row = p->n_rows};
    st_pass_add(p, stream, &unknown, 1, 1);
    add_after(p, from, true);
}

void st_pass_pick(st_pass *p, st_pick_fn fn, void *arg) {
    p->picks[p->n_wanted - 1].fn = fn;
    p->picks[p->n_wanted - 1].arg = arg;
}

void st_pass_follow(st_pass *p, st_pass *before) {
    add_after(p, before, false);
}

/* ---- running ---- */

/* What chunk i waits for. */
static size_t list_deps(st_pass *p, uint32_t i, st_event **deps) {
    uint32_t last = p->placement->n_chunks - 1;
    size_t n = 0;
    if (i > 0) deps[n++] = &p->calls[i - 1].event;
    for (uint32_t a = 0; a < p->n_after; a++) {
        st_pass *before = p->after[a].pass;
        if (!p->after[a].whole)
            deps[n++] = &before->calls[p->calls[i].last_reader].event;
        else if (i == 0)
            deps[n++] = &before->calls[last].event;
    }
    return n;
}

int st_pass_submit(st_pass *p, stretto_error *err) {
    uint32_t n = 0;
    int code = STRETTO_OK;
    for (uint32_t i = 0; i < p->placement->n_chunks; i++) {
        p->calls[i].batch.n = p->n_rows;
        p->calls[i].batch.n_wanted = p->n_wanted;
    }
    for (; n < p->placement->n_chunks && !code; n++) {
        st_event *deps[ST_UNIT_MAX_DEPS];
        size_t n_deps = list_deps(p, n, deps);
        code = st_submit(p->calls[n].queue, &p->calls[n].step, deps, n_deps, &p->calls[n].event, err);
    }
    if (code) {
        for (uint32_t i = 0; i + 1 < n; i++) st_event_wait(&p->calls[i].event, NULL);
        return code;
    }
    p->in_flight = true;
    return STRETTO_OK;
}

/* One sleep, for the end of the last step. An earlier event may still be on its way to being marked done: whoever
 * completes it tells those that depend on it first. */
int st_pass_wait(st_pass *p, stretto_error *err) {
    if (!p->in_flight) return STRETTO_OK;
    uint32_t last = p->placement->n_chunks - 1;
    int code = st_event_wait(&p->calls[last].event, err);
    for (uint32_t i = 0; i < last; i++) st_event_wait(&p->calls[i].event, NULL);
    p->in_flight = false;
    return code;
}

int st_pass_check(const st_pass *p, uint32_t first, uint32_t n, stretto_error *err) {
    for (uint32_t row = first; row < first + n; row++) {
        if (p->fault[row] == ROW_WEIGHTS) return st_model_check_row(p->placement->model, p->ids[row], err);
        if (p->fault[row] == ROW_LOGITS)
            return st_fail(err, STRETTO_E_INPUT,
                           "the logits at position %u are no finite numbers: the weights overflow", p->pos[row]);
    }
    return STRETTO_OK;
}

bool st_pass_listen(st_pass *p, st_listener *listener) {
    return st_event_listen(&p->calls[p->placement->n_chunks - 1].event, listener);
}

uint32_t st_pass_rows(const st_pass *p) {
    return p->n_rows;
}
uint32_t st_pass_wanted(const st_pass *p) {
    return p->n_wanted;
}
int32_t st_pass_chosen(const st_pass *p, uint32_t wanted) {
    return p->chosen[wanted];
}

const float *st_pass_logits(const st_pass *p, uint32_t wanted) {
    return p->logits + wanted * st_logits_stride(p->placement->model);
}

void st_pass_times(const st_pass *p, uint32_t chunk, uint64_t *start_ns, uint64_t *end_ns) {
    *start_ns = p->calls[chunk].event.start_ns;
    *end_ns = p->calls[chunk].event.end_ns;
}
