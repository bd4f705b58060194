/* SPDX-License-Identifier: MIT
 * The files that a command leaves in a folder. They are opened before a measurement, so that a place that cannot be
 * written is known at once. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "report/sink.h"

#define OUTPUTS_MAX 4

typedef struct cli_outputs {
    st_sink *sink[OUTPUTS_MAX];
} cli_outputs;

/* Makes the folder, and its parents, if need be. STRETTO_E_IO names what could not be made. */
int cli_make_folders(const char *folder, stretto_error *err);

/* Makes the folder, and its parents, if need be, and opens a sink for each of the names (ended by NULL) in it.
 * STRETTO_E_IO names what could not be made. Closed by cli_outputs_close whatever is returned. */
int cli_outputs_open(cli_outputs *outputs, const char *folder, const char *const *names, stretto_error *err);
void cli_outputs_close(cli_outputs *outputs); /* also of zeroed memory */

#endif
