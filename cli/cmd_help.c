/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"

#include <stddef.h>
#include <string.h>

typedef struct help_options {
    const char *command, *man, *completion, *date;
} help_options;

static int known(const char *name, const cli_command **command, stretto_error *err) {
    *command = cli_command_find(name);
    return *command ? STRETTO_OK : cli_command_unknown(name, err);
}

static int make_text(st_buf *text, const help_options *o, stretto_error *err) {
    const cli_command *command;
    const char *date = o->date ? o->date : "";
    int rc = STRETTO_OK;
    if (o->completion) {
        if (strcmp(o->completion, "bash") == 0) cli_complete_bash(text);
        if (strcmp(o->completion, "zsh") == 0) cli_complete_zsh(text);
    } else if (o->man && strcmp(o->man, "stretto") == 0) {
        cli_man_all(text, date);
    } else if (o->man) {
        rc = known(o->man, &command, err);
        if (!rc) cli_man_command(text, command, date);
    } else if (o->command) {
        rc = known(o->command, &command, err);
        if (!rc) cli_help_command(text, command);
    } else {
        cli_help_all(text);
    }
    if (!rc && text->failed) rc = st_fail_memory(err, "the help text", text->len);
    return rc;
}

static int help_run(cli *cx, const void *options, stretto_error *err) {
    st_buf text = {0};
    int rc = make_text(&text, options, err);
    if (!rc) cli_write(cx, text.data, text.len);
    st_buf_free(&text);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
static const cli_option help_table[] = {
    {.name = "completion", .kind = CLI_CHOICE, .at = offsetof(help_options, completion), .value = "SHELL",
     .choices = "bash|zsh", .help = "print completions for this shell (bash, zsh)"},
    {.name = "man", .kind = CLI_COMMAND, .at = offsetof(help_options, man), .value = "COMMAND",
     .help = "print the man page of a command (stretto: of the whole)"},
    {.name = "date", .hidden = true, .kind = CLI_TEXT, .at = offsetof(help_options, date), .value = "DATE",
     .help = "the date that stands on the man page"},
    {0},
};
static const cli_option help_operands[] = {{.name = "COMMAND", .kind = CLI_COMMAND, .at = offsetof(help_options, command)}, {0}};
static const char *const help_usages[] = {"[COMMAND]", "--completion SHELL | --man COMMAND", NULL};
static const cli_example help_examples[] = {
    {"stretto help run", "all about stretto run"},
    {"source <(stretto help --completion bash)", "complete commands and options in this shell"},
    {0},
};

const cli_command cmd_help = {
    .name = "help",
    .summary = "what there is, or all about one command",
    .usages = help_usages,
    .about = "Without a command, lists all of them. Man pages and shell completions come from the same tables.",
    .options = help_table,
    .operands = help_operands,
    .examples = help_examples,
    .options_size = sizeof(help_options),
    .run = help_run,
};
