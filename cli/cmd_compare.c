/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "input.h"
#include "json_out.h"
#include "report/compare_report.h"

#include <string.h>

typedef struct compare_options {
    const char *before, *after, *format;
    uint64_t seed;
    bool json;
} compare_options;

static int read_one(const cli *cx, const char *path, st_probe_record *record, st_probe_source *source,
                    stretto_error *err) {
    st_buf text = {0};
    int rc = cli_read_file(cx, path, &text, err);
    if (!rc) {
        rc = st_probe_read(record, source, text.data, text.len, err);
        if (rc) st_fail_prefix(err, cli_shown_path(path));
    }
    st_buf_free(&text);
    return rc;
}

static int show(cli *cx, const compare_options *o, const st_compare_report *report, stretto_error *err) {
    st_buf text = {0};
    st_origin origin = cli_origin(cx, NULL);
    if (o->json || strcmp(o->format, "json") == 0)
        st_json_write(&text, st_compare_json(report, &origin), false);
    else if (strcmp(o->format, "md") == 0)
        st_compare_markdown(&text, report);
    else
        st_compare_text(&text, report, cx->color);
    int rc = text.failed ? st_fail_memory(err, "the comparison", text.len) : STRETTO_OK;
    if (!rc) cli_write(cx, text.data, text.len);
    st_buf_free(&text);
    return rc;
}

static int compare_run(cli *cx, const void *options, stretto_error *err) {
    const compare_options *o = options;
    if (!o->before || !o->after)
        return st_fail(err, STRETTO_E_USAGE, "compare wants two files of probe --json: before and after");
    st_probe_record record[2] = {0};
    st_probe_source source[2];
    st_compare compare = {0};
    const char *const names[2] = {o->before, o->after};
    int rc = read_one(cx, o->before, &record[0], &source[0], err);
    if (!rc) rc = read_one(cx, o->after, &record[1], &source[1], err);
    if (!rc) rc = st_compare_records(&compare, &record[0], &record[1], names, o->seed, err);
    if (!rc) {
        st_compare_report report = {
            .compare = &compare, .name = {names[0], names[1]}, .source = {&source[0], &source[1]}};
        rc = show(cx, o, &report, err);
    }
    st_compare_free(&compare);
    st_probe_record_free(&record[0]);
    st_probe_record_free(&record[1]);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(compare_options, field)
static const cli_option compare_table[] = {
    {.name = "format", .kind = CLI_CHOICE, .at = AT(format), .value = "FORM", .choices = "text|md|json",
     .preset = "text", .help = "text, md (Markdown) or json"},
    {.name = "seed", .kind = CLI_SEED, .at = AT(seed), .value = "N", .preset = "1", .help = "of the resampling"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "the same as --format json"},
    {0},
};
/* clang-format on */
static const cli_option compare_operands[] = {
    {.name = "BEFORE.json", .kind = CLI_FILE, .at = AT(before)},
    {.name = "AFTER.json", .kind = CLI_FILE, .at = AT(after)},
    {0},
};
static const char *const compare_usages[] = {"BEFORE.json AFTER.json [--format text|md|json] [--seed N]", NULL};
static const cli_example compare_examples[] = {
    {"stretto compare before.json after.json", "two reports of stretto probe --json, or of its -o DIR"},
    {"stretto compare old/probe.json new/probe.json --json", "for a program"},
    {0},
};

const cli_command cmd_compare = {
    .name = "compare",
    .summary = "what changed between two probes, beyond noise",
    .usages = compare_usages,
    .about =
        "Reads two reports of stretto probe and says for each pair and arrangement how the overlap factor and the "
        "times changed, with 95 % intervals. Runs of a program differ by more than the rounds of one run show, so "
        "processes are resampled and then their rounds: probe with --fresh 5 on both sides. With one run a side the "
        "intervals are of these two runs only, and that is said. Reports of different models, splits or cache "
        "states are refused.",
    .options = compare_table,
    .operands = compare_operands,
    .examples = compare_examples,
    .options_size = sizeof(compare_options),
    .run = compare_run,
};
