/* SPDX-License-Identifier: MIT
 * Turning what stands after -m into a file: a path, a name that scripts/get-model knows, or that of a file in a models
 * folder. */
#ifndef CLI_RESOLVE_H
#define CLI_RESOLVE_H

#include "stretto/error.h"

#include <stddef.h>

typedef struct cli_known_model {
    const char *name, *file;
} cli_known_model;

extern const cli_known_model cli_known_models[]; /* ended by a NULL name */

/* Writes the path into out. A name is looked for in $STRETTO_MODELS, ./models, the models folders above the program (a
 * build tree inside the project has one), and $XDG_DATA_HOME/stretto/models; so is a file's own name, with or without
 * .gguf. STRETTO_E_IO when there is no such file, with how to get one; STRETTO_E_USAGE when model is NULL. */
int cli_resolve_model(const char *model, char *out, size_t size, stretto_error *err);

#endif
