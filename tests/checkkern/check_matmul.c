/* SPDX-License-Identifier: MIT
 * Matrix products. The scalar ones are compared with the dequantized file rows, the others with the scalar ones; and
 * each table's products must not depend on how many tokens or strips stand in a call. */
#include "checkkern/check.h"

#include "base/mem.h"
#include "kern/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct product {
    st_matrix w;
    guarded source, packed, x, quant;
    float *values;     /* [rows][cols], dequantized */
    double *magnitude; /* [strips * 16]: the largest value, or part of a value, in a row */
    st_panel panel;
    uint32_t strips;
} product;

/* What a product is of: random numbers, or the largest sums that there can be: all weights the same, and so all
 * activations. */
typedef enum contents { RANDOM, LARGEST } contents;

static void fill_activations(check *c, product *p, contents of) {
    float *x = p->x.data;
    for (uint32_t t = 0; t < p->panel.n; t++)
        for (uint32_t k = 0; k < p->panel.cols; k++)
            x[t * p->panel.stride + k] = random_float(c) * (random_below(c, 64) ? 1.0f : 20.0f);
    for (size_t i = 0; of == LARGEST && i < p->panel.n * p->panel.stride; i++) x[i] = i / p->panel.stride % 2 ? -1 : 1;
    if (of == RANDOM)
        memset(x + random_below(c, p->panel.n) * p->panel.stride, 0,
               (p->panel.cols < 40 ? p->panel.cols : 40) * sizeof(float));
    c->ref->quantize(&p->panel, 0, st_panel_blocks(&p->panel));
}

/* Minima are added apart from products, so the parts can be larger than their sum: 4 times covers them, since every
 * row has hundreds of random values. */
static void measure_rows(product *p) {
    for (uint32_t r = 0; r < p->w.rows; r++) {
        double top = 0;
        for (uint32_t k = 0; k < p->w.cols; k++) top = fmax(top, fabs(p->values[(size_t)r * p->w.cols + k]));
        p->magnitude[r] = 4 * top;
    }
}

/* Rows that are each of one byte, from none to all bits and what lies around the middle. */
static void fill_largest(const st_type_info *type, uint32_t number, uint8_t *rows, uint32_t n, uint32_t cols) {
    static const uint8_t bytes[] = {0xff, 0x00, 0x80, 0x7f, 0x88, 0x08};
    const size_t row_bytes = cols / type->block_len * type->block_bytes;
    for (uint32_t r = 0; r < n; r++) equal_blocks(number, bytes[r % sizeof bytes], rows + r * row_bytes, cols);
}

/* As loading a model does, strip by strip. */
static void pack(product *p, const st_kern_format *format, uint32_t rows, uint32_t cols) {
    const st_type_info *type = st_type_find(format->type);
    const size_t row_bytes = (size_t)(cols / type->block_len) * type->block_bytes;
    p->w = (st_matrix){.data = p->packed.data,
                       .format = format,
                       .rows = rows,
                       .cols = cols,
                       .strip_bytes = st_strip_bytes(format, cols),
                       .file_bytes = rows * row_bytes};
    const uint8_t *source = p->source.data;
    uint8_t *packed = p->packed.data;
    for (uint32_t s = 0; s < p->strips; s++) {
        const uint32_t first = s * ST_STRIP, left = rows - first;
        format->pack(packed + s * p->w.strip_bytes, source + first * row_bytes, row_bytes,
                     left < ST_STRIP ? left : ST_STRIP, cols);
    }
}

static product product_new(check *c, const st_kern_format *format, uint32_t rows, uint32_t cols, uint32_t n,
                           contents of) {
    const st_type_info *type = st_type_find(format->type);
    const size_t row_bytes = cols / type->block_len * type->block_bytes, strip_bytes = st_strip_bytes(format, cols);
    product p = {.strips = (rows + ST_STRIP - 1) / ST_STRIP};
    p.source = guarded_new(rows * row_bytes, 1 + random_below(c, 31));
    p.packed = guarded_new(p.strips * strip_bytes, 0);
    p.values = st_alloc((size_t)rows * cols, sizeof(float));
    p.magnitude = st_alloc((size_t)p.strips * ST_STRIP, sizeof(double));
    random_blocks(c, format->type, p.source.data, (size_t)rows * cols);
    if (of == LARGEST) fill_largest(type, format->type, p.source.data, rows, cols);
    st_dequantize(format->type, p.source.data, p.values, (size_t)rows * cols);
    pack(&p, format, rows, cols);
    if (!guarded_intact(&p.packed)) check_fail(c, "pack %s %ux%u", type->name, rows, cols);
    measure_rows(&p);
    p.panel = (st_panel){.n = n, .cols = cols, .stride = cols + random_below(c, 9)};
    p.x = guarded_new(n * p.panel.stride * sizeof(float), 4 * random_below(c, 16));
    p.quant = guarded_new(st_panel_bytes(n, cols), 0);
    p.panel.x = p.x.data;
    p.panel.quant = p.quant.data;
    fill_activations(c, &p, of);
    if (!guarded_intact(&p.quant)) check_fail(c, "quantize wrote outside: %u tokens, %u columns", n, cols);
    return p;
}

static void product_free(product *p) {
    guarded_free(&p->source);
    guarded_free(&p->packed);
    guarded_free(&p->x);
    guarded_free(&p->quant);
    st_free(p->values);
    st_free(p->magnitude);
}

/* What the kernels see of activation k of token t. */
static double activation(const product *p, uint32_t t, uint32_t k) {
    if (!p->w.format->quantized) return p->panel.x[t * p->panel.stride + k];
    const uint8_t *block = p->panel.quant + (size_t)(k / 32) * p->panel.n * ST_QBLOCK_BYTES;
    return (double)st_qblock_q(block)[32 * t + k % 32] * st_qblock_d(block, p->panel.n)[t];
}

/* The worst case of a sum in floats: each of its roundings errs by half an ulp of the largest partial sum. */
static double tolerance(const product *p, uint32_t t, uint32_t row) {
    double sum = 0;
    for (uint32_t k = 0; k < p->w.cols; k++) sum += fabs(activation(p, t, k));
    const double roundings = p->w.format->quantized ? 4.0 * (p->w.cols / 32) + 8 : p->w.cols + 8;
    return p->magnitude[row] * sum * roundings * FLT_EPSILON / 2;
}

static void check_against_file(check *c, const product *p, const float *y, size_t ldy) {
    for (uint32_t t = 0; t < p->panel.n; t++)
        for (uint32_t r = 0; r < p->w.rows; r++) {
            double want = 0;
            for (uint32_t k = 0; k < p->w.cols; k++) want += p->values[(size_t)r * p->w.cols + k] * activation(p, t, k);
            if (!close_enough(y[t * ldy + r], (float)want, tolerance(p, t, r)))
                check_fail(c, "matmul %s %ux%u: row %u token %u is %g, not %g", st_type_find(p->w.format->type)->name,
                           p->w.rows, p->w.cols, r, t, y[t * ldy + r], want);
        }
}

/* The strips lo..hi-1 of y were written, rows past the matrix as zeros, and nothing else was. */
static void check_written(check *c, const product *p, const guarded *y, size_t ldy, uint32_t lo, uint32_t hi) {
    const float *row = y->data;
    const char *name = st_type_find(p->w.format->type)->name;
    bool fine = guarded_intact(y);
    for (uint32_t t = 0; t < p->panel.n; t++, row += ldy) {
        fine &= poisoned(row, (size_t)lo * ST_STRIP * sizeof(float));
        fine &= poisoned(row + (size_t)hi * ST_STRIP, (ldy - (size_t)hi * ST_STRIP) * sizeof(float));
        for (uint32_t r = p->w.rows; r < hi * ST_STRIP; r++)
            if (r >= lo * ST_STRIP && row[r] != 0) check_fail(c, "matmul %s: padding row %u is %g", name, r, row[r]);
    }
    if (!fine) check_fail(c, "matmul %s wrote outside strips %u to %u", name, lo, hi);
}

/* Each token alone, each strip alone: the same bits. */
static void check_invariance(check *c, const product *p, const float *y, size_t ldy) {
    const st_kern_format *f = p->w.format;
    guarded one = guarded_new((size_t)p->strips * ST_STRIP * sizeof(float), 0);
    guarded quant = guarded_new(st_panel_bytes(1, p->w.cols), 0);
    for (uint32_t t = 0; t < p->panel.n; t++) {
        const st_panel alone = {
            .n = 1, .cols = p->w.cols, .x = p->panel.x + t * p->panel.stride, .stride = p->w.cols, .quant = quant.data};
        c->ref->quantize(&alone, 0, st_panel_blocks(&alone));
        for (uint32_t s = p->strips; s-- > 0;) c->kern->matmul[f->type](&p->w, &alone, s, s + 1, one.data, 1);
        if (memcmp(one.data, y + t * ldy, one.bytes) != 0)
            check_fail(c, "matmul %s %ux%u: token %u of %u differs from the token alone", st_type_find(f->type)->name,
                       p->w.rows, p->w.cols, t, p->panel.n);
    }
    guarded_free(&one);
    guarded_free(&quant);
}

/* Another table, the same bits; z has room for its products. */
static void check_twin(check *c, const product *p, const float *y, float *z, size_t ldy) {
    const st_kern_format *f = p->w.format;
    c->twin->matmul[f->type](&p->w, &p->panel, 0, p->strips, z, ldy);
    for (uint32_t t = 0; t < p->panel.n; t++)
        if (memcmp(y + t * ldy, z + t * ldy, (size_t)p->strips * ST_STRIP * sizeof(float)) != 0)
            check_fail(c, "matmul %s %ux%u: token %u of %u differs from %s", st_type_find(f->type)->name, p->w.rows,
                       p->w.cols, t, p->panel.n, c->twin->name);
}

static void check_product(check *c, const st_kern_format *format, uint32_t rows, uint32_t cols, uint32_t n,
                          contents of) {
    product p = product_new(c, format, rows, cols, n, of);
    const size_t ldy = (size_t)p.strips * ST_STRIP + random_below(c, 5);
    guarded want = guarded_new(n * ldy * sizeof(float), 0),
            got = guarded_new(n * ldy * sizeof(float), 4 * random_below(c, 16));
    float *y = got.data, *z = want.data;
    c->ref->matmul[format->type](&p.w, &p.panel, 0, p.strips, z, ldy);
    c->kern->matmul[format->type](&p.w, &p.panel, 0, p.strips, y, ldy);
    check_written(c, &p, &got, ldy, 0, p.strips);
    if (c->kern == c->ref) check_against_file(c, &p, y, ldy);
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t r = 0; r < rows; r++)
            if (!close_enough(y[t * ldy + r], z[t * ldy + r], tolerance(&p, t, r)))
                check_fail(c, "matmul %s %ux%u: row %u token %u of %u is %.8g, not %.8g (tolerance %.3g)",
                           st_type_find(format->type)->name, rows, cols, r, t, n, y[t * ldy + r], z[t * ldy + r],
                           tolerance(&p, t, r));
    if (c->twin) check_twin(c, &p, y, z, ldy);
    check_invariance(c, &p, y, ldy);
    if (p.strips > 1) {
        const uint32_t lo = random_below(c, p.strips), hi = lo + 1 + random_below(c, p.strips - lo);
        guarded_poison(&got);
        c->kern->matmul[format->type](&p.w, &p.panel, lo, hi, y, ldy);
        check_written(c, &p, &got, ldy, lo, hi);
    }
    c->cases++;
    guarded_free(&want);
    guarded_free(&got);
    product_free(&p);
}

void check_matmul(check *c) {
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_kern_format *format = c->kern->formats[type];
        if (!format) continue;
        const uint32_t unit = format->tile_cols;
        for (uint32_t n = 1; n <= ST_PANEL; n++)
            check_product(c, format, 1 + random_below(c, 50), unit * (1 + random_below(c, unit == 256 ? 3 : 20)), n,
                          RANDOM);
        for (uint32_t strips = 1; strips <= 9; strips++) /* which are read several in turns, and some that are left */
            for (uint32_t n = 1; n <= 5; n++)            /* as are few tokens; many are not */
                check_product(c, format, ST_STRIP * strips - random_below(c, ST_STRIP), unit * (1 + random_below(c, 9)),
                              n, RANDOM);
        check_product(c, format, 16, unit, 1, RANDOM);
        check_product(c, format, 33, unit, ST_PANEL, RANDOM);
        check_product(c, format, 48, unit == 256 ? 1536 : 1536 + 2 * unit, 5, RANDOM);
        for (uint32_t n = 1; n <= 9; n++) check_product(c, format, 64, 2 * (unit == 1 ? 32 : unit), n, LARGEST);
        if (st_strip_bytes(format, 0) != 0 || (unit > 1 && st_strip_bytes(format, unit + 1) != 0))
            check_fail(c, "%s: a strip of an impossible number of columns", st_type_find(type)->name);
    }
}
