/* SPDX-License-Identifier: MIT
 * Completions for bash and zsh, from the tables. */
#include "option.h"

#include "resolve.h"

#include <string.h>

static void add_word(void *arg, const char *word, size_t n) {
    st_buf *out = arg;
    st_buf_text(out, " ");
    st_buf_add(out, word, n);
}

static void model_names(st_buf *out) {
    for (const cli_known_model *m = cli_known_models; m->name; m++) st_buf_printf(out, " %s", m->name);
}

/* ---- bash ---- */

/* One case of "what may follow this option": files, or the words. */
static void bash_value(st_buf *out, const char *command, const cli_option *o) {
    st_buf_printf(out, "        %s:--%s", command, o->name);
    if (o->letter) st_buf_printf(out, "|%s:-%c", command, o->letter);
    st_buf_text(out, ") ");
    switch (o->kind) {
    case CLI_FILE:
    case CLI_TARGET:
        st_buf_text(out, "COMPREPLY=($(compgen -f -- \"$word\"))");
        break;
    case CLI_FOLDER:
        st_buf_text(out, "COMPREPLY=($(compgen -d -- \"$word\"))");
        break;
    case CLI_MODEL:
        st_buf_text(out, "COMPREPLY=($(compgen -f -W \"");
        model_names(out);
        st_buf_text(out, "\" -- \"$word\"))");
        break;
    case CLI_CHOICE:
    case CLI_CHOICES:
        st_buf_text(out, "COMPREPLY=($(compgen -W \"");
        cli_choices(o->choices, add_word, out);
        st_buf_text(out, "\" -- \"$word\"))");
        break;
    default:
        st_buf_text(out, "COMPREPLY=()");
        break;
    }
    st_buf_text(out, "; return ;;\n");
}

void cli_complete_bash(st_buf *out) {
    st_buf_text(out, "# bash completion for stretto, made by: stretto help --completion bash\n"
                     "_stretto() {\n"
                     "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" "
                     "command=\"${COMP_WORDS[1]}\"\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"--help --version");
    for (const cli_command *const *c = cli_commands; *c; c++) st_buf_printf(out, " %s", (*c)->name);
    st_buf_text(out, "\" -- \"$word\"))\n        return\n    fi\n    case \"$command:$before\" in\n");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        for (const cli_option *o = (*c)->options; o->name; o++) {
            if (!o->hidden && o->kind != CLI_FLAG) bash_value(out, (*c)->name, o);
        }
    }
    st_buf_text(out, "    esac\n    case \"$command\" in\n");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        st_buf_printf(out, "        %s) COMPREPLY=($(compgen%s -W \"--help", (*c)->name,
                      (*c)->operands && (*c)->operands->kind != CLI_TEXT ? " -f" : "");
        for (const cli_option *o = (*c)->options; o->name; o++) {
            if (!o->hidden) st_buf_printf(out, " --%s", o->name);
        }
        st_buf_text(out, "\" -- \"$word\")) ;;\n");
    }
    st_buf_text(out, "    esac\n}\ncomplete -o filenames -F _stretto stretto\n");
}

/* ---- zsh ---- */

/* Text inside single quotes and inside the brackets of an _arguments description. */
static void zsh_text(st_buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'') {
            st_buf_text(out, "'\\''");
        } else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\') {
            st_buf_printf(out, "\\%c", *text);
        } else {
            st_buf_add(out, *text == '\n' ? " " : text, 1);
        }
    }
}

static void zsh_action(st_buf *out, const cli_option *o) {
    switch (o->kind) {
    case CLI_FILE:
    case CLI_TARGET:
        st_buf_text(out, "_files");
        break;
    case CLI_FOLDER:
        st_buf_text(out, "_files -/");
        break;
    case CLI_MODEL:
        st_buf_text(out, "_stretto_models");
        break;
    case CLI_CHOICE:
    case CLI_CHOICES:
        st_buf_text(out, "(");
        cli_choices(o->choices, add_word, out);
        st_buf_text(out, ")");
        break;
    default:
        st_buf_text(out, " ");
        break;
    }
}

static void zsh_option(st_buf *out, const cli_option *o) {
    if (o->letter) {
        st_buf_printf(out, " \\\n            '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
    } else {
        st_buf_printf(out, " \\\n            '--%s[", o->name);
    }
    zsh_text(out, o->help);
    st_buf_text(out, "]");
    if (o->value) {
        st_buf_text(out, ":");
        zsh_text(out, o->value);
        st_buf_text(out, ":");
        zsh_action(out, o);
    }
    st_buf_text(out, "'");
}

static void zsh_operands(st_buf *out, const cli_option *operands) {
    for (unsigned i = 0; operands && operands[i].name; i++) {
        if (operands[i].kind == CLI_MODEL) st_buf_printf(out, " \\\n            '%u:model:_stretto_models'", i + 1);
        if (operands[i].kind == CLI_FILE) st_buf_printf(out, " \\\n            '%u:file:_files'", i + 1);
    }
}

void cli_complete_zsh(st_buf *out) {
    st_buf_text(out, "#compdef stretto\n# zsh completion for stretto, made by: stretto help --completion zsh\n"
                     "_stretto_models() {\n    _alternative 'names:name:(");
    model_names(out);
    st_buf_text(out, ")' 'files:file:_files -g \"*.gguf\"'\n}\n"
                     "_stretto() {\n    if (( CURRENT == 2 )); then\n        local -a commands=(");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        st_buf_printf(out, "\n            '%s:", (*c)->name);
        zsh_text(out, (*c)->summary);
        st_buf_text(out, "'");
    }
    st_buf_text(out, "\n        )\n        _describe command commands\n        return\n    fi\n"
                     "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const cli_command *const *c = cli_commands; *c; c++) {
        st_buf_printf(out, "        %s) _arguments '(-h --help)'{-h,--help}'[show help]'", (*c)->name);
        for (const cli_option *o = (*c)->options; o->name; o++) {
            if (!o->hidden) zsh_option(out, o);
        }
        zsh_operands(out, (*c)->operands);
        st_buf_text(out, " ;;\n");
    }
    st_buf_text(out, "    esac\n}\n_stretto \"$@\"\n");
}
