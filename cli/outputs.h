/* SPDX-License-Identifier: MIT
 * The files that a command leaves. They are opened before a measurement, so that a place that cannot be
 * written is known at once. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "option.h"
#include "report/sink.h"

#define OUTPUTS_MAX 8

typedef struct cli_outputs {
    st_sink *sink[OUTPUTS_MAX]; /* NULL: not wanted */
} cli_outputs;

/* Makes a folder, and its parents, if need be. STRETTO_E_IO names what could not be made. */
int cli_make_folders(const char *folder, stretto_error *err);

/* Opens sink i for `file` or, where that is NULL, for `name` in the folder; neither: nothing is wanted. STRETTO_E_IO
 * names what cannot be written, STRETTO_E_USAGE a file that another sink is of. Closed by cli_outputs_close whatever is
 * returned. */
int cli_outputs_open(cli_outputs *outputs, unsigned i, const char *folder, const char *name, const char *file,
                     stretto_error *err);

/* STRETTO_E_USAGE where a file that the options are to write is one that they are to read, or the model's: a result
 * would take its place. */
int cli_spare_inputs(const cli_command *command, const void *options, stretto_error *err);

/* STRETTO_E_USAGE where two of n sinks, just opened, are of one file. NULL sinks are fine. */
int cli_sinks_differ(st_sink *const *sinks, unsigned n, stretto_error *err);

/* Puts text into sink i, if it is wanted, even when another could not be written: `before` is the outcome so far, which
 * is returned unless this is the first failure. */
int cli_outputs_put(const cli_outputs *outputs, unsigned i, const st_buf *text, int before, stretto_error *err);

/* Names the files on standard output, after an empty line, in 80 columns. */
void cli_outputs_show(const cli_outputs *outputs, cli *cx);

void cli_outputs_close(cli_outputs *outputs); /* also of zeroed memory */

#endif
