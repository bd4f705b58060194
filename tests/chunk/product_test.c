/* SPDX-License-Identifier: MIT
 * How products are shared out: every strip is done once, in turns of strips that are far from each other where the
 * kernel wants them, and what a worker fetches ahead is what it then reads first. */
#include "chunk/product.h"

#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { STRIP_BYTES = 64, MOST_STRIPS = 40, A_TURN = 3, TURN_TOKENS = 2, KINDS = 2, LDY = 1000 };

/* Weights of matrix m, of which a kernel here looks at the address alone. */
static uint8_t weights[ST_PRODUCTS_MAX][MOST_STRIPS * STRIP_BYTES];
static atomic_uint done[ST_PRODUCTS_MAX][MOST_STRIPS];
static atomic_uint wrong, singles;          /* singles: turns of less strips than A_TURN */
static _Atomic(const uint8_t *) first_read; /* by any worker */

static void note_strip(const uint8_t *strip, const float *y, size_t ldy) {
    size_t at = (size_t)(strip - weights[0]) / STRIP_BYTES;
    if (!first_read) first_read = strip;
    if (*y != (float)at || ldy != LDY + at / MOST_STRIPS) atomic_fetch_add(&wrong, 1); /* outputs say which strip's */
    atomic_fetch_add(&done[at / MOST_STRIPS][at % MOST_STRIPS], 1);
}

static void note_strips(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy) {
    (void)panel;
    for (uint32_t i = lo; i < hi; i++) note_strip(w->data + i * w->strip_bytes, y + (size_t)i * ST_STRIP, ldy);
}

static void note_turns(const st_matrix *w, const st_panel *panel, const st_turn_strip *strips, uint32_t n,
                       uint32_t turns) {
    if (n == 0 || n > A_TURN || turns == 0 || panel->n > TURN_TOKENS) atomic_fetch_add(&wrong, 1);
    if (n < A_TURN) atomic_fetch_add(&singles, 1);
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint32_t i = 0; i < n; i++)
            note_strip(strips[i].data + turn * w->strip_bytes, strips[i].y + turn * ST_STRIP, strips[i].ldy);
}

/* Products of `strips[i]` strips each; those of kind 1 have a format of their own. */
typedef struct set {
    uint32_t strips[ST_PRODUCTS_MAX], kind[ST_PRODUCTS_MAX];
} set;

typedef struct job {
    const st_kern *kern;
    const st_rows *rows;
    st_product products[ST_PRODUCTS_MAX];
    uint32_t n, align;
} job;

static void run(void *arg, const st_worker *worker) {
    const job *j = arg;
    st_products_run(j->kern, j->rows, j->products, j->n, j->align, worker);
    st_worker_sync(worker);
}

static void check_all_done(const set *s, uint32_t n) {
    assert_int_equal(atomic_load(&wrong), 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t strip = 0; strip < MOST_STRIPS; strip++)
            assert_int_equal(atomic_exchange(&done[i][strip], 0), strip < s->strips[i]);
}

/* `with` set up for a set and `tokens`, and what is then done with it. */
static void with_set(const set *s, const st_kern *kern, uint32_t tokens, uint32_t n, uint32_t align,
                     void (*use)(const set *, job *)) {
    static const st_kern_format formats[KINDS] = {{.type = 0}, {.type = 1}};
    static float y[ST_PRODUCTS_MAX][MOST_STRIPS * ST_STRIP];
    const st_rows rows = {.n = tokens, .cols = 1};
    st_matrix matrix[ST_PRODUCTS_MAX];
    job j = {.kern = kern, .rows = &rows, .n = n, .align = align};
    for (uint32_t i = 0; i < n; i++) {
        matrix[i] = (st_matrix){.data = weights[i],
                                .format = &formats[s->kind[i]],
                                .rows = s->strips[i] * ST_STRIP,
                                .strip_bytes = STRIP_BYTES};
        j.products[i] = (st_product){.matrix = &matrix[i], .y = y[i], .ldy = LDY + i};
        for (uint32_t strip = 0; strip < MOST_STRIPS; strip++)
            y[i][strip * ST_STRIP] = (float)(i * MOST_STRIPS + strip);
    }
    use(s, &j);
}

static const set sets[] = {{{36, 12, 12}, {0, 0, 0}}, {{7, 3, 3}, {0, 1, 0}},   {{1, 0, 2}, {0, 0, 1}},
                           {{0, 0, 1}, {0, 0, 0}},    {{40, 40, 5}, {1, 1, 0}}, {{0, 0, 0}, {0, 0, 0}}};
static const st_kern in_order = {.matmul = {note_strips, note_strips}};
static const st_kern in_turns = {
    .matmul = {note_strips, note_strips}, .turn = {note_turns}, .turn_tokens = {TURN_TOKENS}, .turn_strips = A_TURN};

static void for_sets(const st_kern *kern, void (*use)(const set *, job *)) {
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (uint32_t tokens = 1; tokens <= TURN_TOKENS + 1; tokens++)
            for (uint32_t n = 1; n <= ST_PRODUCTS_MAX; n++)
                for (uint32_t align = 1; align <= 2; align++) with_set(&sets[i], kern, tokens, n, align, use);
}

static void run_by_pools(const set *s, job *j) {
    for (unsigned count = 1; count <= 3; count++) {
        st_pool *pool;
        stretto_error err;
        assert_int_equal(st_pool_create(&pool, &(st_pool_options){.count = count}, &err), 0);
        for (unsigned again = 0; again < 3; again++) {
            st_pool_run(pool, run, j);
            check_all_done(s, j->n);
        }
        st_pool_destroy(pool);
    }
}

static void every_strip_is_done_once(void **state) {
    (void)state;
    for_sets(&in_order, run_by_pools);
    for_sets(&in_turns, run_by_pools);
}

/* Without a team to deal with each keeps to its part, which begins with what it would fetch. */
static void run_apart(const set *s, job *j) {
    for (unsigned count = 1; count <= 9; count++) {
        for (unsigned id = 0; id < count; id++) {
            const st_worker worker = {.id = id, .count = count};
            first_read = NULL;
            st_products_run(j->kern, j->rows, j->products, j->n, j->align, &worker);
            st_ahead ahead = st_products_ahead(j->products, j->n, j->align, &worker);
            assert_ptr_equal(ahead.data, first_read);
            assert_true((ahead.bytes > 0) == (first_read != NULL));
        }
        check_all_done(s, j->n);
    }
}

static void a_worker_reads_first_what_it_fetched(void **state) {
    (void)state;
    for_sets(&in_order, run_apart);
    for_sets(&in_turns, run_apart);
}

static void run_once(const set *s, job *j) {
    const st_worker alone = st_worker_alone();
    st_products_run(j->kern, j->rows, j->products, j->n, j->align, &alone);
    check_all_done(s, j->n);
}

/* 60 strips of three matrices that are alike are 20 turns of 3: no turn ends with a matrix. */
static void turns_pass_from_matrix_to_matrix(void **state) {
    (void)state;
    for (uint32_t tokens = 1; tokens <= TURN_TOKENS; tokens++) {
        atomic_store(&singles, 0);
        with_set(&(set){{36, 12, 12}, {0, 0, 0}}, &in_turns, tokens, 3, 1, run_once);
        assert_int_equal(atomic_load(&singles), 0);
        with_set(&(set){{37, 12, 12}, {0, 0, 0}}, &in_turns, tokens, 3, 1, run_once);
        assert_int_equal(atomic_load(&singles), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_strip_is_done_once),
                                       cmocka_unit_test(a_worker_reads_first_what_it_fetched),
                                       cmocka_unit_test(turns_pass_from_matrix_to_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
