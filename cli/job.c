/* SPDX-License-Identifier: MIT */
#include "job.h"

#include "base/error.h"
#include "base/utf8.h"
#include "input.h"
#include "number.h"
#include "resolve.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB_MAX (1 << 20) /* bytes: a job is written by hand */
#define KEY_MAX 64
#define KEYS_MAX 64

struct cli_job_text {
    struct cli_job_text *next;
    char text[];
};

static int fail_in(const char *path, stretto_error *err) {
    return st_fail_prefix(err, cli_shown_path(path));
}

/* ---- keys ---- */

/* "kv-type" is kv_type in JSON. */
static void key_of(const cli_option *o, char key[KEY_MAX]) {
    snprintf(key, KEY_MAX, "%s", o->name);
    for (char *c = key; *c; c++)
        if (*c == '-') *c = '_';
}

static void check_keys(cli_job *job, const cli_command *command) {
    char keys[KEYS_MAX][KEY_MAX];
    const char *names[KEYS_MAX + 3] = {"schema", "command"};
    size_t n = 0;
    for (const cli_option *o = command->options; o->name && n < KEYS_MAX; o++) {
        if (o->hidden || o->not_in_job) continue;
        key_of(o, keys[n]);
        names[2 + n] = keys[n];
        n++;
    }
    st_json_only(&job->in, &job->top, names);
}

/* ---- values ---- */

static const char *wanted_text(const cli_option *o) {
    switch (o->kind) {
    case CLI_FLAG:
        return "true or false";
    case CLI_COUNT:
    case CLI_SEED:
        return "a whole number";
    case CLI_NUMBER:
        return "a number";
    case CLI_COUNTS:
        return "a whole number or a list of them";
    case CLI_CHOICES:
        return "a name or a list of names";
    default:
        break;
    }
    switch (o->shape) {
    case CLI_SHAPE_NUMBER:
        return "a number, or a text as on the command line";
    case CLI_SHAPE_LIST:
        return "a list, a number, or a text as on the command line";
    case CLI_SHAPE_PAIRS:
        return "a list of pairs, as in [[1, 3], [2, 4]], or a text as on the command line";
    case CLI_SHAPE_MAP:
        return "an object, as in {\"1\": \"cpu:0\"}, or a text as on the command line";
    default:
        return "a text";
    }
}

/* A word that separators cannot be mistaken in. */
static bool add_word(st_buf *out, const json_t *value) {
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        st_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return true;
    }
    const char *word = json_string_value(value);
    if (!word || !*word || strpbrk(word, ", =;")) return false;
    st_buf_text(out, word);
    return true;
}

static bool add_list(st_buf *out, const json_t *list) {
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        if (i) st_buf_text(out, ",");
        if (!add_word(out, json_array_get(list, i))) return false;
    }
    return n > 0;
}

static bool add_pairs(st_buf *out, const json_t *pairs) {
    size_t n = json_array_size(pairs);
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(pairs, i);
        if (i) st_buf_text(out, " ");
        if (json_array_size(pair) != 2 || !add_list(out, pair)) return false;
    }
    return n > 0;
}

static bool add_map(st_buf *out, json_t *map) {
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach(map, key, value) {
        st_buf_printf(out, "%s%s=", n++ ? "," : "", key);
        if (!*key || strpbrk(key, ", =;") || !add_word(out, value)) return false;
    }
    return n > 0;
}

static bool add_number(st_buf *out, const json_t *value) {
    if (json_is_integer(value)) st_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value)) st_buf_printf(out, "%.17g", json_real_value(value));
    return json_is_number(value);
}

static bool add_string(st_buf *out, const json_t *value) {
    const char *text = json_string_value(value);
    if (text) st_buf_text(out, text);
    return text != NULL;
}

/* The value in the form of the command line; false when it has the wrong type. */
static bool value_text(st_buf *out, const cli_option *o, json_t *value) {
    switch (o->kind) {
    case CLI_COUNT:
    case CLI_SEED:
        return json_is_integer(value) && json_integer_value(value) >= 0 && add_number(out, value);
    case CLI_NUMBER:
        return add_number(out, value);
    case CLI_COUNTS:
        return json_is_array(value) ? add_list(out, value) : add_word(out, value);
    case CLI_CHOICES: /* a text may hold several, as on the command line */
        return json_is_array(value) ? add_list(out, value) : add_string(out, value);
    case CLI_CHOICE:
        return add_string(out, value);
    default:
        break;
    }
    if (json_is_string(value)) return add_string(out, value);
    switch (o->shape) {
    case CLI_SHAPE_NUMBER:
        return add_number(out, value);
    case CLI_SHAPE_LIST:
        return json_is_array(value) ? add_list(out, value) : add_word(out, value);
    case CLI_SHAPE_PAIRS:
        return add_pairs(out, value);
    case CLI_SHAPE_MAP:
        return json_is_object(value) && add_map(out, value);
    default:
        return false;
    }
}

/* Keeps a copy that lives as long as the job. */
static const char *keep_text(cli_job *job, const st_buf *text) {
    const char *bytes = text->len ? text->data : "";
    struct cli_job_text *kept = malloc(sizeof *kept + text->len + 1);
    if (!kept) return NULL;
    memcpy(kept->text, bytes, text->len + 1);
    kept->next = job->texts;
    job->texts = kept;
    return kept->text;
}

static int set_option(cli_job *job, const cli_option *o, const char *key, void *options) {
    json_t *value = json_object_get(job->in.root, key);
    st_json_value at = {.json = value};
    snprintf(at.path, sizeof at.path, "%s", key);
    if (o->kind == CLI_FLAG && json_is_boolean(value)) {
        cli_option_set_flag(o, json_is_true(value), options);
        return STRETTO_OK;
    }
    st_buf text = {0};
    bool fits = o->kind != CLI_FLAG && value_text(&text, o, value);
    const char *kept = fits && !text.failed ? keep_text(job, &text) : NULL;
    st_buf_free(&text);
    if (!fits) return st_json_fail_found(&job->in, &at, wanted_text(o));
    if (!kept) return job->in.code = st_fail_memory(job->in.err, "a job", 0);
    stretto_error problem;
    if (cli_option_set(o, kept, options, &problem) == STRETTO_OK) return STRETTO_OK;
    return st_json_fail(&job->in, &at, "%s", problem.text);
}

/* ---- files ---- */

static void check_head(cli_job *job, const cli_command *command) {
    char word[48];
    st_json_string(&job->in, &job->top, "schema", word, sizeof word);
    if (!job->in.code && strcmp(word, CLI_JOB_SCHEMA) != 0)
        st_json_fail(&job->in, &job->top, "expected the schema " CLI_JOB_SCHEMA ", found %s", word);
    if (job->in.code || !st_json_has(&job->top, "command")) return;
    st_json_string(&job->in, &job->top, "command", word, sizeof word);
    if (!job->in.code && strcmp(word, command->name) != 0)
        st_json_fail(&job->in, &job->top, "this is a job for stretto %s, not for stretto %s", word, command->name);
}

/* No file, but a name that -m would find. */
static bool is_model_name(const char *path) {
    char file[PATH_MAX];
    stretto_error none;
    return access(path, F_OK) != 0 && cli_resolve_model(path, file, sizeof file, &none) == STRETTO_OK;
}

int cli_job_read(cli_job *job, const cli *cx, const cli_command *command, const char *path, stretto_error *err) {
    st_buf text = {0};
    *job = (cli_job){0};
    int rc = cli_read_file(cx, path, &text, err);
    if (rc == STRETTO_E_IO && is_model_name(path))
        rc = st_fail(err, STRETTO_E_USAGE, "%.*s is a model, not a job: -m %.*s", ST_CUT(path, 200), ST_CUT(path, 200));
    if (!rc && text.len >= 4 && memcmp(text.data, "GGUF", 4) == 0)
        rc = st_fail(err, STRETTO_E_INPUT, "%.*s is a model, not a job: -m %.*s", ST_CUT(path, 200), ST_CUT(path, 200));
    if (!rc && text.len > JOB_MAX)
        rc = st_fail(err, STRETTO_E_INPUT, "%.*s has %zu bytes: a job has at most %d", ST_CUT(path, 200), text.len,
                     JOB_MAX);
    if (!rc) {
        job->top = st_json_begin(&job->in, text.len ? text.data : "", text.len, err);
        if (!job->in.code) check_head(job, command);
        if (!job->in.code) check_keys(job, command);
        if (job->in.code) rc = fail_in(path, err);
    }
    st_buf_free(&text);
    return rc;
}

int cli_job_apply(cli_job *job, const cli_command *command, const char *path, void *options, stretto_error *err) {
    char key[KEY_MAX];
    job->in.err = err;
    for (const cli_option *o = command->options; o->name; o++) {
        key_of(o, key);
        if (o->hidden || o->not_in_job || !st_json_has(&job->top, key)) continue;
        if (set_option(job, o, key, options)) return fail_in(path, err);
    }
    return STRETTO_OK;
}

void cli_job_free(cli_job *job) {
    st_json_end(&job->in);
    while (job->texts) {
        struct cli_job_text *next = job->texts->next;
        free(job->texts);
        job->texts = next;
    }
    *job = (cli_job){0};
}

/* ---- writing ---- */

/* "10" and "10s" as the number that they are; anything else as it is. */
static json_t *number_of_text(const char *text) {
    const char *end = text;
    double value;
    if (!cli_number_real(&end, &value) || !isfinite(value)) return st_json_text(text);
    if (*end == 's') end++;
    if (*end) return st_json_text(text);
    return value == floor(value) && value >= 0 && value < 1e15 ? st_json_count((uint64_t)value) : st_json_real(value);
}

/* The value of an option, NULL when memory is out; *absent: it has none to speak of. */
static json_t *option_value(const cli_option *o, const void *options, bool *absent) {
    const char *field = (const char *)options + o->at;
    *absent = false;
    switch (o->kind) {
    case CLI_FLAG:
        *absent = !*(const bool *)(const void *)field;
        return *absent ? NULL : json_true();
    case CLI_COUNT: {
        uint32_t count = *(const uint32_t *)(const void *)field;
        *absent = count == 0 && !o->preset;
        return *absent ? NULL : st_json_count(count);
    }
    case CLI_SEED:
        return st_json_count(*(const uint64_t *)(const void *)field);
    case CLI_NUMBER:
        return st_json_real(*(const double *)(const void *)field);
    case CLI_COUNTS: {
        const cli_counts *counts = (const void *)field;
        json_t *list = json_array();
        for (uint32_t i = 0; i < counts->n; i++) st_json_append(&list, st_json_count(counts->items[i]));
        return list;
    }
    default: {
        const char *text = *(const char *const *)(const void *)field;
        *absent = !text;
        if (text && o->shape == CLI_SHAPE_NUMBER) return number_of_text(text);
        return text ? st_json_text(text) : NULL;
    }
    }
}

void cli_job_write(st_buf *out, const cli_command *command, const void *options) {
    json_t *job = json_object();
    st_json_set(&job, "schema", json_string(CLI_JOB_SCHEMA));
    st_json_set(&job, "command", json_string(command->name));
    for (const cli_option *o = command->options; o->name; o++) {
        char key[KEY_MAX];
        bool absent;
        if (o->hidden || o->not_in_job) continue;
        json_t *value = option_value(o, options, &absent);
        key_of(o, key);
        if (!absent) st_json_set(&job, key, value);
    }
    st_json_write(out, job, false);
}
