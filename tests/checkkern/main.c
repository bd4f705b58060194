/* SPDX-License-Identifier: MIT
 * checkkern [--seed N] [--table NAME] [--bench [PART-OF-A-NAME]]
 * Checks every kernel table that this CPU can run, or times their kernels. */
#include "checkkern/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_table(check *c) {
    check_ops(c);
    check_attention(c);
    check_matmul(c);
    check_peak(c);
    printf("%s: %u cases, %u failures\n", c->kern->name, c->cases, c->failures);
}

/* The tables of arm64, but for the scalar one, promise the same bits (kern/neon.h). */
static const st_kern *twin_of(const st_kern *table) {
    const st_kern *neon;
    if (st_kern_select(&neon, "neon", NULL) != STRETTO_OK) return NULL;
    return table != neon && strcmp(table->name, "scalar") != 0 ? neon : NULL;
}

int main(int argc, char **argv) {
    const st_kern *tables[8];
    const size_t n = st_kern_list(tables, 8);
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
        if (bench && bench_all(tables[i], kernels) != 0) return 1;
        if (bench) continue;
        check c = {.ref = tables[0], .kern = tables[i], .twin = twin_of(tables[i])};
        st_rng_seed(&c.rng, seed);
        check_table(&c);
        failures += c.failures;
    }
    if (found == 0) fprintf(stderr, "checkkern: this CPU has no table \"%s\"\n", only);
    return failures || found == 0 ? 1 : 0;
}
