/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool read_all(st_buf *out, int fd, size_t limit) {
    char part[4096];
    while (limit > 0) {
        ssize_t n = read(fd, part, limit < sizeof part ? limit : sizeof part);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) break;
        st_buf_add(out, part, (size_t)n);
        limit -= (size_t)n;
    }
    return !out->failed;
}

bool st_file_read(st_buf *out, const char *root, const char *path, size_t limit) {
    st_buf full = {0};
    st_buf_printf(&full, "%s%s", root, path);
    int fd = full.failed ? -1 : open(full.data, O_RDONLY | O_CLOEXEC);
    st_buf_free(&full);
    if (fd < 0) return false;
    st_buf_text(out, ""); /* an empty file is an empty text, not a null pointer */
    bool ok = read_all(out, fd, limit);
    close(fd);
    return ok;
}

bool st_file_write(int fd, const void *bytes, size_t n) {
    for (const char *at = bytes; n > 0;) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = EIO; /* nothing is taken: trying again would not end */
        if (done <= 0) return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}
