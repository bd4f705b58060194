/* SPDX-License-Identifier: MIT */
#include "like.h"

#include "base/error.h"
#include "base/utf8.h"
#include "outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void show_progress(void *arg, uint64_t done, uint64_t total) {
    cli_progress(arg, "writing %.0f of %.0f MB", (double)done / 1e6, (double)total / 1e6);
}

int cli_like_parse(cli *cx, const char *like, const char *type, const char *scale, st_synth_options *synth,
                   stretto_error *err) {
    *synth = (st_synth_options){
        .like = like, .seed = 1, .log = &cx->log, .progress = show_progress, .progress_arg = cx, .stop = cx->stop};
    int found = st_type_by_name(type);
    if (found < 0) {
        st_buf names = {0};
        st_synth_types_text(&names);
        int rc = st_fail(err, STRETTO_E_USAGE, "no tensor type \"%.*s\"; there are %s", ST_CUT(type, 40),
                         names.failed ? "others" : names.data);
        st_buf_free(&names);
        return rc;
    }
    synth->type = (uint32_t)found;
    return st_synth_scale_parse(scale, &synth->scale_num, &synth->scale_den, err);
}

static int cache_folder(char *out, size_t size, stretto_error *err) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && *cache == '/') {
        n = snprintf(out, size, "%s/stretto", cache);
    } else if (home && *home) {
        n = snprintf(out, size, "%s/.cache/stretto", home);
    } else {
        return st_fail(err, STRETTO_E_IO, "nowhere to keep a synthetic model: neither XDG_CACHE_HOME nor HOME is set");
    }
    if (n < 0 || (size_t)n >= size) return st_fail(err, STRETTO_E_IO, "the cache folder's path is too long");
    return cli_make_folders(out, err);
}

/* What decides the bytes is in the name, the version with it: another one may write other weights. */
static int cached_path(const st_synth_options *synth, char *out, size_t size, stretto_error *err) {
    char folder[PATH_MAX];
    int rc = cache_folder(folder, sizeof folder, err);
    if (rc) return rc;
    char scale[32] = "";
    if (synth->scale_num != synth->scale_den)
        snprintf(scale, sizeof scale, "-%u-of-%u", synth->scale_num, synth->scale_den);
    int n = snprintf(out, size, "%s/%s-%s%s-" STRETTO_VERSION ".gguf", folder, synth->like,
                     st_type_find(synth->type)->name, scale);
    if (n < 0 || (size_t)n >= size) return st_fail(err, STRETTO_E_IO, "the synthetic model's path is too long");
    return STRETTO_OK;
}

/* Beside its place first, so that two programs that write it at once do not mix. */
static int write_file(cli *cx, const st_synth_options *synth, const char *path, stretto_error *err) {
    char own[PATH_MAX];
    int n = snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof own) return st_fail(err, STRETTO_E_IO, "the synthetic model's path is too long");
    cli_note(cx, "writing a model like %s to %s; it is used again the next time", synth->like, path);
    int rc = st_synth_write(own, synth, err);
    cli_progress_end(cx);
    if (!rc && rename(own, path) != 0) {
        rc = st_fail(err, STRETTO_E_IO, "cannot rename %.*s: %s", ST_CUT(own, 300), strerror(errno));
        unlink(own);
    }
    return rc;
}

int cli_like_file(cli *cx, const char *like, const char *type, const char *scale, char *out, size_t size,
                  stretto_error *err) {
    st_synth_options synth;
    int rc = cli_like_parse(cx, like, type, scale, &synth, err);
    if (!rc) rc = cached_path(&synth, out, size, err);
    if (rc || access(out, R_OK) == 0) return rc;
    return write_file(cx, &synth, out, err);
}
