/* SPDX-License-Identifier: MIT
 * JSON on standard output, and what of it is the command's own. Building follows report/json.h: what could not be made
 * is NULL, and cli_json_print tells. */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include "report/json.h"
#include "session.h"

/* As st_json_text, for n bytes that may hold NULs. */
json_t *cli_json_text(const char *bytes, size_t n);
json_t *cli_json_ids(const int32_t *ids, size_t n);

/* This program run, for records: host may be NULL. Points into cx and host. */
st_origin cli_origin(const cli *cx, const st_host *host);

/* Adds the origin, prints object in one line and drops it. STRETTO_E_MEMORY when it is NULL. */
int cli_json_print(cli *cx, json_t *object, const st_host *host, stretto_error *err);

/* What was run on what: file, model, kernels, chunks and the unit of each. For an open chain. */
json_t *cli_json_session(const session *s);

#endif
