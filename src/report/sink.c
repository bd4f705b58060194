/* SPDX-License-Identifier: MIT */
#include "report/sink.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct st_sink {
    char path[PATH_MAX];      /* as given */
    char target[PATH_MAX];    /* behind symbolic links */
    char temp[PATH_MAX + 32]; /* beside it, "" for what is written in place */
    int fd;                   /* of temp or, in place, of target; -1: none open */
    st_buf early;             /* in place: what there was so far, as long as nothing else was written; owned */
};

static int sink_fail(const st_sink *sink, const char *what, stretto_error *err) {
    return st_fail(err, STRETTO_E_IO, "cannot %s %.*s: %s", what, ST_CUT(sink->path, 300), strerror(errno));
}

/* With the permissions of what it will replace. */
static int temp_open(st_sink *sink) {
    struct stat info;
    sink->fd = open(sink->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (sink->fd >= 0 && stat(sink->target, &info) == 0) (void)!fchmod(sink->fd, info.st_mode & 0777);
    return sink->fd;
}

static int sink_prepare(st_sink *sink, stretto_error *err) {
    struct stat info;
    bool exists = stat(sink->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return sink_fail(sink, "write", err);
    }
    if (exists && !S_ISREG(info.st_mode)) {
        sink->fd = open(sink->path, O_WRONLY | O_CLOEXEC);
        return sink->fd < 0 ? sink_fail(sink, "write", err) : STRETTO_OK;
    }
    if (exists && (access(sink->path, W_OK) != 0 || !realpath(sink->path, sink->target)))
        return sink_fail(sink, "write", err);
    if (!exists) memcpy(sink->target, sink->path, sizeof sink->target);
    snprintf(sink->temp, sizeof sink->temp, "%s.%ld.part", sink->target, (long)getpid());
    return temp_open(sink) < 0 ? sink_fail(sink, "write", err) : STRETTO_OK;
}

int st_sink_open(st_sink **out, const char *path, stretto_error *err) {
    *out = NULL;
    size_t len = strlen(path);
    if (len == 0 || len >= PATH_MAX)
        return st_fail(err, STRETTO_E_IO, "cannot write a file whose path has %zu bytes", len);
    st_sink *sink = st_alloc(1, sizeof *sink);
    if (!sink) return st_fail_memory(err, "an output file", sizeof *sink);
    memcpy(sink->path, path, len + 1);
    sink->fd = -1;
    int code = sink_prepare(sink, err);
    if (code != STRETTO_OK) {
        st_free(sink);
        return code;
    }
    *out = sink;
    return STRETTO_OK;
}

static int fail_memory(const st_sink *sink, stretto_error *err) {
    return st_fail(err, STRETTO_E_MEMORY, "out of memory while making %.*s", ST_CUT(sink->path, 300));
}

int st_sink_put_early(st_sink *sink, const st_buf *text, stretto_error *err) {
    if (*sink->temp) return st_sink_put(sink, text, err);
    st_buf_free(&sink->early);
    st_buf_add(&sink->early, text->data, text->len);
    return text->failed || sink->early.failed ? fail_memory(sink, err) : STRETTO_OK;
}

int st_sink_put(st_sink *sink, const st_buf *text, stretto_error *err) {
    if (text->failed) return fail_memory(sink, err);
    st_buf_free(&sink->early);
    bool whole = (sink->fd >= 0 || temp_open(sink) >= 0) && st_file_write(sink->fd, text->data, text->len);
    if (*sink->temp) {
        whole = whole && fsync(sink->fd) == 0;
        if (sink->fd >= 0 && close(sink->fd) != 0) whole = false;
        sink->fd = -1;
        whole = whole && rename(sink->temp, sink->target) == 0;
    }
    if (whole) return STRETTO_OK;
    return st_fail(err, STRETTO_E_IO, "cannot write %.*s: %s (%zu bytes were to be written)", ST_CUT(sink->path, 300),
                   strerror(errno), text->len);
}

const char *st_sink_path(const st_sink *sink) {
    return sink->path;
}

bool st_sink_same(const st_sink *a, const st_sink *b) {
    struct stat x, y;
    if (!*a->temp || !*b->temp || fstat(a->fd, &x) != 0 || fstat(b->fd, &y) != 0) return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void st_sink_close(st_sink *sink) {
    if (!sink) return;
    if (sink->early.len > 0) (void)st_file_write(sink->fd, sink->early.data, sink->early.len);
    st_buf_free(&sink->early);
    if (sink->fd >= 0) close(sink->fd);
    if (*sink->temp) unlink(sink->temp); /* gone already when the last write went well */
    st_free(sink);
}
