/* SPDX-License-Identifier: MIT
 * Synthetic models by name: --like gemma4-e2b in place of a model's file. */
#ifndef CLI_LIKE_H
#define CLI_LIKE_H

#include "model/synth.h"
#include "option.h"

/* The options that say which one, as lines of an option table. */
/* clang-format off */
#define LIKE_NAMES "smollm2-135m|gemma3-270m|gemma3-1b|gemma4-e2b|gemma4-e4b|llama-3.2-1b|qwen3-0.6b"
#define LIKE_OPTION(offset, purpose) \
    {.name = "like", .kind = CLI_CHOICE, .at = (offset), .value = "NAME", .choices = LIKE_NAMES, .help = purpose \
     "smollm2-135m, gemma3-270m, gemma3-1b, gemma4-e2b, gemma4-e4b, llama-3.2-1b, qwen3-0.6b"}
#define LIKE_DETAILS(type_offset, scale_offset) \
    {.name = "type", .kind = CLI_TEXT, .at = (type_offset), .value = "TYPE", .preset = "q4_0", \
     .help = "type of the synthetic matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k to q6_k, iq4_nl or " \
             "iq4_xs"}, \
        {.name = "scale", .kind = CLI_TEXT, .at = (scale_offset), .value = "1/8", .preset = "1", \
         .help = "shrink the synthetic widths and vocabulary; the number of layers stays"}
/* clang-format on */

/* Fills type and scale of *synth, whose like, log, progress and stop are set too. STRETTO_E_USAGE names what is wrong.
 */
int cli_like_parse(cli *cx, const char *like, const char *type, const char *scale, st_synth_options *synth,
                   stretto_error *err);

/* Fills out with the path of the model that is like `like`. It is written on first use, with progress, to
 * $XDG_CACHE_HOME/stretto or ~/.cache/stretto, which is said on standard error, and found there the next time.
 * STRETTO_E_USAGE; STRETTO_E_IO; STRETTO_E_STOPPED: nothing is left behind; STRETTO_E_MEMORY. */
int cli_like_file(cli *cx, const char *like, const char *type, const char *scale, char *out, size_t size,
                  stretto_error *err);

#endif
