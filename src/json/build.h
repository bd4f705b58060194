/* SPDX-License-Identifier: MIT
 * Building JSON with jansson. Building never checks each step: a value that could not be made is NULL, whatever it
 * becomes part of is NULL, too, and the last caller tells. */
#ifndef ST_JSON_BUILD_H
#define ST_JSON_BUILD_H

#include "base/buf.h"

#include <jansson.h>
#include <stdint.h>

/* Text of any bytes up to the NUL: what is not UTF-8 becomes U+FFFD, as JSON has no other way. */
json_t *st_json_text(const char *text);
json_t *st_json_real(double value);    /* null when not finite */
json_t *st_json_count(uint64_t value); /* an integer; above 2^63 - 1 that */

/* Take over value; *object and *array become NULL when that fails or value is NULL. */
void st_json_set(json_t **object, const char *key, json_t *value);
void st_json_append(json_t **array, json_t *value);

/* Appends the document, indented by one or, compact, in one line, and a newline; drops value. out->failed is set when
 * value is NULL or memory is out. */
void st_json_write(st_buf *out, json_t *value, bool compact);

#endif
