/* SPDX-License-Identifier: MIT
 * Where tests find the real models that scripts/get-model fetches: the folder in the environment's STRETTO_MODELS, else
 * models/ in the project. scripts/test sets it to an empty folder for the sanitizer builds, which use the tiny models.
 */
#ifndef ST_TEST_REAL_MODEL_H
#define ST_TEST_REAL_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEST_SMOLLM2 "SmolLM2-135M-Instruct.Q4_1.gguf"
#define TEST_GEMMA3 "gemma3-270m.gguf"
#define TEST_SKIPPED 77 /* a test program's exit code when it could not test anything */

/* Writes the path of the model `file` to path, a buffer of `size` bytes, and returns it; NULL, and a line that says
 * what to do, when the model is not there. */
static inline const char *test_real_model(const char *file, char *path, size_t size) {
    const char *folder = getenv("STRETTO_MODELS");
    snprintf(path, size, "%s/%s", folder && *folder ? folder : ST_MODELS, file);
    if (access(path, R_OK) == 0) return path;
    printf("skipped: no %s (scripts/get-model fetches it)\n", path);
    return NULL;
}

#endif
