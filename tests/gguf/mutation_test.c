/* SPDX-License-Identifier: MIT
 * The fuzz target's checks without a fuzzer: valid files of every kind, cut at every length and damaged at random. */
#include "base/rng.h"
#include "fuzz/gguf_seed_files.h"
#include "fuzz/gguf_walk.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct seed {
    uint8_t *data;
    size_t size;
} seed;

static seed seeds[128];
static size_t n_seeds;

static void seed_load(const char *path) {
    FILE *f = fopen(path, "rb");
    uint8_t buffer[8192];
    assert_non_null(f);
    size_t n = fread(buffer, 1, sizeof buffer, f);
    fclose(f);
    assert_true(n > 0 && n < sizeof buffer && n_seeds < 128);
    seeds[n_seeds++] = (seed){exact_copy(buffer, n), n};
}

static int seeds_load(void **state) {
    (void)state;
    char folder[] = "/tmp/stretto-seeds-XXXXXX", path[SEED_PATH];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(seed_all(folder), 0);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        seed_load(path);
        unlink(path);
    }
    closedir(dir);
    rmdir(folder);
    return 0;
}

static int seeds_free(void **state) {
    (void)state;
    for (size_t i = 0; i < n_seeds; i++) free(seeds[i].data);
    return 0;
}

static void test_seeds_are_valid(void **state) {
    (void)state;
    assert_int_equal(n_seeds, 42 + 2); /* numbers 0 to 41, and two more */
    for (size_t i = 0; i < n_seeds; i++) assert_int_equal(walk_gguf(seeds[i].data, seeds[i].size), 0);
}

/* Files cut anywhere are refused; only padding after the last tensor may go. */
static void test_every_cut(void **state) {
    (void)state;
    for (size_t i = 0; i < n_seeds; i++) {
        for (size_t n = 0; n < seeds[i].size; n++) {
            uint8_t *cut = exact_copy(seeds[i].data, n);
            int code = walk_gguf(cut, n);
            if (n + 64 <= seeds[i].size) assert_int_equal(code, STRETTO_E_INPUT);
            free(cut);
        }
    }
}

static void damage(st_rng *rng, uint8_t *data, size_t size) {
    static const uint64_t extremes[] = {
        0, 1, 8, 9, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX / 8, (uint64_t)1 << 61};
    for (uint64_t n = 1 + st_rng_below(rng, 3); n > 0; n--) {
        size_t at = (size_t)st_rng_below(rng, size);
        if (st_rng_below(rng, 2) == 0) {
            data[at] ^= (uint8_t)(1u << st_rng_below(rng, 8));
        } else {
            uint64_t value = extremes[st_rng_below(rng, sizeof extremes / sizeof *extremes)];
            size_t room = size - at < 8 ? size - at : 8;
            memcpy(data + at, &value, room);
        }
    }
}

static void test_random_damage(void **state) {
    (void)state;
    st_rng rng;
    size_t refused = 0, total = 0;
    st_rng_seed(&rng, 42);
    for (size_t i = 0; i < n_seeds; i++) {
        for (int k = 0; k < 1000; k++, total++) {
            uint8_t *copy = exact_copy(seeds[i].data, seeds[i].size);
            damage(&rng, copy, seeds[i].size);
            refused += walk_gguf(copy, seeds[i].size) != 0;
            free(copy);
        }
    }
    assert_true(refused > total / 10 && refused < total);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds_are_valid),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, seeds_load, seeds_free);
}
