/* SPDX-License-Identifier: MIT
 * checkkern [--seed N] [--table NAME] [--bench [PART-OF-A-NAME]]
 * Checks every kernel table that this CPU can run, and those that are emulated on it; or times the kernels of the
 * former. */
#include "checkkern/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CHECKKERN_EMULATED
extern const st_kern emulated_kern_avxvnni, emulated_kern_avx512;
#endif

static const st_kern *find_table(const st_kern **tables, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(tables[i]->name, name)) return tables[i];
    return NULL;
}

/* The tables that this CPU can run, of which there are *real, and then those that are emulated on it, which need AVX2:
 * what they have from there is no emulation. Returns how many there are in all. */
enum { MOST_TABLES = 8 };
static size_t list_tables(const st_kern **tables, size_t *real) {
    size_t n = *real = st_kern_list(tables, MOST_TABLES);
#ifdef CHECKKERN_EMULATED
    static st_kern emulated[2];
    emulated[0] = emulated_kern_avxvnni;
    emulated[0].name = "avxvnni-emulated";
    emulated[1] = emulated_kern_avx512;
    emulated[1].name = "avx512-emulated";
    const bool runs = find_table(tables, n, "avx2");
    for (size_t i = 0; i < 2 && runs && n < MOST_TABLES; i++) tables[n++] = &emulated[i];
#endif
    return n;
}

static void check_table(check *c) {
    check_ops(c);
    check_attention(c);
    check_matmul(c);
    check_peak(c);
    printf("%s: %u cases, %u failures\n", c->kern->name, c->cases, c->failures);
}

/* The vector tables of a processor promise the same bits, those of the least of them (kern/neon.h, kern/avx512.h). */
static const st_kern *twin_of(const st_kern **tables, size_t n, const st_kern *table) {
    const st_kern *least = find_table(tables, n, "neon");
    if (!least) least = find_table(tables, n, "avx2");
    return table != least && table != tables[0] ? least : NULL;
}

static void check_one(const st_kern **tables, size_t n, const st_kern *kern, uint64_t seed, unsigned *failures) {
    check c = {.ref = tables[0], .kern = kern, .twin = twin_of(tables, n, kern)};
    st_rng_seed(&c.rng, seed);
    check_table(&c);
    *failures += c.failures;
}

int main(int argc, char **argv) {
    const st_kern *tables[MOST_TABLES];
    size_t real;
    const size_t n = list_tables(tables, &real);
    const char *only = NULL, *kernels = NULL;
    uint64_t seed = 1;
    bool bench = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--table") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--bench")) {
            bench = true;
            if (i + 1 < argc && argv[i + 1][0] != '-') kernels = argv[++i];
        } else {
            fprintf(stderr, "usage: checkkern [--seed N] [--table NAME] [--bench [PART-OF-A-NAME]]\n");
            return 2;
        }
    }
    unsigned failures = 0, found = 0;
    for (size_t i = 0; i < n; i++) {
        if (only && strcmp(only, tables[i]->name) != 0) continue;
        found++;
        if (bench) {
            if (i < real && bench_all(tables[i], kernels) != 0) return 1;
            continue;
        }
        check_one(tables, n, tables[i], seed, &failures);
    }
    if (found == 0) fprintf(stderr, "checkkern: this CPU has no table \"%s\"\n", only);
    return failures || found == 0 ? 1 : 0;
}
