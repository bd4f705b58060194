/* SPDX-License-Identifier: MIT */
#include "outputs.h"

#include "base/error.h"
#include "base/utf8.h"
#include "input.h"
#include "resolve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIDTH 80

/* ---- what is read ---- */

static const char *text_of(const cli_option *o, const void *options) {
    return *(const char *const *)((const char *)options + o->at);
}

/* Whether the option reads a file, which one, and that it is one whose place another could take. */
static bool reads(const cli_option *o, const void *options, struct stat *out) {
    char path[PATH_MAX];
    const char *name = o->kind == CLI_FILE || o->kind == CLI_MODEL ? text_of(o, options) : NULL;
    if (!name) return false;
    if (o->kind == CLI_FILE && strcmp(name, "-") == 0) return fstat(STDIN_FILENO, out) == 0 && S_ISREG(out->st_mode);
    if (o->kind == CLI_MODEL) {
        if (cli_resolve_model(name, path, sizeof path, NULL)) return false;
        name = path;
    }
    return stat(name, out) == 0 && S_ISREG(out->st_mode);
}

static int spare(const cli_option *target, const cli_option *inputs, const void *options, stretto_error *err) {
    struct stat written, read;
    const char *name = target->kind == CLI_TARGET ? text_of(target, options) : NULL;
    if (!name || stat(name, &written) != 0) return STRETTO_OK;
    for (const cli_option *o = inputs; o && o->name; o++) {
        if (target->may_replace && strcmp(target->may_replace, o->name) == 0) continue;
        if (!reads(o, options, &read) || read.st_dev != written.st_dev || read.st_ino != written.st_ino) continue;
        return st_fail(err, STRETTO_E_USAGE, "%.*s is read: a result cannot replace it (--%s)",
                       ST_CUT(cli_shown_path(text_of(o, options)), 200), target->name);
    }
    return STRETTO_OK;
}

int cli_spare_inputs(const cli_command *command, const void *options, stretto_error *err) {
    int rc = STRETTO_OK;
    for (const cli_option *o = command->options; o->name && !rc; o++) {
        rc = spare(o, command->options, options, err);
        if (!rc) rc = spare(o, command->operands, options, err);
    }
    return rc;
}

/* ---- what is written ---- */

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
            return st_fail(err, STRETTO_E_IO, "cannot make folder %.*s: %s", ST_CUT(path, 300), strerror(errno));
        }
        path[i] = kept;
    }
    return STRETTO_OK;
}

int cli_sinks_differ(st_sink *const *sinks, unsigned n, stretto_error *err) {
    for (unsigned i = 1; i < n; i++) {
        for (unsigned k = 0; sinks[i] && k < i; k++) {
            if (sinks[k] && st_sink_same(sinks[k], sinks[i]))
                return st_fail(err, STRETTO_E_USAGE, "two results cannot go to one file: %.*s and %.*s",
                               ST_CUT(st_sink_path(sinks[k]), 200), ST_CUT(st_sink_path(sinks[i]), 200));
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
