/* SPDX-License-Identifier: MIT */
#include "device/parts.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/product.h"

#include <string.h>

enum { MOST_PRODUCTS = 3 }; /* of one input */

#define TIME_NS 150000000u /* to measure for */

typedef struct part_work {
    const st_model *model;
    enum st_part part;
    st_rows rows; /* one token of any values */
    float *y;     /* [MOST_PRODUCTS][ldy] */
    size_t ldy;
} part_work;

const char *st_part_name(enum st_part part) {
    static const char *const names[ST_PARTS] = {
        [ST_PART_QKV] = "q, k, v", [ST_PART_ATTN_OUT] = "attention output", [ST_PART_GATE_UP] = "gate, up",
        [ST_PART_DOWN] = "down",   [ST_PART_PLE] = "layer embedding",       [ST_PART_HEAD] = "head"};
    return names[part];
}

/* The matrices of a part in one layer; those that are not there have no rows. */
static uint32_t layer_matrices(const st_layer *l, enum st_part part, const st_matrix *m[MOST_PRODUCTS]) {
    switch (part) {
    case ST_PART_QKV:
        m[0] = &l->q, m[1] = &l->k, m[2] = &l->v;
        return 3;
    case ST_PART_ATTN_OUT:
        m[0] = &l->o;
        return 1;
    case ST_PART_GATE_UP:
        m[0] = &l->gate, m[1] = &l->up;
        return 2;
    case ST_PART_DOWN:
        m[0] = &l->down;
        return 1;
    case ST_PART_PLE:
        m[0] = &l->ple_gate, m[1] = &l->ple_proj;
        return 2;
    default:
        return 0;
    }
}

/* Calls fn for each set of matrices that are multiplied together. */
typedef void set_fn(void *arg, const st_matrix *const *m, uint32_t n);

static void for_sets(const st_model *model, enum st_part part, set_fn *fn, void *arg) {
    const st_matrix *m[MOST_PRODUCTS] = {&model->head};
    if (part == ST_PART_HEAD) {
        fn(arg, m, 1);
        return;
    }
    for (uint32_t i = 0; i < model->n_layers; i++) {
        uint32_t n = layer_matrices(&model->layers[i], part, m);
        fn(arg, m, n);
    }
}

typedef struct part_size {
    uint64_t bytes, operations;
    uint32_t rows, cols; /* the most */
} part_size;

static void add_size(void *arg, const st_matrix *const *m, uint32_t n) {
    part_size *size = arg;
    for (uint32_t i = 0; i < n; i++) {
        size->bytes += m[i]->file_bytes;
        size->operations += (uint64_t)m[i]->rows * m[i]->cols;
        if (m[i]->rows > size->rows) size->rows = m[i]->rows;
        if (m[i]->rows > 0 && m[i]->cols > size->cols) size->cols = m[i]->cols;
    }
}

typedef struct part_call {
    const part_work *work;
    const st_worker *worker;
} part_call;

/* All take the same input, of the most columns: those of fewer use its first blocks. */
static void run_set(void *arg, const st_matrix *const *m, uint32_t n) {
    const part_call *call = arg;
    const part_work *w = call->work;
    st_product products[MOST_PRODUCTS];
    uint32_t n_products = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (m[i]->rows == 0) continue;
        products[n_products] = (st_product){.matrix = m[i], .y = w->y + n_products * w->ldy, .ldy = w->ldy};
        n_products++;
    }
    st_products_run(w->model->kern, &w->rows, products, n_products, 1, call->worker);
    st_worker_sync(call->worker);
}

static int part_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    const part_work *w = arg;
    part_call call = {.work = w, .worker = worker};
    for_sets(w->model, w->part, run_set, &call);
    return STRETTO_OK;
}

static int time_part(part_work *w, const part_size *size, st_part_time *out, st_unit *unit, const st_step *plain,
                     stretto_error *err) {
    w->ldy = (size_t)(size->rows + ST_STRIP - 1) / ST_STRIP * ST_STRIP;
    float *x = st_alloc(size->cols, sizeof *x);
    w->rows = (st_rows){.x = x, .stride = size->cols, .n = 1, .cols = size->cols};
    w->rows.quant = st_alloc(1, st_panel_bytes(ST_PANEL, size->cols));
    w->y = st_alloc(MOST_PRODUCTS * w->ldy, sizeof *w->y);
    int code = x && w->rows.quant && w->y ? STRETTO_OK : st_fail_memory(err, "activations", MOST_PRODUCTS * w->ldy * 4);
    for (uint32_t i = 0; i < size->cols && !code; i++) x[i] = (float)(i % 7) - 3;
    if (!code) {
        st_panel panel = st_rows_panel(&w->rows, 0);
        w->model->kern->quantize(&panel, 0, st_panel_blocks(&panel));
        const st_step step = {.name = st_part_name(w->part), .run = part_run, .arg = w};
        code = st_step_time_against(&out->time, &out->turns, unit, &step, 1, plain, TIME_NS, err);
    }
    st_free(x);
    st_free(w->rows.quant);
    st_free(w->y);
    return code;
}

int st_part_measure(st_part_time *out, const st_model *model, enum st_part part, st_unit *unit, const st_step *plain,
                    stretto_error *err) {
    part_size size = {0};
    part_work work = {.model = model, .part = part};
    for_sets(model, part, add_size, &size);
    *out = (st_part_time){.bytes = size.bytes, .operations = size.operations};
    return size.bytes == 0 ? STRETTO_OK : time_part(&work, &size, out, unit, plain, err);
}
