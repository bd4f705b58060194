/* SPDX-License-Identifier: MIT
 * A decode step allocates nothing: the linker sends every allocation of this program's own code through counters
 * (tests/CMakeLists.txt). */
#include "support/fixture.h"

#include <stdatomic.h>

static atomic_uint allocations;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);

void *__wrap_malloc(size_t n) {
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n) {
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n) {
    atomic_fetch_add(&allocations, 1);
    return __real_aligned_alloc(align, n);
}

static void decode_allocates_nothing(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0", "tiny-gemma4-Q8_0"};
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        char path[512];
        stretto_error err = {0};
        int32_t ids[] = {3, 14, 15, 92, 65, 35};
        snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, models[i]);
        fixture_open(&f, path, NULL);
        fixture_unit(&f, 0, 2);
        unsigned before = atomic_load(&allocations);
        st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 128, 0, 1, NULL);
        assert_true(atomic_load(&allocations) > before); /* the counters see something */
        before = atomic_load(&allocations);
        fixture_check(st_chain_forward(chain, ids, 6, ST_WANT_LAST, NULL, NULL, &err), &err);
        for (int t = 0; t < 20; t++) {
            int32_t id = st_chain_argmax(chain);
            fixture_check(st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, &err), &err);
        }
        assert_int_equal(atomic_load(&allocations), before);
        st_chain_close(chain);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(decode_allocates_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
