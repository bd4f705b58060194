/* SPDX-License-Identifier: MIT
 * How products are shared out: what a worker fetches ahead is what it then reads first. */
#include "chunk/product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 3, STRIP_BYTES = 64, MOST_STRIPS = 7 };

/* What a worker read; it takes the place of the outputs. */
typedef struct seen {
    const uint8_t *first;
    size_t bytes;
    unsigned strips;
} seen;

static void note_strips(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy) {
    (void)panel, (void)ldy;
    seen *s = (seen *)(void *)y;
    if (!s->first) {
        s->first = w->data + lo * w->strip_bytes;
        s->bytes = (hi - lo) * w->strip_bytes;
    }
    s->strips += hi - lo;
}

static void check(const uint32_t *strips, uint32_t n, unsigned count) {
    static const uint8_t weights[MOST][MOST_STRIPS * STRIP_BYTES];
    static const st_kern_format format = {.type = 0};
    const st_kern kern = {.matmul = {note_strips}};
    const st_rows rows = {.n = 1, .cols = 1};
    st_matrix matrix[MOST];
    unsigned total = 0, done = 0;
    for (uint32_t i = 0; i < n; i++) {
        matrix[i] = (st_matrix){
            .data = weights[i], .format = &format, .rows = strips[i] * ST_STRIP, .strip_bytes = STRIP_BYTES};
        total += strips[i];
    }
    for (unsigned id = 0; id < count; id++) {
        const st_worker worker = {.id = id, .count = count};
        seen s = {NULL, 0, 0};
        st_product products[MOST];
        for (uint32_t i = 0; i < n; i++) products[i] = (st_product){.matrix = &matrix[i], .y = (float *)(void *)&s};
        st_products_run(&kern, &rows, products, n, &worker, ST_BOUND_ARITHMETIC);
        st_ahead ahead = st_products_ahead(products, n, &worker, ST_BOUND_ARITHMETIC);
        assert_ptr_equal(ahead.data, s.first);
        assert_int_equal(ahead.bytes, s.bytes);
        done += s.strips;
    }
    assert_int_equal(done, total);
}

static void a_worker_reads_first_what_it_fetched(void **state) {
    (void)state;
    static const uint32_t sets[][MOST] = {{7, 3, 3}, {1, 0, 2}, {0, 0, 1}, {5, 5, 5}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (uint32_t n = 1; n <= MOST; n++)
            for (unsigned count = 1; count <= 9; count++) check(sets[i], n, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_worker_reads_first_what_it_fetched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
