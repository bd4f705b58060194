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

static void command_names(st_buf *out) {
    for (const cli_command *const *c = cli_commands; *c; c++) st_buf_printf(out, " %s", (*c)->name);
}

/* ---- bash ---- */

/* What the script is made with. A file's name may hold spaces and whatever else bash takes apart or expands: matches
 * are read a line each, and a name is never among the words that compgen -W expands. */
static const char bash_tools[] =
    "# Adds what compgen makes of $word with these options.\n"
    "_stretto_offer() {\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"$@\" -- \"$word\")\n"
    "}\n"
    "# Adds the next of several of these words, joined by commas.\n"
    "_stretto_list() {\n"
    "    local before=\n"
    "    if [[ $word == *,* ]]; then before=${word%,*},; fi\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${word##*,}\")\n"
    "}\n"
    "# Adds GGUF files, folders, these names of models, and those of what is in the folders of models.\n"
    "_stretto_model() {\n"
    "    local file name\n"
    "    _stretto_offer -W \"$1\"\n"
    "    _stretto_offer -d\n"
    "    _stretto_offer -f -X '!*.gguf'\n"
    "    for file in \"${STRETTO_MODELS:-models}\"/*.gguf "
    "\"${XDG_DATA_HOME:-$HOME/.local/share}\"/stretto/models/*.gguf; do\n"
    "        name=${file##*/}\n"
    "        name=${name%.gguf}\n"
    "        if [[ -e $file && $name == \"$word\"* && \" ${COMPREPLY[*]} \" != *\" $name \"* ]]; then "
    "COMPREPLY+=(\"$name\"); fi\n"
    "    done\n"
    "}\n";

/* The statement that offers what may be given as o. */
static void bash_value(st_buf *out, const cli_option *o) {
    switch (o->kind) {
    case CLI_FILE:
    case CLI_TARGET:
        st_buf_text(out, "_stretto_offer -f");
        return;
    case CLI_FOLDER:
        st_buf_text(out, "_stretto_offer -d");
        return;
    case CLI_MODEL:
        st_buf_text(out, "_stretto_model \"");
        model_names(out);
        break;
    case CLI_COMMAND:
        st_buf_text(out, "_stretto_offer -W \"");
        command_names(out);
        break;
    case CLI_CHOICE:
    case CLI_CHOICES:
        st_buf_text(out, o->kind == CLI_CHOICE ? "_stretto_offer -W \"" : "_stretto_list \"");
        cli_choices(o->choices, add_word, out);
        break;
    default:
        st_buf_text(out, ":");
        return;
    }
    st_buf_text(out, "\"");
}

/* What may follow the options of a command that have a value. */
static void bash_values(st_buf *out, const cli_command *c) {
    for (const cli_option *o = c->options; o->name; o++) {
        if (o->hidden || o->kind == CLI_FLAG) continue;
        st_buf_printf(out, "        %s:--%s", c->name, o->name);
        if (o->letter) st_buf_printf(out, "|%s:-%c", c->name, o->letter);
        st_buf_text(out, ") ");
        bash_value(out, o);
        st_buf_text(out, "; return ;;\n");
    }
}

/* What may stand where no option waits for its value. */
static void bash_words(st_buf *out, const cli_command *c) {
    st_buf_printf(out, "        %s)\n", c->name);
    if (c->operands) {
        st_buf_text(out, "            if [[ $word != -* ]]; then ");
        bash_value(out, c->operands);
        st_buf_text(out, "; fi\n");
    }
    st_buf_text(out, "            _stretto_offer -W \"--help");
    for (const cli_option *o = c->options; o->name; o++) {
        if (!o->hidden) st_buf_printf(out, " --%s", o->name);
    }
    st_buf_text(out, "\" ;;\n");
}

void cli_complete_bash(st_buf *out) {
    st_buf_text(out, "# bash completion for stretto, made by: stretto help --completion bash\n");
    st_buf_text(out, bash_tools);
    st_buf_text(out, "_stretto() {\n"
                     "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" "
                     "command=\"${COMP_WORDS[1]}\"\n"
                     "    # bash takes --option=value apart, the sign a word of its own\n"
                     "    if [[ $word == = ]]; then\n        word=\n"
                     "    elif [[ $before == = && $COMP_CWORD -gt 2 ]]; then\n"
                     "        before=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
                     "    COMPREPLY=()\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        _stretto_offer -W \"--help --version");
    command_names(out);
    st_buf_text(out, "\"\n        return\n    fi\n    case \"$command:$before\" in\n");
    for (const cli_command *const *c = cli_commands; *c; c++) bash_values(out, *c);
    st_buf_text(out, "    esac\n    case \"$command\" in\n");
    for (const cli_command *const *c = cli_commands; *c; c++) bash_words(out, *c);
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
    case CLI_COMMAND:
        st_buf_text(out, "(");
        command_names(out);
        st_buf_text(out, ")");
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
        st_buf_printf(
            out, o->value ? " \\\n            '(-%c --%s)'{-%c+,--%s=}'[" : " \\\n            '(-%c --%s)'{-%c,--%s}'[",
            o->letter, o->name, o->letter, o->name);
    } else {
        st_buf_printf(out, " \\\n            '--%s%s[", o->name, o->value ? "=" : "");
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
        st_buf_printf(out, " \\\n            '%u:%s:", i + 1, operands[i].name);
        zsh_action(out, &operands[i]);
        st_buf_text(out, "'");
    }
}

void cli_complete_zsh(st_buf *out) {
    st_buf_text(out, "#compdef stretto\n# zsh completion for stretto, made by: stretto help --completion zsh\n"
                     "_stretto_models() {\n    local -a names=(");
    model_names(out);
    st_buf_text(out, " ${STRETTO_MODELS:-models}/*.gguf(N:t:r)\n        "
                     "${XDG_DATA_HOME:-$HOME/.local/share}/stretto/models/*.gguf(N:t:r))\n"
                     "    _alternative 'names:name:compadd -a names' 'files:file:_files -g \"*.gguf\"'\n}\n"
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
