/* SPDX-License-Identifier: MIT
 * A file that a report will be written to. It is opened before anything is measured, so that a place that cannot be
 * written is known at once; the report itself replaces what was there only when it is whole. */
#ifndef ST_REPORT_SINK_H
#define ST_REPORT_SINK_H

#include "base/buf.h"
#include "stretto/error.h"

#include <stdbool.h>

typedef struct st_sink st_sink;

/* Makes sure that path can be written: a temporary file beside it is made, or, where path is a device or a pipe, it is
 * opened. An existing file is left as it is, and its permissions stay. STRETTO_E_IO names path and reason;
 * STRETTO_E_MEMORY. */
int st_sink_open(st_sink **out, const char *path, stretto_error *err);

/* Makes text the content of path, all of it or, on failure, none (a device gets as much as it takes); the last
 * thing that is done with the sink before it is closed. STRETTO_E_IO names the path, the reason (a full disk, say) and
 * how many bytes were to be written. */
int st_sink_put(st_sink *sink, const st_buf *text, stretto_error *err);

/* The same with what there is so far, as often as results come, before the whole is put. A device or a pipe, where it
 * would stand in front of what replaces it, gets it from st_sink_close, and only if nothing else was put. */
int st_sink_put_early(st_sink *sink, const st_buf *text, stretto_error *err);

const char *st_sink_path(const st_sink *sink);

/* Whether both would replace the same file; devices and pipes take what several write. */
bool st_sink_same(const st_sink *a, const st_sink *b);

/* Removes what is temporary, and writes what was only put early to a device or a pipe, which nobody is told of when it
 * fails. NULL is fine. */
void st_sink_close(st_sink *sink);

#endif
