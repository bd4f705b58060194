/* SPDX-License-Identifier: MIT
 * The two ends of the chain: embedding rows in front, norm, head, cap and argmax behind. */
#include "chunk/forward.h"

#include <math.h>

#define PIECE_BYTES 4096 /* at least the largest block */

/* Row `id` of a table that stays in the file, in pieces of whole blocks. */
static void table_row(const st_model *model, const st_tensor *table, int32_t id, float *out) {
    uint8_t piece[PIECE_BYTES];
    const st_type_info *type = st_type_find(table->type);
    size_t row_bytes = table->bytes / table->dims[1], start = (size_t)id * row_bytes;
    size_t most = sizeof piece / type->block_bytes * type->block_bytes;
    for (size_t at = 0, n; at < row_bytes; at += n) {
        n = row_bytes - at < most ? row_bytes - at : most;
        size_t values = n / type->block_bytes * type->block_len;
        st_gguf_read(model->gguf, table, start + at, n, piece);
        st_dequantize(table->type, piece, out, values);
        out += values;
    }
}

/* Embeds one id into out[d_model], scaled as the model wants it. */
static void embed_row(const st_model *model, int32_t id, float *out) {
    table_row(model, model->embed, id, out);
    if (model->embed_scale != 1.0f) model->kern->scale(out, model->embed_scale, model->d_model);
}

/* ple[l] = (norm(Wp x / sqrt(d_model)) + T[id][l] * sqrt(d_ple)) / sqrt(2), x being the scaled embedding; ple holds Wp
 * x. */
static void finish_ple_row(const st_forward *f, uint32_t row) {
    const st_model *m = f->model;
    uint32_t d = m->d_ple;
    float *ple = f->batch->ple + row * st_ple_stride(m), *token = f->s->ple_token + f->worker->id * f->s->ple_stride;
    table_row(m, m->ple_embed, f->batch->ids[row], token);
    f->kern->scale(token, sqrtf((float)d), m->n_layers * d);
    f->kern->scale(ple, 1.0f / sqrtf((float)m->d_model), m->n_layers * d);
    for (uint32_t l = 0; l < m->n_layers; l++)
        f->kern->rms_norm(ple + (size_t)l * d, ple + (size_t)l * d, m->ple_model_norm, d, m->eps);
    f->kern->add(ple, token, m->n_layers * d);
    f->kern->scale(ple, sqrtf(0.5f), m->n_layers * d);
}

static void make_ple(const st_forward *f, uint32_t lo, uint32_t hi) {
    const st_model *m = f->model;
    st_rows rows = st_forward_rows(f, f->batch->hidden, m->d_model, m->d_model, f->batch->n);
    st_forward_quantize(f, &rows);
    st_product out = {&m->ple_model, f->batch->ple, st_ple_stride(m)};
    st_products_run(f->kern, &rows, &out, 1, 1, f->worker);
    st_worker_sync(f->worker);
    for (uint32_t row = lo; row < hi; row++) finish_ple_row(f, row);
    st_worker_sync(f->worker);
    st_forward_trace(f, ST_TRACE_PLE, 0, f->batch->ple, m->n_layers * m->d_ple, st_ple_stride(m));
}

void st_forward_embed(const st_forward *f) {
    const st_model *m = f->model;
    uint32_t lo, hi;
    st_worker_range(f->worker, f->batch->n, &lo, &hi);
    for (uint32_t row = lo; row < hi; row++)
        embed_row(m, f->batch->ids[row], f->batch->hidden + (size_t)row * m->d_model);
    st_worker_sync(f->worker);
    st_forward_trace(f, ST_TRACE_EMBED, 0, f->batch->hidden, m->d_model, m->d_model);
    if (m->d_ple) make_ple(f, lo, hi);
}

/* The final norm of the wanted rows, gathered and quantized. Ends with a sync unless alone. */
static st_rows norm_wanted(const st_forward *f) {
    const st_model *m = f->model;
    size_t stride = f->s->d_stride;
    st_rows rows = st_forward_rows(f, f->norm, stride, m->d_model, f->batch->n_wanted);
    for (uint32_t panel = 0; panel < st_rows_panels(&rows); panel++) {
        if (!st_forward_panel_mine(f, panel)) continue;
        uint32_t end = (panel + 1) * ST_PANEL < rows.n ? (panel + 1) * ST_PANEL : rows.n;
        for (uint32_t i = panel * ST_PANEL; i < end; i++)
            f->kern->rms_norm(f->norm + i * stride, f->x + (size_t)f->batch->wanted[i] * m->d_model, m->final_norm,
                              m->d_model, m->eps);
        st_panel quant = st_rows_panel(&rows, panel);
        f->kern->quantize(&quant, 0, st_panel_blocks(&quant));
    }
    if (!f->alone) st_worker_sync(f->worker);
    return rows;
}

/* The largest of this worker's logits of each wanted row. */
static void find_best(const st_forward *f, uint32_t lo, uint32_t hi) {
    const st_model *m = f->model;
    size_t stride = st_logits_stride(m);
    for (uint32_t i = 0; i < f->batch->n_wanted; i++) {
        float *logits = f->batch->logits + i * stride;
        st_best *best = &f->s->best[f->worker->id * f->s->max_batch + i];
        best->index = UINT32_MAX;
        if (lo >= hi) continue;
        if (m->softcap != 0.0f) f->kern->softcap(logits + lo, hi - lo, m->softcap);
        best->index = lo + f->kern->argmax(logits + lo, hi - lo);
        best->value = logits[best->index];
    }
}

static void join_best(const st_forward *f) {
    for (uint32_t i = 0; i < f->batch->n_wanted; i++) {
        st_best best = f->s->best[i];
        for (uint32_t w = 1; w < f->worker->count; w++) {
            const st_best *other = &f->s->best[w * f->s->max_batch + i];
            if (other->index == UINT32_MAX) continue;
            /* Workers hold ranges in order, so the first of equals stays; NaN gives way to any number. */
            if (best.index == UINT32_MAX || other->value > best.value || (isnan(best.value) && !isnan(other->value)))
                best = *other;
        }
        f->batch->argmax[i] = (int32_t)best.index;
        f->s->best[i] = best;
    }
}

void st_forward_head(const st_forward *f) {
    const st_model *m = f->model;
    st_rows rows = norm_wanted(f);
    if (f->batch->trace) {
        if (f->worker->id == 0)
            f->batch->trace->fn(f->batch->trace->arg, ST_TRACE_NORM, 0, rows.x, rows.n, m->d_model, rows.stride);
        st_worker_sync(f->worker);
    }
    st_product out = {&m->head, f->batch->logits, st_logits_stride(m)};
    uint32_t lo, hi;
    st_products_run(f->kern, &rows, &out, 1, 1, f->worker);
    st_worker_sync(f->worker);
    st_worker_range(f->worker, m->n_vocab, &lo, &hi);
    find_best(f, lo, hi);
    st_worker_sync(f->worker);
    if (f->worker->id == 0) join_best(f);
    st_worker_sync(f->worker);
}
