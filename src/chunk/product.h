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

#define ST_PRODUCTS_MAX 3 /* of one input */

/* Several products of the same input, a job of its own (base/deal.h): each worker has its part of each product, in
 * steps of `align` strips, and takes what others have left. What came out is there after the next sync. */
void st_products_run(const st_kern *kern, const st_rows *rows, const st_product *products, uint32_t n_products,
                     uint32_t align, const st_worker *worker);

/* Where this worker's part of the same begins: its strips of the first product that it has some of. */
st_ahead st_products_ahead(const st_product *products, uint32_t n_products, uint32_t align, const st_worker *worker);

#endif
