/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include "base/error.h"

#include <string.h>

/* Bytes of the UTF-8 character that s begins with (n bytes left), or of as much of one as is valid: what Unicode calls a
 * maximal subpart (section 3.9, U+FFFD substitution), at least 1. RFC 3629: no overlong forms, no surrogates. */
static size_t character_part(const unsigned char *s, size_t n, bool *whole) {
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    size_t have = 1;
    unsigned char least = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80; /* of the second byte */
    unsigned char most = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    *whole = len == 1;
    if (*whole || s[0] < 0xc2 || s[0] > 0xf4) return 1;
    while (have < len && have < n && s[have] >= least && s[have] <= most) {
        have++;
        least = 0x80;
        most = 0xbf;
    }
    *whole = have == len;
    return have;
}

json_t *cli_json_text(const char *bytes, size_t n) {
    st_buf clean = {0};
    for (size_t at = 0; at < n;) {
        bool whole;
        size_t len = character_part((const unsigned char *)bytes + at, n - at, &whole);
        st_buf_add(&clean, whole ? bytes + at : "\xef\xbf\xbd", whole ? len : 3);
        at += len;
    }
    json_t *text = clean.failed ? NULL : json_stringn(clean.len ? clean.data : "", clean.len);
    st_buf_free(&clean);
    return text;
}

json_t *cli_json_real(double value) {
    json_t *real = json_real(value);
    return real ? real : json_null(); /* jansson refuses what JSON has no word for */
}

json_t *cli_json_ids(const int32_t *ids, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) cli_json_append(&array, json_integer(ids[i]));
    return array;
}

void cli_json_set(json_t **object, const char *key, json_t *value) {
    if (!*object) {
        json_decref(value);
    } else if (json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

void cli_json_append(json_t **array, json_t *value) {
    if (!*array) {
        json_decref(value);
    } else if (json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
    }
}

static json_t *command_line(const cli *cx) {
    json_t *words = json_array();
    for (int i = 0; i < cx->argc; i++) cli_json_append(&words, cli_json_text(cx->argv[i], strlen(cx->argv[i])));
    return words;
}

static int write_json(const char *bytes, size_t n, void *arg) {
    cli_write(arg, bytes, n);
    return 0; /* a failure is remembered in the context */
}

/* Adds what every record begins with, and drops object when that fails. */
static int complete(const cli *cx, json_t **object, stretto_error *err) {
    cli_json_set(object, "version", json_string(STRETTO_VERSION));
    cli_json_set(object, "command_line", command_line(cx));
    return *object ? STRETTO_OK : st_fail(err, STRETTO_E_MEMORY, "out of memory while making JSON");
}

int cli_json_print(cli *cx, json_t *object, stretto_error *err) {
    int rc = complete(cx, &object, err);
    if (rc) return rc;
    int failed = json_dump_callback(object, write_json, cx, JSON_REAL_PRECISION(10) | JSON_COMPACT);
    json_decref(object);
    if (failed) return st_fail(err, STRETTO_E_MEMORY, "out of memory while writing JSON");
    cli_write(cx, "\n", 1);
    return STRETTO_OK;
}

int cli_json_file(const cli *cx, json_t *object, FILE *file, stretto_error *err) {
    int rc = complete(cx, &object, err);
    if (rc) return rc;
    json_dumpf(object, file, JSON_REAL_PRECISION(10) | JSON_INDENT(1)); /* the file remembers a failed write */
    json_decref(object);
    fputc('\n', file);
    return STRETTO_OK;
}

json_t *cli_json_session(const session *s) {
    json_t *chunks = json_array();
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        st_unit_info info;
        st_unit_info_get(s->unit_of[i], &info);
        cli_json_append(&chunks, json_pack("{s:i, s:[i, i], s:s, s:i}", "chunk", (int)i + 1, "layers", (int)s->spans[i].first,
                                           (int)s->spans[i].last, "unit", info.name, "threads", (int)info.n_threads));
    }
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:o}", "file", cli_json_text(s->path, strlen(s->path)), "name",
                     cli_json_text(s->model->name, strlen(s->model->name)), "architecture", st_model_arch_name(s->model), "kernels",
                     s->kern->name, "processor", s->lanes.host.cpu_model, "placement", chunks);
}
