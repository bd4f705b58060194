/* SPDX-License-Identifier: MIT */
#include "option.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "number.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 48      /* of one command; checked when it is parsed */
#define CHOICES_MAX 16      /* words that are named when another one was given */
#define CHOICES_LONGEST 160 /* characters of all of them */

const cli_command *cli_command_find(const char *name) {
    for (const cli_command *const *c = cli_commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0) return *c;
    }
    return NULL;
}

int cli_command_unknown(const char *name, stretto_error *err) {
    const char *names[64];
    size_t n = 0;
    for (const cli_command *const *c = cli_commands; *c && n < 63; c++) names[n++] = (*c)->name;
    names[n] = NULL;
    const char *near = st_nearest(name, names);
    if (near) return st_fail(err, STRETTO_E_USAGE, "no command \"%.*s\"; did you mean %s?", ST_CUT(name, 60), near);
    return st_fail(err, STRETTO_E_USAGE, "no command \"%.*s\"; stretto help lists them", ST_CUT(name, 60));
}

void cli_choices(const char *choices, void (*fn)(void *arg, const char *word, size_t n), void *arg) {
    while (choices && *choices) {
        size_t n = strcspn(choices, "|");
        fn(arg, choices, n);
        choices += n + (choices[n] == '|');
    }
}

typedef struct lookup {
    const char *word;
    bool found;
} lookup;

static void lookup_word(void *arg, const char *word, size_t n) {
    lookup *l = arg;
    if (strlen(l->word) == n && memcmp(l->word, word, n) == 0) l->found = true;
}

/* ---- values ---- */

static void option_spelling(const cli_option *o, char *out, size_t size) {
    bool operand = isupper((unsigned char)o->name[0]);
    snprintf(out, size, "%s%s", operand ? "" : "--", o->name);
}

static int bad_value(const cli_option *o, const char *text, const char *wanted, stretto_error *err) {
    char name[64];
    option_spelling(o, name, sizeof name);
    return st_fail(err, STRETTO_E_USAGE, "%s wants %s, not \"%.*s\"", name, wanted, ST_CUT(text, 80));
}

static int set_count(const cli_option *o, const char *text, uint32_t *field, stretto_error *err) {
    char wanted[96];
    const char *end = text;
    uint64_t value;
    uint64_t most = o->most > 0 ? (uint64_t)o->most : INT32_MAX;
    if (cli_number_whole(&end, &value) && !*end && value >= (uint64_t)o->least && value <= most) {
        *field = (uint32_t)value;
        return STRETTO_OK;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %.0f to %" PRIu64, o->least, most);
    return bad_value(o, text, wanted, err);
}

static bool above_least(const cli_option *o, double value) {
    return o->above ? value > o->least : value >= o->least;
}

static int set_number(const cli_option *o, const char *text, double *field, stretto_error *err) {
    char wanted[96];
    const char *end = text;
    double value, most = o->most > 0 ? o->most : INFINITY;
    if (cli_number_real(&end, &value) && !*end && isfinite(value) && above_least(o, value) && value <= most) {
        *field = value;
        return STRETTO_OK;
    }
    if (o->most > 0) {
        snprintf(wanted, sizeof wanted, "a number %s %.10g %s %.10g", o->above ? "above" : "from", o->least,
                 o->above ? "and up to" : "to", o->most);
    } else {
        snprintf(wanted, sizeof wanted, o->above ? "a number above %.10g" : "a number, %.10g or more", o->least);
    }
    return bad_value(o, text, wanted, err);
}

static int set_counts(const cli_option *o, const char *text, cli_counts *field, stretto_error *err) {
    char wanted[96];
    const char *at = text;
    uint64_t most = o->most > 0 ? (uint64_t)o->most : INT32_MAX;
    field->n = 0;
    for (;;) {
        uint64_t value;
        bool good = cli_number_whole(&at, &value) && value >= (uint64_t)o->least && value <= most;
        if (!good || (*at && *at != ',')) {
            snprintf(wanted, sizeof wanted, "whole numbers from %.0f to %" PRIu64 " joined by commas", o->least, most);
            return bad_value(o, text, wanted, err);
        }
        if (field->n == CLI_COUNTS_MAX) return bad_value(o, "a longer list", "at most 256 numbers", err);
        field->items[field->n++] = (uint32_t)value;
        if (!*at) return STRETTO_OK;
        at++;
    }
}

/* The choices, as in "a, b or c", and the one that the text may have been meant to be. */
static int bad_choice(const cli_option *o, const char *text, stretto_error *err) {
    char words[CHOICES_LONGEST], wanted[CHOICES_LONGEST * 2] = "", name[64];
    const char *list[CHOICES_MAX + 1];
    size_t n = 0, at = 0;
    snprintf(words, sizeof words, "%s", o->choices);
    for (char *rest = words, *word; n < CHOICES_MAX && (word = strsep(&rest, "|"));) list[n++] = word;
    list[n] = NULL;
    for (size_t i = 0; i < n && at < sizeof wanted; i++)
        at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s",
                               i == 0      ? ""
                               : i + 1 < n ? ", "
                                           : " or ",
                               list[i]);
    const char *near = st_nearest(text, list);
    option_spelling(o, name, sizeof name);
    return st_fail(err, STRETTO_E_USAGE, "%s wants %s, not \"%.*s\"%s%s%s", name, wanted, ST_CUT(text, 80),
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_choice(const cli_option *o, const char *text, const char **field, stretto_error *err) {
    lookup l = {.word = text};
    cli_choices(o->choices, lookup_word, &l);
    if (!l.found) return bad_choice(o, text, err);
    *field = text;
    return STRETTO_OK;
}

/* Each of the words between commas. */
static int set_choices(const cli_option *o, const char *text, const char **field, stretto_error *err) {
    for (const char *at = text;; at++) {
        char word[64];
        const char *found;
        size_t n = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)st_utf8_cut(at, n, sizeof word - 1), at);
        int rc = set_choice(o, word, &found, err);
        if (rc) return rc;
        at += n;
        if (!*at) break;
    }
    *field = text;
    return STRETTO_OK;
}

void cli_option_set_flag(const cli_option *o, bool value, void *options) {
    *(bool *)(void *)((char *)options + o->at) = value;
}

int cli_option_set(const cli_option *o, const char *text, void *options, stretto_error *err) {
    char *field = (char *)options + o->at;
    switch (o->kind) {
    case CLI_FLAG:
        cli_option_set_flag(o, true, options);
        return STRETTO_OK;
    case CLI_CHOICES:
        return set_choices(o, text, (const char **)(void *)field, err);
    case CLI_COUNT:
        return set_count(o, text, (uint32_t *)(void *)field, err);
    case CLI_NUMBER:
        return set_number(o, text, (double *)(void *)field, err);
    case CLI_COUNTS:
        return set_counts(o, text, (cli_counts *)(void *)field, err);
    case CLI_CHOICE:
        return set_choice(o, text, (const char **)(void *)field, err);
    case CLI_SEED: {
        const char *end = text;
        uint64_t *seed = (void *)field; /* no larger than JSON's integers: the seed told is the one used */
        bool good = cli_number_whole(&end, seed) && !*end && *seed <= INT64_MAX;
        return good ? STRETTO_OK : bad_value(o, text, "a whole number below 2^63", err);
    }
    case CLI_TARGET:
    case CLI_FOLDER:
        if (strcmp(text, "-") == 0) return bad_value(o, text, "a name (./- for one that is called -)", err);
        *(const char **)(void *)field = text;
        return STRETTO_OK;
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_MODEL:
    case CLI_COMMAND:
        *(const char **)(void *)field = text;
        return STRETTO_OK;
    }
    return st_fail(err, STRETTO_E_INTERNAL, "option --%s has no kind", o->name);
}

/* ---- the command line ---- */

static int unknown_long(const cli_command *command, const char *word, stretto_error *err) {
    const char *names[OPTIONS_MAX + 2];
    size_t n = 0, matches = 0;
    size_t len = strcspn(word, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)st_utf8_cut(word, len, sizeof name - 1), word);
    for (const cli_option *o = command->options; o->name && n < OPTIONS_MAX; o++) {
        if (o->hidden) continue;
        names[n++] = o->name;
        matches += strncmp(o->name, name, strlen(name)) == 0;
    }
    names[n++] = "help";
    names[n] = NULL;
    if (matches > 1) return st_fail(err, STRETTO_E_USAGE, "option --%s of %s is ambiguous", name, command->name);
    const char *near = st_nearest(name, names);
    if (near) {
        return st_fail(err, STRETTO_E_USAGE, "%s has no option --%s; did you mean --%s?", command->name, name, near);
    }
    return st_fail(err, STRETTO_E_USAGE, "%s has no option --%s; stretto %s --help lists them", command->name, name,
                   command->name);
}

/* What getopt_long refused: an unknown option, or a value given to a flag. */
static int refused(const cli_command *command, char **argv, const struct option *longs, stretto_error *err) {
    const char *word = argv[optind - 1];
    for (const struct option *l = longs; l->name; l++) {
        size_t n = strlen(l->name);
        if (optopt == l->val && strncmp(word, "--", 2) == 0 && strncmp(word + 2, l->name, n) == 0 &&
            word[2 + n] == '=') {
            return st_fail(err, STRETTO_E_USAGE, "option --%s of %s takes no value", l->name, command->name);
        }
    }
    if (strncmp(word, "--", 2) == 0) return unknown_long(command, word + 2, err);
    return st_fail(err, STRETTO_E_USAGE, "%s has no option -%c; stretto %s --help lists them", command->name, optopt,
                   command->name);
}

#define LONG_BASE 1000 /* getopt values of options: LONG_BASE + index */

/* Turns the table into what getopt_long wants. */
static size_t make_getopt(const cli_command *command, struct option *longs, char *shorts) {
    size_t n = 0, s = 0, i = 0;
    shorts[s++] = ':'; /* a missing value is told apart from an unknown option */
    shorts[s++] = 'h';
    for (const cli_option *o = command->options; o->name && i < OPTIONS_MAX; o++, i++) {
        int has = o->kind == CLI_FLAG ? no_argument : required_argument;
        longs[n++] = (struct option){.name = o->name, .has_arg = has, .val = LONG_BASE + (int)i};
        if (o->letter) shorts[s++] = o->letter;
        if (o->letter && has) shorts[s++] = ':';
    }
    longs[n++] = (struct option){.name = "help", .val = 'h'};
    longs[n] = (struct option){0};
    shorts[s] = 0;
    return i;
}

static const cli_option *option_of(const cli_command *command, int code) {
    if (code >= LONG_BASE) return &command->options[code - LONG_BASE];
    for (const cli_option *o = command->options; o->name; o++) {
        if (o->letter && o->letter == code) return o;
    }
    return NULL;
}

static int missing_value(const cli_command *command, stretto_error *err) {
    const cli_option *o = option_of(command, optopt);
    char name[64];
    if (!o) return st_fail(err, STRETTO_E_USAGE, "option -%c wants a value", optopt);
    option_spelling(o, name, sizeof name);
    return st_fail(err, STRETTO_E_USAGE, "option %s wants a value: %s", name, o->value);
}

int cli_presets(const cli_command *command, void *options, stretto_error *err) {
    for (const cli_option *o = command->options; o->name; o++) {
        if (!o->preset) continue;
        int rc = cli_option_set(o, o->preset, options, err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

/* Whether an option has filled the operand's field before. */
static bool already_given(const cli_option *operand, const void *options) {
    return operand->kind == CLI_MODEL &&
           *(const char *const *)(const void *)((const char *)options + operand->at) != NULL;
}

/* A word that no operand is for: what people mean by it most of the time. */
static int stray(const cli_command *command, const char *word, const void *options, stretto_error *err) {
    const cli_option *model = NULL, *prompt = NULL;
    for (const cli_option *o = command->options; o->name; o++) {
        if (o->kind == CLI_MODEL && strcmp(o->name, "model") == 0) model = o;
        if (o->kind == CLI_TEXT && strcmp(o->name, "prompt") == 0) prompt = o;
    }
    if (model && !already_given(model, options))
        return st_fail(err, STRETTO_E_USAGE, "%s takes its model as an option: -m '%.*s'", command->name,
                       ST_CUT(word, 80));
    if (prompt)
        return st_fail(err, STRETTO_E_USAGE, "%s takes its text as an option: -p '%.*s'", command->name,
                       ST_CUT(word, 80));
    return st_fail(err, STRETTO_E_USAGE, "%s does not know what to do with \"%.*s\"; stretto %s --help", command->name,
                   ST_CUT(word, 80), command->name);
}

static int set_operands(const cli_command *command, int argc, char **argv, void *options, stretto_error *err) {
    const cli_option *operand = command->operands;
    for (int i = optind; i < argc; i++, operand++) {
        if (!operand || !operand->name) return stray(command, argv[i], options, err);
        if (already_given(operand, options)) {
            return st_fail(err, STRETTO_E_USAGE, "%s is given twice: as an option, and as \"%.*s\"", operand->name,
                           ST_CUT(argv[i], 80));
        }
        int rc = cli_option_set(operand, argv[i], options, err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *options, bool *help, stretto_error *err) {
    *help = false;
    int rc = cli_presets(command, options, err);
    return rc ? rc : cli_parse_words(command, argc, argv, options, help, err);
}

int cli_parse_words(const cli_command *command, int argc, char **argv, void *options, bool *help, stretto_error *err) {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 3];
    *help = false;
    size_t n = make_getopt(command, longs, shorts);
    if (command->options[n].name) return st_fail(err, STRETTO_E_INTERNAL, "%s has too many options", command->name);
    int rc = STRETTO_OK;
    optind = 0; /* glibc: start anew */
    opterr = 0;
    int code;
    while (!rc && (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == 'h') {
            *help = true;
            return STRETTO_OK;
        }
        if (code == '?') return refused(command, argv, longs, err);
        if (code == ':') return missing_value(command, err);
        rc = cli_option_set(option_of(command, code), optarg, options, err);
    }
    return rc ? rc : set_operands(command, argc, argv, options, err);
}
