/* SPDX-License-Identifier: MIT
 * A file of prompts: one JSON object a line, {"id": .., "prompt": .., "n": .., "seed": ..}; n and seed may be missing.
 */
#ifndef CLI_PROMPTS_H
#define CLI_PROMPTS_H

#include "base/buf.h"
#include "stretto/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_prompt {
    json_t *id; /* a text or a whole number; owned */
    st_buf text;
    uint32_t n; /* most ids to generate */
    uint64_t seed;
    uint32_t line; /* of the file, from 1 */
} cli_prompt;

typedef struct cli_prompts {
    cli_prompt *list; /* [n] */
    size_t n, cap;
} cli_prompts;

/* Reads the lines of text, empty ones left out. What a line does not have is n and seed. Zero-initialise *prompts;
 * freed with cli_prompts_free in every case. STRETTO_E_INPUT with file, line and key: no object, a key that is missing,
 * unknown or of another type, an id that comes twice; or when there is no prompt at all. */
int cli_prompts_parse(cli_prompts *prompts, const char *file, const st_buf *text, uint32_t n, uint64_t seed,
                      stretto_error *err);
void cli_prompts_free(cli_prompts *prompts);

#endif
