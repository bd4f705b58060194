/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "json_out.h"
#include "like.h"

#include <string.h>
#include <sys/stat.h>

typedef struct synth_options {
    const char *like, *type, *scale, *output;
    uint64_t seed;
    bool json;
} synth_options;

static int print_json(cli *cx, const synth_options *o, stretto_error *err) {
    struct stat st = {0};
    if (stat(o->output, &st) != 0) st.st_size = 0;
    json_t *root = json_pack("{s:o, s:s, s:s, s:s, s:I, s:I}", "file", st_json_text(o->output), "like", o->like, "type",
                             o->type, "scale", o->scale, "seed", (json_int_t)o->seed, "bytes", (json_int_t)st.st_size);
    return cli_json_print(cx, root, NULL, err);
}

static int synth_run(cli *cx, const void *options, stretto_error *err) {
    const synth_options *o = options;
    if (!o->like)
        return st_fail(err, STRETTO_E_USAGE, "no model to be like: --like NAME (stretto synth --help lists them)");
    if (!o->output || !*o->output) return st_fail(err, STRETTO_E_USAGE, "nowhere to write: -o FILE");
    st_synth_options synth;
    int rc = cli_like_parse(cx, o->like, o->type, o->scale, &synth, err);
    synth.seed = o->seed;
    if (!rc) rc = st_synth_write(o->output, &synth, err);
    cli_progress_end(cx);
    return rc || !o->json ? rc : print_json(cx, o, err);
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(synth_options, field)
static const cli_option synth_table[] = {
    LIKE_OPTION(AT(like), "whose shapes: "),
    LIKE_DETAILS(AT(type), AT(scale)),
    {.name = "seed", .kind = CLI_SEED, .at = AT(seed), .value = "N", .preset = "1", .help = "of the random weights"},
    {.name = "output", .letter = 'o', .kind = CLI_TARGET, .at = AT(output), .value = "FILE",
     .help = "the file to write"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print what was written as JSON"},
    {0},
};
static const char *const synth_usages[] = {"--like NAME [--type TYPE] [--scale 1/8] -o FILE", NULL};
static const cli_example synth_examples[] = {
    {"stretto synth --like smollm2-135m --type q4_1 -o synth.gguf",
     "a file as large and as fast as SmolLM2, without its sense"},
    {"stretto synth --like gemma4-e2b --type q4_0 --scale 1/4 -o small.gguf", "the same layers, a quarter as wide"},
    {0},
};

const cli_command cmd_synth = {
    .name = "synth",
    .summary = "write a model file of known shapes with random weights",
    .usages = synth_usages,
    .about = "Writes a GGUF file with seeded random weights at the shapes of a named model, so that speed and "
             "overlap can be studied without that model's own weights. The same options give the same file "
             "everywhere. Rows that a block size does not divide fall back to another type, which is said. An "
             "interrupted write leaves nothing behind.",
    .options = synth_table,
    .examples = synth_examples,
    .options_size = sizeof(synth_options),
    .run = synth_run,
};
