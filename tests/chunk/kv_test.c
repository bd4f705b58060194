/* SPDX-License-Identifier: MIT
 * Sizes of KV rings, and a reset that leaves no byte behind. */
#include "chunk/kv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A full layer, a sliding one, and one that borrows from the first. */
static st_layer layers[3] = {{.n_kv_heads = 2, .head_dim = 16, .kv_layer = 0},
                             {.n_kv_heads = 1, .head_dim = 8, .kv_layer = 1, .window = 100},
                             {.n_kv_heads = 2, .head_dim = 16, .kv_layer = 0}};
static const st_model model = {.n_layers = 3, .layers = layers};

static st_kv *make(uint32_t first, uint32_t last, uint32_t n_ctx, uint32_t batch, enum st_kv_type type) {
    st_kv *kv = NULL;
    stretto_error err = {0};
    assert_int_equal(st_kv_create(&kv, &model, (st_span){first, last}, type, n_ctx, batch, &err), 0);
    return kv;
}

static void capacities(void **state) {
    (void)state;
    st_kv *kv = make(0, 2, 1000, 30, ST_KV_F16);
    assert_int_equal(kv->own[0].capacity, 1024); /* whole blocks of 64 */
    assert_int_equal(kv->own[1].capacity, 192);  /* window 100 and batch 30 */
    assert_int_equal(kv->own[2].capacity, 0);
    assert_int_equal(kv->bytes, 2 * 2 * (2 * 16 * 1024 + 8 * 192));
    assert_ptr_equal(kv->visible[0], &kv->own[0]);
    assert_null(kv->visible[2]);
    st_kv_free(kv);
    kv = make(0, 2, 120, 30, ST_KV_F32);
    assert_int_equal(kv->own[1].capacity, 128); /* never more than the context */
    st_kv_free(kv);
}

static void borrows(void **state) {
    (void)state;
    st_kv *owner = make(0, 0, 64, 8, ST_KV_F16), *reader = make(2, 2, 64, 8, ST_KV_F16);
    assert_int_equal(reader->bytes, 0);
    st_kv_borrow(reader, 0, owner);
    assert_ptr_equal(reader->visible[0], &owner->own[0]); /* by reference */
    st_kv_free(reader);
    st_kv_free(owner);
}

static void bytes_read(void **state) {
    (void)state;
    assert_int_equal(st_kv_read_bytes(&model, (st_span){0, 2}, ST_KV_F16, 0), 2 * 2 * (32 + 8 + 32));
    assert_int_equal(st_kv_read_bytes(&model, (st_span){1, 1}, ST_KV_F32, 500), 2 * 4 * 8 * 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(capacities), cmocka_unit_test(borrows),
                                       cmocka_unit_test(bytes_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
