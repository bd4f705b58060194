/* SPDX-License-Identifier: MIT
 * The forward of a chunk: transformer blocks over the rows of a batch, run by all workers of a team at once. Between
 * two syncs each worker writes only its own part: panels of rows in row-wise steps, strips of outputs in products,
 * heads in attention. */
#include "chunk/forward.h"

#include <string.h>

/* What still has to be added to the hidden state: proj, normed by `norm` if there is one; then all is scaled. Settled
 * by the next row-wise step, which saves a sync. */
typedef struct pending {
    bool add;
    const float *norm;
    float scale;
} pending;

bool st_forward_panel_mine(const st_forward *f, uint32_t panel) {
    return f->alone || panel % f->worker->count == f->worker->id;
}

st_rows st_forward_rows(const st_forward *f, const float *x, size_t stride, uint32_t width, uint32_t n) {
    return (st_rows){.x = x, .stride = stride, .n = n, .cols = width, .quant = f->quant};
}

/* Blocks lo..hi-1 of all rows. */
static void quantize_blocks(const st_forward *f, const st_rows *rows, uint32_t lo, uint32_t hi) {
    for (uint32_t p = 0; p < st_rows_panels(rows) && lo < hi; p++) {
        st_panel panel = st_rows_panel(rows, p);
        f->kern->quantize(&panel, lo, hi);
    }
}

void st_forward_quantize(const st_forward *f, const st_rows *rows) {
    uint32_t lo = 0, hi = (rows->cols + ST_QBLOCK - 1) / ST_QBLOCK;
    if (!f->alone) st_worker_range(f->worker, hi, &lo, &hi);
    quantize_blocks(f, rows, lo, hi);
    if (!f->alone) st_worker_sync(f->worker);
}

void st_forward_trace(const st_forward *f, enum st_trace_point point, uint32_t layer, const float *rows, uint32_t width,
                      size_t stride) {
    const st_trace *trace = f->batch->trace;
    if (!trace) return;
    if (f->worker->id == 0) trace->fn(trace->arg, point, layer, rows, f->batch->n, width, stride);
    st_worker_sync(f->worker);
}

static void settle_row(const st_forward *f, const pending *p, uint32_t row) {
    uint32_t d = f->model->d_model;
    float *x = f->x + (size_t)row * d;
    const float *add = f->s->proj + row * f->s->d_stride;
    if (p->norm) {
        float *normed = f->norm + row * f->s->d_stride;
        f->kern->rms_norm(normed, add, p->norm, d, f->model->eps);
        add = normed;
    }
    f->kern->add(x, add, d);
    if (p->scale != 1.0f) f->kern->scale(x, p->scale, d);
}

/* Settles rows lo..hi-1, and norms them where there is a weight. */
static void prepare_rows(const st_forward *f, const pending *p, const float *weight, uint32_t lo, uint32_t hi) {
    uint32_t d = f->model->d_model;
    size_t stride = f->s->d_stride;
    for (uint32_t row = lo; row < hi; row++) {
        if (p->add) settle_row(f, p, row);
        if (weight) f->kern->rms_norm(f->norm + row * stride, f->x + (size_t)row * d, weight, d, f->model->eps);
    }
}

/* Panels of rows, each by one worker to the end. */
static void prepare_panels(const st_forward *f, const pending *p, const float *weight, const st_rows *rows) {
    for (uint32_t panel = 0; panel < st_rows_panels(rows); panel++) {
        if (!st_forward_panel_mine(f, panel)) continue;
        uint32_t end = (panel + 1) * ST_PANEL < rows->n ? (panel + 1) * ST_PANEL : rows->n;
        prepare_rows(f, p, weight, panel * ST_PANEL, end);
        st_panel quant = st_rows_panel(rows, panel);
        f->kern->quantize(&quant, 0, st_panel_blocks(&quant));
    }
}

#define ROWS_WORTH_A_SYNC 4

/* Row-wise step before a product: settles, norms (weight NULL: not) and quantizes. With fewer panels than workers each
 * worker has rows first, then columns, which costs a sync more. Ends with a sync unless alone. */
static st_rows prepare(const st_forward *f, pending *p, const float *weight) {
    uint32_t d = f->model->d_model, n = f->batch->n, lo, hi;
    st_rows rows = weight ? st_forward_rows(f, f->norm, f->s->d_stride, d, n) : st_forward_rows(f, f->x, d, d, n);
    if (n >= ROWS_WORTH_A_SYNC && st_rows_panels(&rows) < f->worker->count) {
        st_worker_range(f->worker, n, &lo, &hi);
        prepare_rows(f, p, weight, lo, hi);
        st_worker_sync(f->worker);
        st_forward_quantize(f, &rows);
    } else {
        prepare_panels(f, p, weight, &rows);
        if (!f->alone) st_worker_sync(f->worker);
    }
    p->add = false;
    return rows;
}

/* Settles what is left, at the end of a chunk or for a trace. Ends with a sync. */
static void settle(const st_forward *f, pending *p) {
    uint32_t lo = 0, hi = f->batch->n;
    if (!f->alone) st_worker_range(f->worker, f->batch->n, &lo, &hi);
    prepare_rows(f, p, NULL, lo, hi);
    p->add = false;
    st_worker_sync(f->worker);
}

/* proj = matrix x rows. Ends with a sync, after which `next` is read. */
static void project(const st_forward *f, const st_matrix *matrix, const st_rows *rows, st_ahead next) {
    st_product out = {.matrix = matrix, .y = f->s->proj, .ldy = f->s->d_stride};
    st_products_run(f->kern, rows, &out, 1, 1, f->worker);
    st_worker_sync_ahead(f->worker, next);
}

static st_ahead matrix_ahead(const st_forward *f, const st_matrix *matrix) {
    st_product product = {.matrix = matrix};
    return st_products_ahead(&product, 1, 1, f->worker);
}

enum { GATE_ALIGN = ST_QBLOCK / ST_STRIP }; /* strips: their outputs are quantized in whole blocks */

static st_ahead gate_ahead(const st_forward *f, const st_matrix *gate) {
    st_product product = {.matrix = gate};
    return st_products_ahead(&product, 1, GATE_ALIGN, f->worker);
}

/* What is read after layer i. */
static st_ahead layer_ahead(const st_forward *f, uint32_t i) {
    const st_model *m = f->model;
    if (i == f->chunk->span.last) return f->chunk->head ? matrix_ahead(f, &m->head) : (st_ahead){NULL, 0};
    const st_layer *next = &m->layers[i + 1];
    st_product qkv[] = {{.matrix = &next->q}, {.matrix = &next->k}, {.matrix = &next->v}};
    return st_products_ahead(qkv, next->kv_layer == i + 1 ? 3 : 1, 1, f->worker);
}

/* gate = act(gate) * by, of this worker's blocks of all rows, and quantizes them. */
static void activate(const st_forward *f, const st_rows *rows, const float *by, size_t by_stride) {
    uint32_t lo, hi, width = rows->cols;
    st_worker_range(f->worker, (width + ST_QBLOCK - 1) / ST_QBLOCK, &lo, &hi);
    uint32_t from = lo * ST_QBLOCK, to = hi * ST_QBLOCK < width ? hi * ST_QBLOCK : width;
    if (from >= to) return;
    for (uint32_t row = 0; row < rows->n; row++)
        f->kern->gate(f->model->act, f->s->gate + row * rows->stride + from, by + row * by_stride + from, to - from);
    quantize_blocks(f, rows, lo, hi);
}

/* gate = act(gate_matrix x input) * by, quantized as the input of the next product; by is up_matrix x input where there
 * is one. A worker's part of both products is what it then goes on with. Ends with a sync, after which the matrix
 * `next` is read. */
static st_rows gated(const st_forward *f, const st_rows *input, const st_matrix *gate_matrix,
                     const st_matrix *up_matrix, const float *by, size_t by_stride, const st_matrix *next) {
    st_product products[] = {{gate_matrix, f->s->gate, f->s->ff_stride}, {up_matrix, f->s->up, f->s->ff_stride}};
    st_rows rows = {.x = f->s->gate,
                    .stride = f->s->ff_stride,
                    .n = f->batch->n,
                    .cols = gate_matrix->rows,
                    .quant = f->s->quant_gate};
    const st_ahead ahead = matrix_ahead(f, next);
    st_products_run(f->kern, input, products, up_matrix ? 2 : 1, GATE_ALIGN, f->worker);
    st_worker_sync_ahead(f->worker, ahead);
    activate(f, &rows, by, by_stride);
    st_worker_sync_ahead(f->worker, ahead);
    return rows;
}

static void feed_forward(const st_forward *f, const st_layer *layer, const st_rows *input, st_ahead next) {
    st_rows rows = gated(f, input, &layer->gate, &layer->up, f->s->up, f->s->ff_stride, &layer->down);
    project(f, &layer->down, &rows, next);
}

/* The per-layer input of Gemma 4: proj(act(gate(x)) * ple). */
static void per_layer_input(const st_forward *f, uint32_t i, const st_rows *input) {
    const st_layer *layer = &f->model->layers[i];
    const float *ple = f->batch->ple + (size_t)i * f->model->d_ple;
    st_rows rows = gated(f, input, &layer->ple_gate, NULL, ple, st_ple_stride(f->model), &layer->ple_proj);
    project(f, &layer->ple_proj, &rows, layer_ahead(f, i));
}

static void layer_run(const st_forward *f, uint32_t i, pending *p) {
    const st_layer *layer = &f->model->layers[i];
    st_rows input = prepare(f, p, layer->attn_norm);
    st_forward_attention(f, i, &input, gate_ahead(f, &layer->gate));
    st_forward_trace(f, ST_TRACE_ATTN, i, f->s->proj, f->model->d_model, f->s->d_stride);
    bool ple = layer->ple_gate.rows != 0;
    *p = (pending){.add = true, .norm = layer->post_attn_norm, .scale = 1.0f};
    input = prepare(f, p, layer->ffn_norm);
    feed_forward(f, layer, &input, ple ? gate_ahead(f, &layer->ple_gate) : layer_ahead(f, i));
    *p = (pending){.add = true, .norm = layer->post_ffn_norm, .scale = ple ? 1.0f : layer->out_scale};
    if (ple) {
        input = prepare(f, p, NULL);
        per_layer_input(f, i, &input);
        *p = (pending){.add = true, .norm = layer->ple_norm, .scale = layer->out_scale};
    }
    if (!f->batch->trace) return;
    settle(f, p);
    st_forward_trace(f, ST_TRACE_LAYER, i, f->batch->hidden, f->model->d_model, f->model->d_model);
}

/* Every worker but the first takes a copy of the one row; worker 0 works in the boundary itself. */
static void go_alone(st_forward *f) {
    const st_solo *own = &f->s->solo[f->worker->id];
    f->alone = true;
    f->norm = own->norm;
    f->quant = own->quant;
    if (f->worker->id == 0) return;
    memcpy(own->x, f->batch->hidden, f->model->d_model * sizeof *own->x);
    f->x = own->x;
}

void st_chunk_forward(const st_chunk *chunk, st_scratch *scratch, const st_batch *batch, const st_worker *worker) {
    const st_model *model = chunk->model;
    st_forward f = {.chunk = chunk,
                    .model = model,
                    .kern = model->kern,
                    .s = scratch,
                    .batch = batch,
                    .worker = worker,
                    .x = batch->hidden,
                    .norm = scratch->norm,
                    .quant = scratch->quant};
    pending p = {.add = false};
    st_forward_angles(&f);
    if (batch->embed) st_forward_embed(&f);
    if (batch->n == 1) go_alone(&f);
    st_worker_sync(worker); /* angles are there, and every copy is made before worker 0 changes the row */
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++) layer_run(&f, i, &p);
    settle(&f, &p);
    if (chunk->head && batch->n_wanted) st_forward_head(&f);
}
