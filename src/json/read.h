/* SPDX-License-Identifier: MIT
 * Reading JSON that strangers wrote. Each value knows where it stands ("units[1].cores"), so that an error can say what
 * was expected there and what was found. The first failure stays, later calls give zeros, and the caller checks once at
 * the end. */
#ifndef ST_JSON_READ_H
#define ST_JSON_READ_H

#include "stretto/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Moves over the byte order mark that some editors put in front of UTF-8 (RFC 8259, 8.1: a parser may ignore it). */
void st_json_skip_mark(const char **text, size_t *len);
/* Nothing but what JSON calls white space. */
bool st_json_blank(const char *text, size_t len);

typedef struct st_json_in {
    json_t *root;       /* owned */
    int code;           /* of the first failure, or STRETTO_OK */
    stretto_error *err; /* where it is told; may be NULL */
} st_json_in;

typedef struct st_json_value {
    const json_t *json; /* NULL: absent, or something failed before */
    char path[112];     /* "" for the document */
} st_json_value;

/* Parses a document whose top is an object; st_json_end in every case. Duplicate keys are refused. STRETTO_E_INPUT with
 * line and column, or when there is nothing in it; STRETTO_E_MEMORY. */
st_json_value st_json_begin(st_json_in *in, const char *text, size_t len, stretto_error *err);
int st_json_end(st_json_in *in); /* the code; frees what was parsed, so copy strings before */

/* What a value is, and the value where it is short: a text ("cpu"), 7, true, a list. */
void st_json_describe(const json_t *json, char *out, size_t size);

/* Fails with "PATH: message"; returns the code. */
int st_json_fail(st_json_in *in, const st_json_value *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with "PATH: expected EXPECTED, found ..." and what the value is. */
int st_json_fail_found(st_json_in *in, const st_json_value *at, const char *expected);

/* Every key of the object must be one of keys (ended by NULL): otherwise the nearest is suggested. */
void st_json_only(st_json_in *in, const st_json_value *object, const char *const *keys);

/* A member that must be there and be an object or a list; and one that may be absent or null (json is NULL then). */
st_json_value st_json_object(st_json_in *in, const st_json_value *object, const char *key);
st_json_value st_json_list(st_json_in *in, const st_json_value *object, const char *key);
st_json_value st_json_maybe(st_json_in *in, const st_json_value *object, const char *key, json_type type);
bool st_json_has(const st_json_value *object, const char *key);

/* Items of a list: how many (at most `most`, otherwise it fails), and the i-th, which must be of the type. */
size_t st_json_size(st_json_in *in, const st_json_value *list, size_t most);
st_json_value st_json_item(st_json_in *in, const st_json_value *list, size_t i, json_type type);

/* Members that must be there, within limits. */
double st_json_number(st_json_in *in, const st_json_value *object, const char *key, double least, double most);
uint64_t st_json_integer(st_json_in *in, const st_json_value *object, const char *key, uint64_t least, uint64_t most);
bool st_json_bool(st_json_in *in, const st_json_value *object, const char *key);
/* A text of 1 to size - 1 bytes, copied, its control characters as '?' (st_utf8_tame). */
void st_json_string(st_json_in *in, const st_json_value *object, const char *key, char *out, size_t size);
/* The index of the text in words (ended by NULL): otherwise the nearest is suggested. */
unsigned st_json_word(st_json_in *in, const st_json_value *object, const char *key, const char *const *words);

/* The value itself as a text like that, or as an integer within limits. */
void st_json_as_string(st_json_in *in, const st_json_value *value, char *out, size_t size);
uint64_t st_json_as_integer(st_json_in *in, const st_json_value *value, uint64_t least, uint64_t most);

#endif
