/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void allocates_aligned_and_zeroed(void **state) {
    (void)state;
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = st_alloc(n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % ST_ALIGN, 0);
        for (size_t i = 0; i < 3 * n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xff, 3 * n);
        st_free(p);
    }
    st_free(NULL);
}

static void refuses_what_overflows(void **state) {
    (void)state;
    assert_null(st_alloc(SIZE_MAX / 2, 3));
    assert_null(st_alloc(SIZE_MAX, 1));
    assert_null(st_alloc((size_t)1 << 33, (size_t)1 << 33));
}

/* What one mapping writes another sees, which is what a second process relies on. */
static void region_is_shared(void **state) {
    (void)state;
    st_region region;
    stretto_error err;
    const size_t bytes = ((size_t)5 << 20) + 1;
    assert_int_equal(st_region_create(&region, "weights", bytes, &err), 0);
    assert_int_equal(region.bytes % (size_t)sysconf(_SC_PAGESIZE), 0);
    assert_true(region.bytes >= bytes && region.bytes < bytes + (1 << 16));
    assert_int_equal((uintptr_t)region.data % 4096, 0);
    for (size_t i = 0; i < region.bytes; i += 509) assert_int_equal(region.data[i], 0);
    assert_true(region.fd >= 0);
    memset(region.data, 7, region.bytes);
    unsigned char *other = mmap(NULL, region.bytes, PROT_READ, MAP_SHARED, region.fd, 0);
    assert_true(other != MAP_FAILED);
    for (size_t i = 0; i < region.bytes; i += 509) assert_int_equal(other[i], 7);
    region.data[bytes - 1] = 9;
    assert_int_equal(other[bytes - 1], 9);
    munmap(other, region.bytes);
    st_region_destroy(&region);
    assert_null(region.data);
    st_region_destroy(&region);
}

/* What was written before its part is settled stays. */
static void region_is_settled_in_parts(void **state) {
    (void)state;
    st_region region;
    const size_t bytes = ((size_t)5 << 20) + 1;
    assert_int_equal(st_region_map(&region, "parts", bytes, NULL), 0);
    for (size_t i = 0; i < bytes; i += 4099) region.data[i] = (uint8_t)(i % 251);
    for (unsigned part = 0; part < 3; part++) st_region_settle(&region, 2 - part, 3);
    for (size_t i = 0; i < bytes; i++) assert_int_equal(region.data[i], i % 4099 == 0 ? i % 251 : 0);
    st_region_destroy(&region);
}

static void region_of_nothing_and_of_too_much(void **state) {
    (void)state;
    st_region region;
    stretto_error err;
    assert_int_equal(st_region_create(&region, "none", 0, &err), 0);
    region.data[0] = 1;
    st_region_destroy(&region);
    assert_int_equal(st_region_create(&region, "head", SIZE_MAX - 5, &err), STRETTO_E_MEMORY);
    assert_non_null(strstr(err.text, "head"));
    assert_int_equal(st_region_create(&region, "head", (size_t)1 << 60, &err), STRETTO_E_MEMORY);
    assert_null(region.data);
    assert_int_equal(region.fd, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocates_aligned_and_zeroed),
        cmocka_unit_test(refuses_what_overflows),
        cmocka_unit_test(region_is_shared),
        cmocka_unit_test(region_is_settled_in_parts),
        cmocka_unit_test(region_of_nothing_and_of_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
