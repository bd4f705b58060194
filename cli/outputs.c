/* SPDX-License-Identifier: MIT */
#include "outputs.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int cli_make_folders(const char *folder, stretto_error *err) {
    char path[PATH_MAX];
    size_t n = strlen(folder);
    if (n == 0) return st_fail(err, STRETTO_E_USAGE, "the folder to write to has no name");
    if (n >= sizeof path) return st_fail(err, STRETTO_E_USAGE, "the folder's path is too long (%zu bytes)", n);
    memcpy(path, folder, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        char kept = path[i];
        path[i] = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return st_fail(err, STRETTO_E_IO, "cannot make folder %.300s: %s", path, strerror(errno));
        }
        path[i] = kept;
    }
    return STRETTO_OK;
}

int cli_outputs_open(cli_outputs *outputs, const char *folder, const char *const *names, stretto_error *err) {
    *outputs = (cli_outputs){0};
    int rc = cli_make_folders(folder, err);
    for (unsigned i = 0; !rc && names[i] && i < OUTPUTS_MAX; i++) {
        st_buf path = {0};
        st_buf_printf(&path, "%s/%s", folder, names[i]);
        rc = path.failed ? st_fail_memory(err, "a path", path.len) : st_sink_open(&outputs->sink[i], path.data, err);
        st_buf_free(&path);
    }
    return rc;
}

void cli_outputs_close(cli_outputs *outputs) {
    for (unsigned i = 0; i < OUTPUTS_MAX; i++) st_sink_close(outputs->sink[i]);
    *outputs = (cli_outputs){0};
}
