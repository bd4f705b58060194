/* SPDX-License-Identifier: MIT */
#include "outputs.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH 80

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

int cli_sinks_differ(st_sink *const *sinks, unsigned n, stretto_error *err) {
    for (unsigned i = 1; i < n; i++) {
        for (unsigned k = 0; sinks[i] && k < i; k++) {
            if (sinks[k] && st_sink_same(sinks[k], sinks[i]))
                return st_fail(err, STRETTO_E_USAGE, "two results cannot go to one file: %.200s and %.200s",
                               st_sink_path(sinks[k]), st_sink_path(sinks[i]));
        }
    }
    return STRETTO_OK;
}

int cli_outputs_open(cli_outputs *outputs, unsigned i, const char *folder, const char *name, const char *file,
                     stretto_error *err) {
    if (!file && !folder) return STRETTO_OK;
    st_buf path = {0};
    if (file)
        st_buf_text(&path, file);
    else
        st_buf_printf(&path, "%s/%s", folder, name);
    int rc = path.failed ? st_fail_memory(err, "a path", path.len) : st_sink_open(&outputs->sink[i], path.data, err);
    st_buf_free(&path);
    return rc ? rc : cli_sinks_differ(outputs->sink, OUTPUTS_MAX, err);
}

int cli_outputs_put(const cli_outputs *outputs, unsigned i, const st_buf *text, int before, stretto_error *err) {
    stretto_error own = {0};
    if (!outputs->sink[i]) return before;
    int rc = st_sink_put(outputs->sink[i], text, &own);
    return before || !rc ? before : st_fail(err, rc, "%s", own.text);
}

void cli_outputs_show(const cli_outputs *outputs, cli *cx) {
    size_t at = 0;
    for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
        if (!outputs->sink[i]) continue;
        const char *path = st_sink_path(outputs->sink[i]);
        size_t n = strlen(path);
        bool fits = at > 0 && at + 2 + n <= WIDTH;
        cli_printf(cx, fits ? "  " : "\n  ");
        cli_name(cx, path, n);
        at = (fits ? at : 0) + 2 + n;
    }
    if (at) cli_printf(cx, "\n");
}

void cli_outputs_close(cli_outputs *outputs) {
    for (unsigned i = 0; i < OUTPUTS_MAX; i++) st_sink_close(outputs->sink[i]);
    *outputs = (cli_outputs){0};
}
