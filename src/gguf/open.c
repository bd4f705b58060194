/* SPDX-License-Identifier: MIT
 * Files: mapping, and letting go of what a parsed file holds. */
#include "base/error.h"
#include "base/mem.h"
#include "gguf/message.h"
#include "gguf/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole of an open file as memory. */
static int map_file(int fd, void **map, size_t *size, stretto_error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0) return st_fail(err, STRETTO_E_IO, "cannot look at it: %s", strerror(errno));
    if (S_ISDIR(info.st_mode)) return st_fail(err, STRETTO_E_IO, "is a folder, not a file");
    if (!S_ISREG(info.st_mode)) return st_fail(err, STRETTO_E_IO, "is not a regular file, so it cannot be mapped");
    if (info.st_size == 0) return st_fail(err, STRETTO_E_INPUT, "is empty");
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return st_fail(err, STRETTO_E_IO, "has %s, too many for this machine", ST_BYTES((uint64_t)info.st_size));
    *size = (size_t)info.st_size;
    *map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*map == MAP_FAILED) return st_fail(err, STRETTO_E_IO, "cannot be mapped: %s", strerror(errno));
    return 0;
}

int st_gguf_open(st_gguf **out, const char *path, const st_log *log, stretto_error *err) {
    stretto_error ignored;
    if (!err) err = &ignored;
    *out = NULL;
    void *map = NULL;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait for its writer */
    int code = fd < 0 ? st_fail(err, STRETTO_E_IO, "cannot open: %s", strerror(errno)) : map_file(fd, &map, &size, err);
    if (code) {
        if (fd >= 0) close(fd);
        return st_fail_in_file(err, path);
    }
    code = st_gguf_parse(out, map, size, path, log, err);
    if (code) {
        munmap(map, size);
        close(fd);
        return code;
    }
    st_impl(*out)->fd = fd;
    st_impl(*out)->map = map;
    st_impl(*out)->map_size = size;
    return 0;
}

void st_gguf_close(st_gguf *gguf) {
    if (!gguf) return;
    st_gguf_impl *impl = st_impl(gguf);
    if (impl) {
        if (impl->map) {
            munmap(impl->map, impl->map_size);
            close(impl->fd);
        }
        st_index_free(&impl->values);
        st_index_free(&impl->tensors);
        st_free(impl);
    }
    free(gguf->values);
    free(gguf->tensors);
    free((char *)gguf->path);
    st_free(gguf);
}

void st_gguf_drop(const st_gguf *gguf, const st_tensor *tensor) {
    if (!st_impl(gguf)->map || !tensor->data) return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)tensor->data, end = start + tensor->bytes;
    start = (start + page - 1) & ~(page - 1); /* whole pages only: the outer ones are shared with neighbours */
    end &= ~(page - 1);
    if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
}

/* Where the file has become shorter the map says so in its own way. */
void st_gguf_read(const st_gguf *gguf, const st_tensor *tensor, size_t at, size_t bytes, uint8_t *out) {
    const st_gguf_impl *impl = st_impl(gguf);
    ssize_t got = -1;
    if (impl->map) got = pread(impl->fd, out, bytes, (off_t)(tensor->data - (const uint8_t *)impl->map) + (off_t)at);
    if (got < 0 || (size_t)got != bytes) memcpy(out, tensor->data + at, bytes);
}
