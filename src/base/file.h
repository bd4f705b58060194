/* SPDX-License-Identifier: MIT
 * Reading small system files, /proc and /sys above all, whose size is not known before; and writing all of something.
 */
#ifndef ST_BASE_FILE_H
#define ST_BASE_FILE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends at most `limit` bytes of ROOT followed by PATH to out. False when it cannot be read: such files come and go
 * with kernels and containers, so that is no error. */
bool st_file_read(st_buf *out, const char *root, const char *path, size_t limit);

/* Writes all n bytes, whatever signals come. False with errno set, and an unknown part of them written. */
bool st_file_write(int fd, const void *bytes, size_t n);

#endif
