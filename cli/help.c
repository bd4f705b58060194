/* SPDX-License-Identifier: MIT
 * --help, from the tables. At most 80 columns, but for an example that is longer by itself. */
#include "option.h"

#include "report/text.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 79
#define HELP_COLUMN 27

static void help_row(st_buf *out, const char *left, const char *right) {
    size_t n = strlen(left);
    st_buf_printf(out, "  %s", left);
    if (n + 4 > HELP_COLUMN) {
        st_buf_text(out, "\n");
        st_buf_printf(out, "%*s", HELP_COLUMN, "");
    } else {
        st_buf_printf(out, "%*s", (int)(HELP_COLUMN - 2 - n), "");
    }
    st_text_wrap(out, right, HELP_COLUMN, HELP_COLUMN, WIDTH);
    st_buf_text(out, "\n");
}

static void option_help(st_buf *out, const cli_option *o) {
    char left[96], right[1024];
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
    snprintf(right, sizeof right, "%s%s%s%s", o->help, o->preset ? " (default " : "", o->preset ? o->preset : "",
             o->preset ? ")" : "");
    help_row(out, left, right);
}

static void paragraphs(st_buf *out, const char *text) {
    for (;;) {
        const char *end = strstr(text, "\n\n");
        st_buf part = {0};
        st_buf_add(&part, text, end ? (size_t)(end - text) : strlen(text));
        if (part.data) st_text_wrap(out, part.data, 0, 0, WIDTH);
        out->failed |= part.failed;
        st_buf_free(&part);
        st_buf_text(out, "\n");
        if (!end) return;
        st_buf_text(out, "\n");
        text = end + 2;
    }
}

/* The length of the first part of a usage: up to a space that is in no brackets. */
static size_t usage_part(const char *text) {
    size_t n = 0;
    int depth = 0;
    for (; text[n] && (depth > 0 || text[n] != ' '); n++) {
        if (text[n] == '[' || text[n] == '(') depth++;
        if (text[n] == ']' || text[n] == ')') depth--;
    }
    return n;
}

/* Writes a usage from column indent on; lines break between brackets, never within. */
static void usage_wrap(st_buf *out, const char *text, size_t indent) {
    for (size_t column = indent; *text;) {
        size_t n = usage_part(text);
        if (column > indent && column + 1 + n > WIDTH) {
            st_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            st_buf_text(out, " ");
            column++;
        }
        st_buf_add(out, text, n);
        column += n;
        text += n + (text[n] == ' ');
    }
}

const cli_word cli_words[] = {
    {"chunk", "some of a model's layers, one after the other, run as one piece; they are numbered from 1, and the last "
              "one has the head, which gives the next token"},
    {"unit", "what runs a chunk: a set of CPU cores, as in cpu:0 or cpu:0-3 (stretto units lists the cores)"},
    {"overlap", "of two chunks that are started together: 1 where the shorter one costs nothing beside the other, 0 "
                "where both take as long as one after the other, below 0 where they take longer"},
    {"prefill", "reading a prompt: many tokens pass through the chunks at once"},
    {"decode", "generating: one token passes through all chunks before the next one can"},
    {"stream", "one text that is being generated; several can be, at the same time"},
    {"schedule", "which chunk of which stream runs when, and on which unit"},
    {"KV", "keys and values: what a model keeps of the tokens so far, for each stream"},
    {NULL, NULL},
};

void cli_help_command(st_buf *out, const cli_command *command) {
    st_buf_printf(out, "stretto %s - %s\n\n", command->name, command->summary);
    for (const char *const *u = command->usages; *u; u++) {
        size_t indent = 15 + strlen(command->name) + 1;
        st_buf_printf(out, "%s stretto %s ", u == command->usages ? "usage:" : "      ", command->name);
        usage_wrap(out, *u, indent);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, "\n");
    paragraphs(out, command->about);
    st_buf_text(out, "\noptions:\n");
    for (const cli_option *o = command->options; o->name; o++) {
        if (!o->hidden) option_help(out, o);
    }
    help_row(out, "-h, --help", "this text");
    if (!command->examples[0].command) return;
    st_buf_text(out, "\nexamples:\n");
    for (const cli_example *e = command->examples; e->command; e++) {
        st_buf_printf(out, "  %s\n      ", e->command);
        st_text_wrap(out, e->what, 6, 6, WIDTH);
        st_buf_text(out, "\n");
    }
}

void cli_help_all(st_buf *out) {
    st_buf_text(out, "stretto - run a language model as a chain of chunks, and measure which of them\n"
                     "          can run at the same time on this machine\n\n"
                     "usage: stretto COMMAND [options]\n"
                     "       stretto COMMAND --help     what the command does, its options, examples\n"
                     "       stretto --version\n\ncommands:\n");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        st_buf_printf(out, "  %-12s", (*c)->name);
        st_text_wrap(out, (*c)->summary, 14, 14, WIDTH);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, "\nwords:\n");
    for (const cli_word *w = cli_words; w->word; w++) {
        st_buf_printf(out, "  %-12s", w->word);
        st_text_wrap(out, w->meaning, 14, 14, WIDTH);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, "\nexamples:\n"
                     "  stretto probe -m smollm2                do two chunks overlap, and why?\n"
                     "  stretto run -m smollm2 --chat -p \"hi\"   a model answers\n"
                     "  stretto inspect model.gguf              what is in the file\n\n"
                     "A model is a GGUF file, a name that scripts/get-model knows (smollm2,\n"
                     "gemma3-270m) once fetched, or the name of a file in the folder STRETTO_MODELS,\n"
                     "with or without .gguf. A file argument - is standard input. Results go to\n"
                     "standard output, everything else to standard error.\n\n"
                     "exit status: 0 done, 1 failed, 2 wrong usage, 3 input refused, 130 interrupted\n");
}
