/* SPDX-License-Identifier: MIT
 * JSON on standard output. Building never checks each step: a value that could not be made is NULL, whatever it becomes
 * part of is NULL, too, and cli_json_print tells. json_pack works alike. */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include "session.h"

#include <jansson.h>
#include <stdio.h>

/* A string of any bytes: what is not UTF-8 becomes U+FFFD, as JSON has no other way. */
json_t *cli_json_text(const char *bytes, size_t n);
json_t *cli_json_real(double value); /* null when not finite */
json_t *cli_json_ids(const int32_t *ids, size_t n);

/* Take over value; *object and *array become NULL when that fails. */
void cli_json_set(json_t **object, const char *key, json_t *value);
void cli_json_append(json_t **array, json_t *value);

/* Adds what every record begins with (version, command line), prints and drops object. STRETTO_E_MEMORY when it is NULL. */
int cli_json_print(cli *cx, json_t *object, stretto_error *err);
/* The same into a file, indented; whether the file could take it is for who closes it to ask. */
int cli_json_file(const cli *cx, json_t *object, FILE *file, stretto_error *err);

/* What was run on what: file, model, kernels, chunks and the unit of each. For an open chain. */
json_t *cli_json_session(const session *s);

#endif
