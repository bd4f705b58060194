/* SPDX-License-Identifier: MIT */
#include "chunk/product.h"

st_panel st_rows_panel(const st_rows *rows, uint32_t panel) {
    uint32_t first = panel * ST_PANEL, n = rows->n - first < ST_PANEL ? rows->n - first : ST_PANEL;
    return (st_panel){.n = n,
                      .cols = rows->cols,
                      .x = rows->x + first * rows->stride,
                      .stride = rows->stride,
                      .quant = rows->quant + panel * st_panel_bytes(ST_PANEL, rows->cols)};
}

void st_product_strips(const st_kern *kern, const st_rows *rows, const st_product *product, uint32_t lo, uint32_t hi) {
    const st_matrix *m = product->matrix;
    uint32_t panels = st_rows_panels(rows);
    if (panels == 1) {
        st_panel panel = st_rows_panel(rows, 0);
        kern->matmul[m->format->type](m, &panel, lo, hi, product->y, product->ldy);
        return;
    }
    /* A strip stays in the first-level cache while all panels pass by. */
    for (uint32_t strip = lo; strip < hi; strip++)
        for (uint32_t p = 0; p < panels; p++) {
            st_panel panel = st_rows_panel(rows, p);
            kern->matmul[m->format->type](m, &panel, strip, strip + 1, product->y + (size_t)p * ST_PANEL * product->ldy,
                                          product->ldy);
        }
}

typedef struct share {
    uint32_t lo, hi;
} share;

/* The strips of a product that lie within [lo, hi) of all strips, `first` of which come before it. */
static share share_of(const st_matrix *matrix, uint32_t first, uint32_t lo, uint32_t hi) {
    uint32_t strips = st_matrix_strips(matrix);
    share s = {lo > first ? lo - first : 0, hi > first ? hi - first : 0};
    if (s.hi > strips) s.hi = strips;
    return s;
}

static void share_all(const st_product *products, uint32_t n, const st_worker *worker, enum st_bound bound,
                      uint32_t *lo, uint32_t *hi) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < n; i++) total += st_matrix_strips(products[i].matrix);
    st_worker_share(worker, bound, total, lo, hi);
}

void st_products_run(const st_kern *kern, const st_rows *rows, const st_product *products, uint32_t n_products,
                     const st_worker *worker, enum st_bound bound) {
    uint32_t lo, hi;
    share_all(products, n_products, worker, bound, &lo, &hi);
    for (uint32_t i = 0, first = 0; i < n_products; i++) {
        share mine = share_of(products[i].matrix, first, lo, hi);
        if (mine.lo < mine.hi) st_product_strips(kern, rows, &products[i], mine.lo, mine.hi);
        first += st_matrix_strips(products[i].matrix);
    }
}

st_ahead st_products_ahead(const st_product *products, uint32_t n_products, const st_worker *worker,
                           enum st_bound bound) {
    uint32_t lo, hi;
    share_all(products, n_products, worker, bound, &lo, &hi);
    for (uint32_t i = 0, first = 0; i < n_products; i++) {
        const st_matrix *m = products[i].matrix;
        share mine = share_of(m, first, lo, hi);
        if (mine.lo < mine.hi)
            return (st_ahead){m->data + mine.lo * m->strip_bytes, (mine.hi - mine.lo) * m->strip_bytes};
        first += st_matrix_strips(m);
    }
    return (st_ahead){NULL, 0};
}
