/* SPDX-License-Identifier: MIT
 * What else went on: the machine's state around a measurement, and the warnings that it earns. */
#ifndef ST_PROBE_CONDITIONS_H
#define ST_PROBE_CONDITIONS_H

#include "base/host.h"
#include "probe/record.h"

/* The state now. host: read just now, or before when nothing of it may have changed; NULL: only load and throttling.
 * root is "" on a real machine. */
void st_conditions_read(st_conditions *out, const st_host *host, const char *root);

/* Adds to record->warnings what its rows and conditions earn, each with its remedy. */
void st_conditions_warn(st_probe_record *record);

/* Adds a warning for each environment variable that is set and makes a tool trace or serialise what is measured. get is
 * getenv, or a test's. */
void st_tracing_warn(st_buf *warnings, char *(*get)(const char *name));

#endif
