/* SPDX-License-Identifier: MIT
 * Text that came from anywhere, made safe for a page. */
#ifndef ST_REPORT_HTML_H
#define ST_REPORT_HTML_H

#include "base/buf.h"

#include <jansson.h>

/* Appends text as content of an element or of a quoted attribute: markup and quotes as references, what is not UTF-8,
 * and control characters, as U+FFFD. */
void st_html_text(st_buf *out, const char *text);

/* The same inside <bdi>, so that a name cannot turn the direction of what stands around it. */
void st_html_name(st_buf *out, const char *name);

/* Appends value as compact JSON for a <script type="application/json">: nothing in it can end the element. Takes value;
 * out->failed is set when it is NULL. */
void st_html_json(st_buf *out, json_t *value);

#endif
