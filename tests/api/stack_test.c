/* SPDX-License-Identifier: MIT
 * A caller's thread may have a small stack: 128 KiB is what some C libraries give. */
#include "support.h"

#include "stretto/probe.h"

#include <pthread.h>

/* Instrumented code has frames several times as large. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STACK_BYTES ((size_t)1 << 20)
#else
#define STACK_BYTES ((size_t)128 << 10)
#endif

typedef int (*stack_use)(stretto_error *err);

typedef struct stack_call {
    stack_use use;
    stretto_error err;
    int code;
} stack_call;

static void *call_main(void *arg) {
    stack_call *call = arg;
    call->code = call->use(&call->err);
    return NULL;
}

static void on_small_stack(stack_use use) {
    stack_call call = {.use = use};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, call_main, &call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    must(call.code, &call.err);
}

static int with_model(const char *path, const char *kernels, int (*use)(stretto_model *model, stretto_error *err),
                      stretto_error *err) {
    stretto_model *model = NULL;
    stretto_model_options options = {.kernels = kernels, .threads = 2};
    int code = stretto_model_open(&model, path, &options, err);
    if (!code) code = use(model, err);
    stretto_model_close(model);
    return code;
}

static int decode(stretto_model *model, stretto_error *err) {
    const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7, 8};
    stretto_chain *chain = NULL;
    int code = stretto_chain_open(&chain, model, NULL, err);
    if (!code) code = stretto_chain_append(chain, ids, 8, NULL, NULL, err);
    for (int i = 0; i < 4 && !code; i++) {
        int32_t id = stretto_chain_argmax(chain);
        code = stretto_chain_append(chain, &id, 1, NULL, NULL, err);
    }
    stretto_chain_close(chain);
    return code;
}

static int probe(stretto_model *model, stretto_error *err) {
    stretto_probe_result result;
    stretto_probe_options options = {.rounds = 2};
    stretto_chain *chain = NULL;
    int code = stretto_chain_open(&chain, model, NULL, err);
    if (!code) code = stretto_probe_chunks(&result, chain, 0, 1, NULL, NULL, &options, err);
    stretto_chain_close(chain);
    return code;
}

static int decode_best(stretto_error *err) {
    return with_model(GOLDEN("tiny-llama-F32.gguf"), NULL, decode, err);
}

static int decode_scalar(stretto_error *err) {
    return with_model(GOLDEN("tiny-gemma3-F32.gguf"), "scalar", decode, err);
}

static int probe_best(stretto_error *err) {
    return with_model(GOLDEN("tiny-llama-F32.gguf"), NULL, probe, err);
}

static void chains_run(void **state) {
    (void)state;
    on_small_stack(decode_best);
    on_small_stack(decode_scalar);
}

static void chunks_are_probed(void **state) {
    (void)state;
    on_small_stack(probe_best);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_run), cmocka_unit_test(chunks_are_probed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
