/* SPDX-License-Identifier: MIT
 * Small system files, /proc and /sys above all, whose size is not known before they are read. */
#ifndef ST_BASE_FILE_H
#define ST_BASE_FILE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends at most `limit` bytes of ROOT followed by PATH to out. False when it cannot be read: such files come and go
 * with kernels and containers, so that is no error. */
bool st_file_read(st_buf *out, const char *root, const char *path, size_t limit);

#endif
