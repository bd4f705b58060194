/* SPDX-License-Identifier: MIT
 * Man pages, from the tables: roff with the man(7) macros. */
#include "option.h"

#include <ctype.h>
#include <string.h>

/* Text as roff shows it unchanged: a hyphen people may copy, no line that begins like a request. */
static void roff(st_buf *out, const char *text) {
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) st_buf_text(out, "\\&");
        if (*text == '-') {
            st_buf_text(out, "\\-");
        } else if (*text == '\\') {
            st_buf_text(out, "\\e");
        } else {
            st_buf_add(out, text, 1);
        }
        line_start = *text == '\n';
    }
}

/* Paragraphs separated by blank lines. */
static void roff_paragraphs(st_buf *out, const char *text) {
    const char *end;
    while ((end = strstr(text, "\n\n")) != NULL) {
        st_buf part = {0};
        st_buf_add(&part, text, (size_t)(end - text));
        roff(out, part.data ? part.data : "");
        st_buf_free(&part);
        st_buf_text(out, "\n.PP\n");
        text = end + 2;
    }
    roff(out, text);
    st_buf_text(out, "\n");
}

static void man_head(st_buf *out, const char *name, const char *summary, const char *date) {
    st_buf_text(out, ".TH ");
    for (const char *c = name; *c; c++) {
        char upper = (char)toupper((unsigned char)*c);
        st_buf_add(out, &upper, 1);
    }
    st_buf_printf(out, " 1 \"%s\" \"stretto %s\" \"Stretto manual\"\n.SH NAME\n%s \\- ", date, STRETTO_VERSION, name);
    roff(out, summary);
    st_buf_text(out, "\n.SH SYNOPSIS\n");
}

static void man_option(st_buf *out, const cli_option *o) {
    st_buf_text(out, ".TP\n");
    if (o->letter) st_buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    st_buf_text(out, "\\fB\\-\\-");
    roff(out, o->name);
    st_buf_text(out, "\\fR");
    if (o->value) {
        st_buf_text(out, " \\fI");
        roff(out, o->value);
        st_buf_text(out, "\\fR");
    }
    st_buf_text(out, "\n");
    roff(out, o->help);
    if (o->preset) {
        st_buf_text(out, " (default ");
        roff(out, o->preset);
        st_buf_text(out, ")");
    }
    st_buf_text(out, "\n");
}

static void man_examples(st_buf *out, const cli_example *examples) {
    if (!examples->command) return;
    st_buf_text(out, ".SH EXAMPLES\n");
    for (const cli_example *e = examples; e->command; e++) {
        st_buf_text(out, ".TP\n\\fB");
        roff(out, e->command);
        st_buf_text(out, "\\fR\n");
        roff(out, e->what);
        st_buf_text(out, "\n");
    }
}

static void man_tail(st_buf *out) {
    st_buf_text(
        out,
        ".SH EXIT STATUS\n0 done; 1 failed; 2 wrong usage; 3 input refused (a malformed or unsupported model, a prompt "
        "that is too long, a bad job file);\n130 interrupted, after writing what there is.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n\\fBSTRETTO_MODELS\\fR\nwhere to look first for models given by name; then come models in the current "
        "folder, the project's models, and stretto/models in \\fBXDG_DATA_HOME\\fR (default: ~/.local/share)\n"
        ".TP\n\\fBXDG_CACHE_HOME\\fR\nwhere models made by --like are kept, in stretto (default: ~/.cache)\n"
        ".TP\n\\fBSTRETTO_CPU\\fR\nwhich kernels to use: scalar, or on x86-64 avx2, avxvnni or avx512, or on arm64 "
        "neon, "
        "dotprod or i8mm (default: the best that this processor can run)\n"
        ".TP\n\\fBCHUNK_PIPELINE_SPIKE\\fR\n1 makes \\fBstretto run\\fR probe two chunks once before decoding\n"
        ".TP\n\\fBNO_COLOR\\fR\nset to anything: no colour\n");
}

void cli_man_command(st_buf *out, const cli_command *command, const char *date) {
    st_buf name = {0};
    st_buf_printf(&name, "stretto-%s", command->name);
    if (name.data) man_head(out, name.data, command->summary, date);
    st_buf_free(&name);
    for (const char *const *u = command->usages; *u; u++) {
        st_buf_printf(out, "%s\\fBstretto %s\\fR ", u == command->usages ? "" : ".br\n", command->name);
        roff(out, *u);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, ".SH DESCRIPTION\n");
    roff_paragraphs(out, command->about);
    st_buf_text(out, ".SH OPTIONS\n");
    for (const cli_option *o = command->options; o->name; o++) {
        if (!o->hidden) man_option(out, o);
    }
    st_buf_text(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\na summary of this page\n");
    man_examples(out, command->examples);
    man_tail(out);
    st_buf_text(out, ".SH SEE ALSO\n\\fBstretto\\fR(1)\n");
}

void cli_man_all(st_buf *out, const char *date) {
    man_head(out, "stretto", "run a language model as a chain of chunks, and measure which of them overlap", date);
    st_buf_text(
        out,
        "\\fBstretto\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n"
        "Stretto runs a language model as a chain of chunks, measures which of them can run at the same time on the "
        "compute units of this machine, and says why or why not.\n.PP\n"
        "A model is a GGUF file, or a name that scripts/get\\-model knows (smollm2, gemma3\\-270m) once fetched. A "
        "file "
        "argument \\- is standard input. Results go to standard output, everything else to standard error.\n"
        ".SH COMMANDS\n");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        st_buf_printf(out, ".TP\n\\fBstretto\\-%s\\fR(1)\n", (*c)->name);
        roff(out, (*c)->summary);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, ".SH WORDS\n");
    for (const cli_word *w = cli_words; w->word; w++) {
        st_buf_printf(out, ".TP\n\\fB%s\\fR\n", w->word);
        roff(out, w->meaning);
        st_buf_text(out, "\n");
    }
    man_tail(out);
}
