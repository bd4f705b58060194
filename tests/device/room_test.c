/* SPDX-License-Identifier: MIT
 * Weights that fit into memory, but not together with what works with them. */
#include "chunk/kv.h"
#include "gguf/message.h"
#include "support/fixture.h"

#define CTX 512
#define BATCH 16

/* STRETTO_OK, or what opening a chain and closing it comes to. */
static int open_chain(const fixture *f, enum st_kv_type kv_type, stretto_error *err) {
    st_span spans[ST_MAX_CHUNKS];
    st_unit *units[ST_MAX_CHUNKS];
    uint32_t n = 0;
    fixture_check(st_split_parse(spans, &n, "2", f->model, err), err);
    for (uint32_t i = 0; i < n; i++) units[i] = f->units[0];
    st_chain *chain = NULL;
    st_chain_options options = {.model = f->model,
                                .spans = spans,
                                .n_chunks = n,
                                .units = units,
                                .kv_type = kv_type,
                                .n_ctx = CTX,
                                .max_batch = BATCH};
    int code = st_chain_open(&chain, &options, err);
    assert_true((chain != NULL) == (code == STRETTO_OK));
    st_chain_close(chain);
    return code;
}

static uint64_t kv_bytes(const fixture *f, enum st_kv_type kv_type) {
    return st_kv_size(f->model, (st_span){0, f->model->n_layers - 1}, kv_type, CTX, BATCH);
}

static void refused(const fixture *f, enum st_kv_type kv_type, const char *says) {
    stretto_error err = {0};
    char limit[ST_NUMBER_SIZE], kv[ST_NUMBER_SIZE];
    assert_int_equal(open_chain(f, kv_type, &err), STRETTO_E_MEMORY);
    assert_non_null(strstr(err.text, st_bytes(limit, f->model->memory)));
    assert_non_null(strstr(err.text, st_bytes(kv, kv_bytes(f, kv_type))));
    assert_non_null(strstr(err.text, says));
    assert_non_null(strstr(err.text, "takes less")); /* nothing is cut off */
}

static void kv_beside_weights(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    const uint64_t mib = 1 << 20; /* more than the tiny model's working memory */
    fixture_open(&f, ST_GOLDEN "/tiny-llama-Q4_1.gguf", NULL);
    fixture_unit(&f, 0, 1);
    assert_true(f.model->memory > f.model->weights.bytes); /* what the machine has */
    const uint64_t f32 = f.model->weights.bytes + kv_bytes(&f, ST_KV_F32);
    f.model->memory = f32 + mib;
    fixture_check(open_chain(&f, ST_KV_F32, &err), &err);
    f.model->memory = f32; /* working memory counts, too */
    refused(&f, ST_KV_F32, "or a KV in f16, takes less");
    f.model->memory = f32 - 1;
    refused(&f, ST_KV_F32, "a shorter context");
    f.model->memory = f.model->weights.bytes + 1; /* less than the KV alone */
    refused(&f, ST_KV_F16, "the weights take ");
    f.model->memory = 1;
    refused(&f, ST_KV_F16, "a shorter context takes less");
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kv_beside_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
