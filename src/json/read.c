/* SPDX-License-Identifier: MIT */
#include "json/read.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int st_json_fail(st_json_in *in, const st_json_value *at, const char *fmt, ...) {
    if (in->code) return in->code;
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    st_utf8_trim(text);
    va_end(args);
    in->code = at->path[0] ? st_fail(in->err, STRETTO_E_INPUT, "%s: %s", at->path, text)
                           : st_fail(in->err, STRETTO_E_INPUT, "%s", text);
    return in->code;
}

void st_json_skip_mark(const char **text, size_t *len) {
    if (*len < 3 || memcmp(*text, "\xef\xbb\xbf", 3) != 0) return;
    *text += 3;
    *len -= 3;
}

bool st_json_blank(const char *text, size_t len) {
    while (len > 0 && strchr(" \t\r\n", *text) && *text) text++, len--;
    return len == 0;
}

st_json_value st_json_begin(st_json_in *in, const char *text, size_t len, stretto_error *err) {
    json_error_t problem;
    *in = (st_json_in){.err = err};
    st_json_value top = {0};
    st_json_skip_mark(&text, &len);
    if (st_json_blank(text, len)) {
        in->code = st_fail(err, STRETTO_E_INPUT, "empty; expected a JSON object");
        return top;
    }
    in->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &problem);
    if (!in->root && !problem.text[0]) { /* Jansson has a word for all else */
        in->code = st_fail_memory(err, "JSON", len);
    } else if (!in->root) {
        in->code = st_fail(err, STRETTO_E_INPUT, "line %d, column %d: no JSON: %.*s", problem.line, problem.column,
                           ST_CUT(problem.text, 200));
    } else if (!json_is_object(in->root)) {
        st_json_fail(in, &top, "expected a JSON object");
    } else {
        top.json = in->root;
    }
    return top;
}

int st_json_end(st_json_in *in) {
    json_decref(in->root);
    in->root = NULL;
    return in->code;
}

static const char *type_name(json_type type) {
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

/* Never as an integer looks: 2.0 is none where one is expected. */
static void describe_real(double value, char *out, size_t size) {
    int n = snprintf(out, size, "%g", value);
    if (n > 0 && !strpbrk(out, ".e")) snprintf(out + n, size - (size_t)n, ".0");
}

void st_json_describe(const json_t *json, char *out, size_t size) {
    if (json_is_string(json)) {
        snprintf(out, size, "a text (\"%.*s\")", ST_CUT(json_string_value(json), 40));
    } else if (json_is_integer(json)) {
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    } else if (json_is_real(json)) {
        describe_real(json_real_value(json), out, size);
    } else if (json_is_boolean(json)) {
        snprintf(out, size, "%s", json_is_true(json) ? "true" : "false");
    } else {
        snprintf(out, size, "%s", type_name(json_typeof(json)));
    }
}

int st_json_fail_found(st_json_in *in, const st_json_value *at, const char *expected) {
    char found[80];
    st_json_describe(at->json, found, sizeof found);
    return st_json_fail(in, at, "expected %s, found %s", expected, found);
}

static st_json_value join(const st_json_value *object, const char *key, const json_t *json) {
    st_json_value value = {.json = json};
    snprintf(value.path, sizeof value.path, "%.*s%s%.*s", ST_CUT(object->path, 80), object->path[0] ? "." : "",
             ST_CUT(key, 24));
    return value;
}

void st_json_only(st_json_in *in, const st_json_value *object, const char *const *keys) {
    if (in->code || !object->json) return;
    for (void *at = json_object_iter((json_t *)object->json); at;
         at = json_object_iter_next((json_t *)object->json, at)) {
        const char *key = json_object_iter_key(at);
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0) i++;
        if (keys[i]) continue;
        const char *near = st_nearest(key, keys);
        if (near) {
            st_json_fail(in, object, "unknown key \"%.*s\"; did you mean \"%s\"?", ST_CUT(key, 60), near);
        } else {
            st_json_fail(in, object, "unknown key \"%.*s\"", ST_CUT(key, 60));
        }
        return;
    }
}

static bool is_type(const json_t *json, json_type type) {
    if (type == JSON_REAL) return json_is_number(json);
    if (type == JSON_TRUE) return json_is_boolean(json);
    return json_typeof(json) == type;
}

st_json_value st_json_maybe(st_json_in *in, const st_json_value *object, const char *key, json_type type) {
    st_json_value value = join(object, key, NULL);
    if (in->code || !object->json) return value;
    const json_t *json = json_object_get(object->json, key);
    if (!json || json_is_null(json)) return value;
    value.json = json;
    if (is_type(json, type)) return value;
    st_json_fail_found(in, &value, type_name(type));
    value.json = NULL;
    return value;
}

bool st_json_has(const st_json_value *object, const char *key) {
    const json_t *json = object->json ? json_object_get(object->json, key) : NULL;
    return json && !json_is_null(json);
}

static st_json_value member(st_json_in *in, const st_json_value *object, const char *key, json_type type) {
    st_json_value value = st_json_maybe(in, object, key, type);
    if (!in->code && !value.json) st_json_fail(in, object, "\"%s\" is missing: expected %s", key, type_name(type));
    return value;
}

st_json_value st_json_object(st_json_in *in, const st_json_value *object, const char *key) {
    return member(in, object, key, JSON_OBJECT);
}

st_json_value st_json_list(st_json_in *in, const st_json_value *object, const char *key) {
    return member(in, object, key, JSON_ARRAY);
}

size_t st_json_size(st_json_in *in, const st_json_value *list, size_t most) {
    if (in->code || !list->json) return 0;
    size_t n = json_array_size(list->json);
    if (n <= most) return n;
    st_json_fail(in, list, "expected at most %zu items, found %zu", most, n);
    return 0;
}

st_json_value st_json_item(st_json_in *in, const st_json_value *list, size_t i, json_type type) {
    st_json_value value = {0};
    snprintf(value.path, sizeof value.path, "%.*s[%zu]", ST_CUT(list->path, 90), i);
    if (in->code || !list->json) return value;
    value.json = json_array_get(list->json, i);
    if (value.json && is_type(value.json, type)) return value;
    if (value.json) st_json_fail_found(in, &value, type_name(type));
    value.json = NULL;
    return value;
}

double st_json_number(st_json_in *in, const st_json_value *object, const char *key, double least, double most) {
    st_json_value value = member(in, object, key, JSON_REAL);
    if (in->code) return least;
    double number = json_number_value(value.json);
    if (number >= least && number <= most) return number;
    char expected[64];
    snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
    st_json_fail_found(in, &value, expected);
    return least;
}

uint64_t st_json_as_integer(st_json_in *in, const st_json_value *value, uint64_t least, uint64_t most) {
    if (in->code || !value->json) return least;
    json_int_t number = json_integer_value(value->json);
    if (json_is_integer(value->json) && number >= 0 && (uint64_t)number >= least && (uint64_t)number <= most)
        return (uint64_t)number;
    char expected[80];
    snprintf(expected, sizeof expected, "an integer from %" PRIu64 " to %" PRIu64, least, most);
    st_json_fail_found(in, value, expected);
    return least;
}

uint64_t st_json_integer(st_json_in *in, const st_json_value *object, const char *key, uint64_t least, uint64_t most) {
    st_json_value value = member(in, object, key, JSON_INTEGER);
    return st_json_as_integer(in, &value, least, most);
}

bool st_json_bool(st_json_in *in, const st_json_value *object, const char *key) {
    st_json_value value = member(in, object, key, JSON_TRUE);
    return !in->code && json_is_true(value.json);
}

void st_json_as_string(st_json_in *in, const st_json_value *value, char *out, size_t size) {
    out[0] = '\0';
    if (in->code || !value->json) return;
    size_t len = json_string_length(value->json);
    if (len == 0 || len >= size) {
        st_json_fail(in, value, "expected a text of 1 to %zu bytes, found %zu", size - 1, len);
        return;
    }
    memcpy(out, json_string_value(value->json), len + 1);
    st_utf8_tame(out);
}

void st_json_string(st_json_in *in, const st_json_value *object, const char *key, char *out, size_t size) {
    st_json_value value = member(in, object, key, JSON_STRING);
    st_json_as_string(in, &value, out, size);
}

static unsigned word_index(st_json_in *in, const st_json_value *at, const char *word, const char *const *words) {
    if (in->code) return 0;
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0) return i;
    }
    const char *near = st_nearest(word, words);
    if (near) {
        st_json_fail(in, at, "no \"%.*s\" is known; did you mean \"%s\"?", ST_CUT(word, 60), near);
        return 0;
    }
    char all[200] = "";
    for (unsigned i = 0; words[i]; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%.*s", i ? ", " : "", ST_CUT(words[i], 40));
    }
    st_json_fail(in, at, "no \"%.*s\" is known; expected one of %s", ST_CUT(word, 60), all);
    return 0;
}

unsigned st_json_word(st_json_in *in, const st_json_value *object, const char *key, const char *const *words) {
    st_json_value value = member(in, object, key, JSON_STRING);
    char word[256]; /* as the words themselves were read, which are all shorter */
    if (in->code) return 0;
    snprintf(word, sizeof word, "%s", json_string_value(value.json));
    st_utf8_tame(word);
    return word_index(in, &value, word, words);
}
