/* SPDX-License-Identifier: MIT
 * The forward of a chunk: transformer blocks over the rows of a batch, run by all workers of a team at once. Between two
 * syncs each worker writes only its own part: panels of rows in row-wise steps, strips of outputs in products, heads in
 * attention. */
#include "chunk/forward.h"

/* What still has to be added to the hidden state: proj, normed by `norm` if there is one; then all is scaled. Settled by
 * the next row-wise step, which saves a sync. */
typedef struct pending {
    bool add;
    const float *norm;
    float scale;
} pending;

bool st_forward_panel_mine(const st_forward *f, uint32_t panel) { return panel % f->worker->count == f->worker->id; }

st_rows st_forward_rows(const st_forward *f, const float *x, size_t stride, uint32_t width, uint32_t n) {
    return (st_rows){.x = x, .stride = stride, .n = n, .cols = width, .quant = f->s->quant};
}

void st_forward_quantize(const st_forward *f, const st_rows *rows) {
    for (uint32_t p = 0; p < st_rows_panels(rows); p++) {
        if (!st_forward_panel_mine(f, p)) continue;
        st_panel panel = st_rows_panel(rows, p);
        f->kern->quantize(&panel);
    }
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
    float *x = f->batch->hidden + (size_t)row * d, *proj = f->s->proj + row * f->s->d_stride;
    if (p->norm) f->kern->rms_norm(proj, proj, p->norm, d, f->model->eps);
    f->kern->add(x, proj, d);
    if (p->scale != 1.0f) f->kern->scale(x, p->scale, d);
}

/* Row-wise step before a product: settles, norms (weight NULL: not) and quantizes. Ends with a sync. */
static st_rows prepare(const st_forward *f, pending *p, const float *weight) {
    uint32_t d = f->model->d_model, n = f->batch->n;
    st_rows rows = weight ? st_forward_rows(f, f->s->norm, f->s->d_stride, d, n)
                          : st_forward_rows(f, f->batch->hidden, d, d, n);
    for (uint32_t panel = 0; panel < st_rows_panels(&rows); panel++) {
        if (!st_forward_panel_mine(f, panel)) continue;
        uint32_t end = (panel + 1) * ST_PANEL < n ? (panel + 1) * ST_PANEL : n;
        for (uint32_t row = panel * ST_PANEL; row < end; row++) {
            if (p->add) settle_row(f, p, row);
            if (weight)
                f->kern->rms_norm(f->s->norm + row * f->s->d_stride, f->batch->hidden + (size_t)row * d, weight, d,
                                  f->model->eps);
        }
        st_panel quant = st_rows_panel(&rows, panel);
        f->kern->quantize(&quant);
    }
    p->add = false;
    st_worker_sync(f->worker);
    return rows;
}

/* Settles what is left, at the end of a chunk or for a trace. Ends with a sync. */
static void settle(const st_forward *f, pending *p) {
    for (uint32_t panel = 0; panel < (f->batch->n + ST_PANEL - 1) / ST_PANEL && p->add; panel++) {
        if (!st_forward_panel_mine(f, panel)) continue;
        uint32_t end = (panel + 1) * ST_PANEL < f->batch->n ? (panel + 1) * ST_PANEL : f->batch->n;
        for (uint32_t row = panel * ST_PANEL; row < end; row++) settle_row(f, p, row);
    }
    p->add = false;
    st_worker_sync(f->worker);
}

/* gate[row][..] = act(gate) * by[row][..] for the outputs lo..hi-1, which this worker has just computed. */
static void apply_gate(const st_forward *f, const float *by, size_t by_stride, uint32_t lo, uint32_t hi) {
    for (uint32_t row = 0; row < f->batch->n && lo < hi; row++)
        f->kern->gate(f->model->act, f->s->gate + row * f->s->ff_stride + lo, by + row * by_stride + lo, hi - lo);
}

/* proj = matrix x rows, rows being gate. Ends with a sync. */
static void project(const st_forward *f, const st_matrix *matrix, const float *x, size_t stride) {
    st_rows rows = st_forward_rows(f, x, stride, matrix->cols, f->batch->n);
    st_forward_quantize(f, &rows);
    st_worker_sync(f->worker);
    st_product out = {.matrix = matrix, .y = f->s->proj, .ldy = f->s->d_stride};
    st_products_run(f->kern, &rows, &out, 1, f->worker);
    st_worker_sync(f->worker);
}

/* Gate and up share rows, so a worker has both halves of what it multiplies. Ends with a sync. */
static void feed_forward(const st_forward *f, const st_layer *layer, const st_rows *input) {
    st_product gate = {&layer->gate, f->s->gate, f->s->ff_stride}, up = {&layer->up, f->s->up, f->s->ff_stride};
    uint32_t lo, hi;
    st_worker_range(f->worker, st_matrix_strips(&layer->gate), &lo, &hi);
    if (lo < hi) {
        st_product_strips(f->kern, input, &gate, lo, hi);
        st_product_strips(f->kern, input, &up, lo, hi);
    }
    uint32_t end = hi * ST_STRIP < layer->n_ff ? hi * ST_STRIP : layer->n_ff;
    apply_gate(f, f->s->up, f->s->ff_stride, lo * ST_STRIP, end);
    st_worker_sync(f->worker);
    project(f, &layer->down, f->s->gate, f->s->ff_stride);
}

/* The per-layer input of Gemma 4: proj(act(gate(x)) * ple). Ends with a sync. */
static void per_layer_input(const st_forward *f, uint32_t i, const st_rows *input) {
    const st_model *m = f->model;
    const st_layer *layer = &m->layers[i];
    st_product gate = {&layer->ple_gate, f->s->gate, f->s->ff_stride};
    uint32_t lo, hi;
    st_worker_range(f->worker, st_matrix_strips(&layer->ple_gate), &lo, &hi);
    if (lo < hi) st_product_strips(f->kern, input, &gate, lo, hi);
    uint32_t end = hi * ST_STRIP < m->d_ple ? hi * ST_STRIP : m->d_ple;
    apply_gate(f, f->batch->ple + (size_t)i * m->d_ple, st_ple_stride(m), lo * ST_STRIP, end);
    st_worker_sync(f->worker);
    project(f, &layer->ple_proj, f->s->gate, f->s->ff_stride);
}

static void layer_run(const st_forward *f, uint32_t i, pending *p) {
    const st_layer *layer = &f->model->layers[i];
    st_rows input = prepare(f, p, layer->attn_norm);
    st_forward_attention(f, i, &input);
    st_forward_trace(f, ST_TRACE_ATTN, i, f->s->proj, f->model->d_model, f->s->d_stride);
    bool ple = layer->ple_gate.rows != 0;
    *p = (pending){.add = true, .norm = layer->post_attn_norm, .scale = 1.0f};
    input = prepare(f, p, layer->ffn_norm);
    feed_forward(f, layer, &input);
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

void st_chunk_forward(const st_chunk *chunk, st_scratch *scratch, const st_batch *batch, const st_worker *worker) {
    const st_model *model = chunk->model;
    st_forward f = {.chunk = chunk, .model = model, .kern = model->kern, .s = scratch, .batch = batch, .worker = worker};
    pending p = {.add = false};
    st_forward_angles(&f);
    if (batch->embed) st_forward_embed(&f);
    for (uint32_t i = chunk->span.first; i <= chunk->span.last; i++) layer_run(&f, i, &p);
    settle(&f, &p);
    if (chunk->head && batch->n_wanted) st_forward_head(&f);
}
