/* SPDX-License-Identifier: MIT
 * Matrix products of a batch, shared out over the workers of a team by strips of rows. */
#ifndef ST_CHUNK_PRODUCT_H
#define ST_CHUNK_PRODUCT_H

#include "base/team.h"
#include "kern/kern.h"

/* Inputs of a product: n rows in panels of up to ST_PANEL. */
typedef struct st_rows {
    const float *x; /* [n][stride] */
    size_t stride;
    uint32_t n, cols;
    uint8_t *quant; /* panels one behind the other, each st_panel_bytes(ST_PANEL, cols) apart */
} st_rows;

static inline uint32_t st_rows_panels(const st_rows *rows) {
    return (rows->n + ST_PANEL - 1) / ST_PANEL;
}
st_panel st_rows_panel(const st_rows *rows, uint32_t panel);

typedef struct st_product {
    const st_matrix *matrix;
    float *y; /* [n][ldy] */
    size_t ldy;
} st_product;

/* This worker's share of several products of the same input: a contiguous range of all their strips, as large as its
 * share of work with that bound (st_worker_share); the next sync has to be st_worker_sync_shared. */
void st_products_run(const st_kern *kern, const st_rows *rows, const st_product *products, uint32_t n_products,
                     const st_worker *worker, enum st_bound bound);

/* Where this worker's share of the same begins: the strips of the first product that it has some of. */
st_ahead st_products_ahead(const st_product *products, uint32_t n_products, const st_worker *worker,
                           enum st_bound bound);

/* Strips lo..hi-1 of one product. */
void st_product_strips(const st_kern *kern, const st_rows *rows, const st_product *product, uint32_t lo, uint32_t hi);

#endif
