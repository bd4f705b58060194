/* SPDX-License-Identifier: MIT
 * What all commands' JSON has in common: intervals, the host, and where a result comes from. */
#ifndef ST_REPORT_JSON_H
#define ST_REPORT_JSON_H

#include "report/origin.h"
#include "stat/stat.h"
#include "json/build.h"

json_t *st_json_interval(const st_interval *interval); /* {"value", "lo", "hi"} */

/* Adds what the origin has: "version", "command_line", "host", "seed", "time" (ISO 8601, UTC). */
void st_json_origin(json_t **object, const st_origin *origin);

#endif
