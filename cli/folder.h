/* SPDX-License-Identifier: MIT
 * Output files in a folder, opened before a measurement so that a place that cannot be written is known at once. */
#ifndef CLI_FOLDER_H
#define CLI_FOLDER_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stdio.h>

#define FOLDER_FILES_MAX 8

typedef struct folder_files {
    FILE *file[FOLDER_FILES_MAX];
    char path[FOLDER_FILES_MAX][512];
    unsigned n;
} folder_files;

/* Makes the folder, and its parents, if need be, and opens the named files (ended by NULL) in it for writing. STRETTO_E_IO names what
 * could not be made. On failure nothing stays open. */
int folder_open(folder_files *files, const char *folder, const char *const *names, stretto_error *err);
/* STRETTO_E_IO names the first file that could not be written whole (a full disk, say). All are closed in any case. */
int folder_close(folder_files *files, stretto_error *err);

#endif
