/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_known_model cli_known_models[] = {
    {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
    {"gemma3-270m", "gemma3-270m.gguf"},
    {NULL, NULL},
};

/* Where the search stands. */
typedef struct search {
    const char *file;
    char *out;
    size_t size;
} search;

static bool try_folder(search *s, const char *folder, const char *below) {
    int n = snprintf(s->out, s->size, "%s%s/%s", folder, below, s->file);
    return n > 0 && (size_t)n < s->size && access(s->out, F_OK) == 0;
}

static bool try_environment(search *s) {
    const char *models = getenv("STRETTO_MODELS");
    return models && *models && try_folder(s, models, "");
}

static bool try_beside_program(search *s) {
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash) return false;
    *slash = 0;
    return try_folder(s, exe, "/../models") || try_folder(s, exe, "/../../models") ||
           try_folder(s, exe, "/../../../models");
}

static bool try_user_data(search *s) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data) return try_folder(s, data, "/stretto/models");
    return home && *home && try_folder(s, home, "/.local/share/stretto/models");
}

#define FOLDERS "$STRETTO_MODELS, ./models, the project's models folder or ~/.local/share/stretto/models"

static bool try_folders(const char *file, char *out, size_t size) {
    search s = {.file = file, .out = out, .size = size};
    return try_environment(&s) || try_folder(&s, ".", "/models") || try_beside_program(&s) || try_user_data(&s);
}

/* A file of a models folder by its name, which may lack the ending. */
static bool try_name(const char *model, char *out, size_t size) {
    char file[NAME_MAX + 8];
    if (strchr(model, '/') || strlen(model) > NAME_MAX) return false;
    if (try_folders(model, out, size)) return true;
    snprintf(file, sizeof file, "%s.gguf", model);
    return try_folders(file, out, size);
}

static int not_found(const char *model, int reason, stretto_error *err) {
    const char *names[sizeof cli_known_models / sizeof cli_known_models[0]];
    size_t n = 0;
    for (const cli_known_model *m = cli_known_models; m->name; m++) names[n++] = m->name;
    names[n] = NULL;
    if (reason != ENOENT || strchr(model, '/'))
        return st_fail(err, STRETTO_E_IO, "cannot open model %.*s: %s", ST_CUT(model, 300), strerror(reason));
    const char *near = strstr(model, ".gguf") ? NULL : st_nearest(model, names);
    if (near) return st_fail(err, STRETTO_E_IO, "no model %.*s; did you mean %s?", ST_CUT(model, 200), near);
    return st_fail(err, STRETTO_E_IO,
                   "no model %.*s: no such file here or in " FOLDERS ", and no known name (smollm2, gemma3-270m)",
                   ST_CUT(model, 200));
}

int cli_resolve_model(const char *model, char *out, size_t size, stretto_error *err) {
    if (!model || !*model)
        return st_fail(err, STRETTO_E_USAGE, "no model given: -m MODEL, a GGUF file or a name like smollm2");
    if (strlen(model) >= size)
        return st_fail(err, STRETTO_E_USAGE, "the model's path is too long (%zu bytes)", strlen(model));
    if (access(model, F_OK) == 0) {
        snprintf(out, size, "%s", model);
        return STRETTO_OK;
    }
    int reason = errno;
    for (const cli_known_model *m = cli_known_models; m->name; m++) {
        if (strcmp(m->name, model) != 0) continue;
        if (try_folders(m->file, out, size)) return STRETTO_OK;
        return st_fail(err, STRETTO_E_IO,
                       "model %s is not here yet (no %s in " FOLDERS
                       "); scripts/get-model %s, in the project's folder, fetches it",
                       m->name, m->file, m->name);
    }
    return try_name(model, out, size) ? STRETTO_OK : not_found(model, reason, err);
}
