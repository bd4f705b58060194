/* SPDX-License-Identifier: MIT
 * A subcommand as data. From one table come parsing, --help, the man page and the completions, so they cannot disagree.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include "cli.h"

#include <stdint.h>

enum cli_kind {              /* and the type of the field that it fills */
                CLI_FLAG,    /* bool */
                CLI_TEXT,    /* const char * */
                CLI_FILE,    /* const char *, a file to read; "-" is standard input */
                CLI_TARGET,  /* const char *, a file to write */
                CLI_FOLDER,  /* const char * */
                CLI_MODEL,   /* const char *, a file or a known name */
                CLI_COMMAND, /* const char *, the name of a command */
                CLI_CHOICE,  /* const char *, one of `choices` */
                CLI_CHOICES, /* const char *, some of them: "a,b" */
                CLI_COUNT,   /* uint32_t, least..most */
                CLI_SEED,    /* uint64_t */
                CLI_NUMBER,  /* double, least..most */
                CLI_COUNTS,  /* cli_counts: "16,128" */
};

/* What a text may be in a job file beside a string. */
enum cli_shape {
    CLI_SHAPE_TEXT,   /* nothing else */
    CLI_SHAPE_NUMBER, /* 10 */
    CLI_SHAPE_LIST,   /* ["a", "b"]: joined by commas; or one number */
    CLI_SHAPE_PAIRS,  /* [[1, 3], [2, 4]]: joined by commas, then by spaces */
    CLI_SHAPE_MAP,    /* {"1": "a"}: 1=a, joined by commas */
};

#define CLI_COUNTS_MAX 256
typedef struct cli_counts {
    uint32_t n;
    uint32_t items[CLI_COUNTS_MAX];
} cli_counts;

typedef struct cli_option {
    const char *name; /* "model", without dashes; NULL ends a table */
    char letter;      /* 'm', or 0 */
    bool hidden;      /* works, but help does not speak of it */
    bool not_in_job;  /* no key of job files */
    enum cli_kind kind;
    enum cli_shape shape;
    size_t at;               /* offset of its field in the command's options */
    const char *value;       /* "MODEL": what help calls the value; NULL for a flag */
    const char *choices;     /* "f16|f32" */
    const char *preset;      /* text parsed before the command line, shown as the default; NULL leaves the field zero */
    double least, most;      /* of a count or number; most = 0: no limit */
    bool above;              /* a number must be more than least */
    const char *may_replace; /* of a file to write: the option whose file it may be, though that is read */
    const char *help;
} cli_option;

typedef struct cli_example {
    const char *command, *what;
} cli_example;

typedef struct cli_command {
    const char *name, *summary;  /* one line, no full stop */
    const char *const *usages;   /* argument patterns, ended by NULL */
    const char *about;           /* paragraphs, separated by "\n\n" */
    const cli_option *options;   /* ended by a NULL name */
    const cli_option *operands;  /* what may stand without a dash, in this order, or NULL; filled like options */
    const cli_example *examples; /* ended by a NULL command */
    size_t options_size;         /* of the structure that is handed to run */
    int (*run)(cli *cx, const void *options, stretto_error *err);
} cli_command;

typedef struct cli_word {
    const char *word, *meaning;
} cli_word;

extern const cli_word cli_words[];              /* what help and output speak of; ended by a NULL word */
extern const cli_command *const cli_commands[]; /* in the order of help; ended by NULL */

const cli_command *cli_command_find(const char *name);
/* Fails with what is wrong with the name, and the nearest one. */
int cli_command_unknown(const char *name, stretto_error *err);

/* Fills *options (zeroed, options_size bytes) from argv[1..]; argv[0] is the command's name. *help becomes true when
 * --help was among them: nothing else counts then. Strings point into argv. STRETTO_E_USAGE with the nearest known
 * name. */
int cli_parse(const cli_command *command, int argc, char **argv, void *options, bool *help, stretto_error *err);

/* The two halves of cli_parse: what options are when they are not given, and the command line on top of what is there.
 */
int cli_presets(const cli_command *command, void *options, stretto_error *err);
int cli_parse_words(const cli_command *command, int argc, char **argv, void *options, bool *help, stretto_error *err);

/* Sets one option as the command line would, from its text (no flag); and a flag. STRETTO_E_USAGE. */
int cli_option_set(const cli_option *o, const char *text, void *options, stretto_error *err);
void cli_option_set_flag(const cli_option *o, bool value, void *options);

/* Texts made from the tables. */
void cli_help_all(st_buf *out);
void cli_help_command(st_buf *out, const cli_command *command);
void cli_man_all(st_buf *out, const char *date);
void cli_man_command(st_buf *out, const cli_command *command, const char *date);
void cli_complete_bash(st_buf *out);
void cli_complete_zsh(st_buf *out);

/* Calls fn for each of the words in "a|b|c". */
void cli_choices(const char *choices, void (*fn)(void *arg, const char *word, size_t n), void *arg);

#endif
