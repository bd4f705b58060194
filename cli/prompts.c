/* SPDX-License-Identifier: MIT */
#include "prompts.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "input.h"
#include "json/read.h"

#include <stdlib.h>
#include <string.h>

#define N_MOST 1000000

/* Where in the file something was wrong. */
typedef struct place {
    const char *file;
    uint32_t line;
} place;

static int fail_key(const place *at, const char *key, const char *expected, const json_t *found, stretto_error *err) {
    char what[80];
    if (!found)
        return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: no key \"%s\"; expected %s", ST_CUT(at->file, 200),
                       at->line, key, expected);
    st_json_describe(found, what, sizeof what);
    return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: \"%s\" is %s; expected %s", ST_CUT(at->file, 200), at->line,
                   key, what, expected);
}

static int fail_line(const place *at, const json_t *found, stretto_error *err) {
    char what[80];
    st_json_describe(found, what, sizeof what);
    return st_fail(err, STRETTO_E_INPUT, "%.*s line %u is %s; expected an object with id, prompt and n",
                   ST_CUT(at->file, 200), at->line, what);
}

static int check_keys(const place *at, json_t *object, stretto_error *err) {
    static const char *const known[] = {"id", "prompt", "n", "seed", NULL};
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        size_t i = 0;
        while (known[i] && strcmp(key, known[i]) != 0) i++;
        if (known[i]) continue;
        const char *near = st_nearest(key, known);
        if (near)
            return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: unknown key \"%.*s\"; did you mean \"%s\"?",
                           ST_CUT(at->file, 200), at->line, ST_CUT(key, 60), near);
        return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: unknown key \"%.*s\"; a prompt has id, prompt, n and seed",
                       ST_CUT(at->file, 200), at->line, ST_CUT(key, 60));
    }
    return STRETTO_OK;
}

/* A whole number from 0 to most, or the default where there is none. */
static int read_count(const place *at, const json_t *object, const char *key, json_int_t most, uint64_t *value,
                      stretto_error *err) {
    const json_t *found = json_object_get(object, key);
    char expected[64];
    if (!found) return STRETTO_OK;
    snprintf(expected, sizeof expected, "a whole number from 0 to %" JSON_INTEGER_FORMAT, most);
    if (!json_is_integer(found) || json_integer_value(found) < 0 || json_integer_value(found) > most)
        return fail_key(at, key, expected, found, err);
    *value = (uint64_t)json_integer_value(found);
    return STRETTO_OK;
}

static int read_prompt(const place *at, json_t *object, cli_prompt *p, stretto_error *err) {
    uint64_t n = p->n;
    int rc = check_keys(at, object, err);
    if (!rc) rc = read_count(at, object, "n", N_MOST, &n, err);
    if (!rc) rc = read_count(at, object, "seed", INT64_MAX, &p->seed, err);
    if (rc) return rc;
    p->n = (uint32_t)n;
    json_t *id = json_object_get(object, "id"), *text = json_object_get(object, "prompt");
    if (!json_is_string(id) && !json_is_integer(id)) return fail_key(at, "id", "a text or a whole number", id, err);
    if (!json_is_string(text)) return fail_key(at, "prompt", "a text", text, err);
    p->id = json_incref(id);
    st_buf_add(&p->text, json_string_value(text), json_string_length(text));
    return p->text.failed ? st_fail_memory(err, "a prompt", json_string_length(text)) : STRETTO_OK;
}

static cli_prompt *add(cli_prompts *prompts) {
    if (prompts->n == prompts->cap) {
        size_t cap = prompts->cap ? 2 * prompts->cap : 64;
        cli_prompt *more = realloc(prompts->list, cap * sizeof *more);
        if (!more) return NULL;
        prompts->list = more;
        prompts->cap = cap;
    }
    return memset(&prompts->list[prompts->n++], 0, sizeof *prompts->list);
}

/* ids: those so far, each with its line. */
static int note_id(const place *at, json_t *ids, const json_t *id, stretto_error *err) {
    char *name = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!name) return st_fail_memory(err, "an id", 0);
    const json_t *before = json_object_get(ids, name);
    int rc = STRETTO_OK;
    if (before)
        rc = st_fail(err, STRETTO_E_INPUT, "%.*s line %u: \"id\" %.*s is that of line %" JSON_INTEGER_FORMAT ", too",
                     ST_CUT(at->file, 200), at->line, ST_CUT(name, 60), json_integer_value(before));
    else if (json_object_set_new(ids, name, json_integer(at->line)))
        rc = st_fail_memory(err, "an id", strlen(name));
    free(name);
    return rc;
}

static int read_line(cli_prompts *prompts, const place *at, const char *line, size_t length, json_t *ids,
                     const cli_prompt *defaults, stretto_error *err) {
    json_error_t why;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!object && !why.text[0]) return st_fail_memory(err, "a prompt", length); /* Jansson has a word for all else */
    if (!object)
        return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: no JSON at byte %d: %.*s", ST_CUT(at->file, 200), at->line,
                       why.position, ST_CUT(why.text, 160));
    cli_prompt *p = add(prompts);
    int rc = p ? STRETTO_OK : st_fail_memory(err, "the prompts", (prompts->n + 1) * sizeof *p);
    if (!rc) {
        p->n = defaults->n;
        p->seed = defaults->seed;
        p->line = at->line;
        rc = json_is_object(object) ? read_prompt(at, object, p, err) : fail_line(at, object, err);
    }
    if (!rc) rc = note_id(at, ids, p->id, err);
    json_decref(object);
    return rc;
}

int cli_prompts_parse(cli_prompts *prompts, const char *file, const st_buf *text, uint32_t n, uint64_t seed,
                      stretto_error *err) {
    place at = {.file = cli_shown_path(file)};
    cli_prompt defaults = {.n = n, .seed = seed};
    json_t *ids = json_object();
    int rc = ids ? STRETTO_OK : st_fail_memory(err, "the prompts", 0);
    const char *line = text->len ? text->data : "";
    size_t left = text->len, n_line, n_read;
    for (st_json_skip_mark(&line, &left); left > 0 && !rc; line += n_read, left -= n_read) {
        const char *newline = memchr(line, '\n', left);
        n_line = newline ? (size_t)(newline - line) : left;
        n_read = newline ? n_line + 1 : n_line;
        at.line++;
        if (!st_json_blank(line, n_line)) rc = read_line(prompts, &at, line, n_line, ids, &defaults, err);
    }
    json_decref(ids);
    if (!rc && prompts->n == 0) rc = st_fail(err, STRETTO_E_INPUT, "%.*s has no prompts in it", ST_CUT(at.file, 300));
    if (!rc && prompts->n > INT32_MAX)
        rc = st_fail(err, STRETTO_E_INPUT, "%.*s has too many prompts", ST_CUT(at.file, 300));
    return rc;
}

void cli_prompts_free(cli_prompts *prompts) {
    for (size_t i = 0; i < prompts->n; i++) {
        json_decref(prompts->list[i].id);
        st_buf_free(&prompts->list[i].text);
    }
    free(prompts->list);
    *prompts = (cli_prompts){0};
}
