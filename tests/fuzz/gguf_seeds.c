/* SPDX-License-Identifier: MIT
 * Writes the seeds of gguf_fuzz into a folder that exists: gguf_seeds FOLDER */
#include "fuzz/gguf_seed_files.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: gguf_seeds FOLDER\n");
        return 2;
    }
    int failures = seed_all(argv[1]);
    if (failures) fprintf(stderr, "gguf_seeds: %d files could not be written to %s\n", failures, argv[1]);
    return failures ? 1 : 0;
}
