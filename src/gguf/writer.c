/* SPDX-License-Identifier: MIT
 * The writer: metadata and tensor entries gather in memory, and go out when the first data comes (or at the end), since
 * only then the counts are known. Data passes through one buffer. */
#include "gguf/writer.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gguf/message.h"
#include "gguf/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)

typedef struct declared {  /* a key or a tensor */
    size_t name, name_len; /* where in st_gguf_writer.names, which moves as it grows */
    uint64_t bytes;        /* of a tensor's data */
} declared;

typedef struct declared_list {
    declared *items;
    size_t n, cap;
} declared_list;

struct st_gguf_writer {
    char *path, *part;
    int fd;            /* of PATH.part */
    stretto_error err; /* the first failure; code 0 as long as there is none */
    uint32_t alignment;
    st_buf values, infos; /* entries as they go into the file */
    st_buf names;
    declared_list keys, tensors;
    uint64_t data_bytes; /* of all declared tensors, each padded to the alignment */
    bool head_written;
    size_t current;  /* the tensor that data goes to */
    uint64_t filled; /* bytes of it that came */
    uint8_t *buffer; /* [BUFFER_BYTES] */
    size_t buffered;
};

static void __attribute__((format(printf, 3, 4))) fail(st_gguf_writer *w, int code, const char *fmt, ...) {
    if (w->err.code) return;
    va_list args;
    va_start(args, fmt);
    st_failv(&w->err, code, fmt, args);
    va_end(args);
    st_fail_in_file(&w->err, w->path);
}

bool st_writer_ok(const st_gguf_writer *w) {
    return w->err.code == 0;
}

static st_str declared_name(const st_gguf_writer *w, const declared *item) {
    return (st_str){w->names.data + item->name, item->name_len};
}

/* ---- bytes out ---- */

static void flush(st_gguf_writer *w) {
    if (!w->err.code && !st_file_write(w->fd, w->buffer, w->buffered))
        fail(w, STRETTO_E_IO, "cannot write: %s", strerror(errno));
    w->buffered = 0;
}

static void emit(st_gguf_writer *w, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    while (n > 0 && !w->err.code) {
        size_t part = BUFFER_BYTES - w->buffered < n ? BUFFER_BYTES - w->buffered : n;
        memcpy(w->buffer + w->buffered, from, part);
        w->buffered += part;
        from += part;
        n -= part;
        if (w->buffered == BUFFER_BYTES) flush(w);
    }
}

/* Zeros from `written` bytes up to the next multiple of the alignment. */
static void pad(st_gguf_writer *w, uint64_t written) {
    static const uint8_t zeros[64];
    uint64_t rest = (w->alignment - written % w->alignment) % w->alignment;
    for (; rest > 0 && !w->err.code; rest -= rest < sizeof zeros ? rest : sizeof zeros)
        emit(w, zeros, rest < sizeof zeros ? (size_t)rest : sizeof zeros);
}

/* ---- declarations ---- */

/* Adds to a list; false after any failure. */
static bool declare(st_gguf_writer *w, declared_list *list, const char *kind, const char *name, uint64_t bytes) {
    size_t len = strlen(name);
    if (w->head_written) fail(w, STRETTO_E_USAGE, "%s %.*s comes after the first data", kind, ST_CUT(name, 80));
    if (len == 0 || len > ST_KEY_MAX)
        fail(w, STRETTO_E_USAGE, "a %s's name of %zu bytes, wanted 1 to %d: %.*s", kind, len, ST_KEY_MAX,
             ST_CUT(name, 80));
    declared *items = st_grow(list->items, list->n, &list->cap, sizeof *items, SIZE_MAX);
    if (items) list->items = items;
    declared item = {w->names.len, len, bytes};
    st_buf_add(&w->names, name, len);
    if (!items || w->names.failed) fail(w, STRETTO_E_MEMORY, "out of memory for %s %.*s", kind, ST_CUT(name, 80));
    if (!items || w->err.code) return false;
    items[list->n++] = item;
    return true;
}

static void add_u32(st_buf *buf, uint32_t value) {
    st_buf_add(buf, &value, sizeof value);
}
static void add_u64(st_buf *buf, uint64_t value) {
    st_buf_add(buf, &value, sizeof value);
}

static void add_string(st_buf *buf, const char *text, size_t len) {
    add_u64(buf, len);
    st_buf_add(buf, text, len);
}

/* The entry up to its value. */
static bool begin_value(st_gguf_writer *w, const char *key, uint32_t type) {
    if (w->err.code || !declare(w, &w->keys, "key", key, 0)) return false;
    add_string(&w->values, key, strlen(key));
    add_u32(&w->values, type);
    return true;
}

static void set_alignment(st_gguf_writer *w, uint32_t value) {
    if (value < 8 || (value & (value - 1)) != 0)
        fail(w, STRETTO_E_USAGE, "general.alignment is %u, wanted a power of two, 8 or more", value);
    if (w->tensors.n > 0) fail(w, STRETTO_E_USAGE, "general.alignment comes after the first tensor");
    w->alignment = value;
}

void st_writer_number(st_gguf_writer *w, const char *key, uint32_t value_type, const void *value) {
    size_t size = st_value_size(value_type);
    if (size == 0) fail(w, STRETTO_E_USAGE, "key %.*s: type %u is not a number's", ST_CUT(key, 80), value_type);
    if (!begin_value(w, key, value_type)) return;
    st_buf_add(&w->values, value, size);
    if (strcmp(key, "general.alignment") != 0) return;
    uint32_t alignment = 0;
    if (value_type == ST_V_U32) memcpy(&alignment, value, sizeof alignment);
    set_alignment(w, alignment);
}

void st_writer_u32(st_gguf_writer *w, const char *key, uint32_t value) {
    st_writer_number(w, key, ST_V_U32, &value);
}
void st_writer_f32(st_gguf_writer *w, const char *key, float value) {
    st_writer_number(w, key, ST_V_F32, &value);
}

void st_writer_bool(st_gguf_writer *w, const char *key, bool value) {
    st_writer_number(w, key, ST_V_BOOL, &(uint8_t){value});
}

void st_writer_string(st_gguf_writer *w, const char *key, const char *value, size_t len) {
    if (begin_value(w, key, ST_V_STRING)) add_string(&w->values, value, len);
}

void st_writer_strings(st_gguf_writer *w, const char *key, const char *const *values, const size_t *lens, size_t n) {
    if (!begin_value(w, key, ST_V_ARRAY)) return;
    add_u32(&w->values, ST_V_STRING);
    add_u64(&w->values, n);
    for (size_t i = 0; i < n; i++) add_string(&w->values, values[i], lens[i]);
}

void st_writer_array(st_gguf_writer *w, const char *key, uint32_t value_type, const void *values, size_t n) {
    size_t size = st_value_size(value_type);
    if (size == 0) fail(w, STRETTO_E_USAGE, "key %.*s: type %u is not a number's", ST_CUT(key, 80), value_type);
    if (!begin_value(w, key, ST_V_ARRAY)) return;
    add_u32(&w->values, value_type);
    add_u64(&w->values, n);
    st_buf_add(&w->values, values, n * size);
}

/* Bytes of a tensor, or 0 after a failure. */
static uint64_t tensor_bytes(st_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims,
                             uint32_t n_dims) {
    const st_type_info *info = st_type_find(type);
    if (!info || n_dims < 1 || n_dims > 4 || dims[0] % info->block_len != 0) {
        fail(w, STRETTO_E_USAGE, "tensor %.*s: type %u, %u dimensions, rows of %s elements cannot be", ST_CUT(name, 80),
             type, n_dims, ST_NUMBER(n_dims > 0 ? dims[0] : 0));
        return 0;
    }
    uint64_t bytes = info->block_bytes;
    bool fits = true;
    for (uint32_t i = 0; i < n_dims; i++)
        fits = fits && !__builtin_mul_overflow(bytes, i == 0 ? dims[0] / info->block_len : dims[i], &bytes);
    if (!fits || bytes == 0 || bytes > INT64_MAX - w->data_bytes - w->alignment) {
        fail(w, STRETTO_E_USAGE, "tensor %.*s: %s of type %s is too much or nothing", ST_CUT(name, 80),
             ST_DIMS(dims, n_dims), info->name);
        return 0;
    }
    return bytes;
}

void st_writer_tensor(st_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims, uint32_t n_dims) {
    if (w->err.code) return;
    uint64_t bytes = tensor_bytes(w, name, type, dims, n_dims);
    if (bytes == 0 || !declare(w, &w->tensors, "tensor", name, bytes)) return;
    add_string(&w->infos, name, strlen(name));
    add_u32(&w->infos, n_dims);
    st_buf_add(&w->infos, dims, n_dims * sizeof *dims);
    add_u32(&w->infos, type);
    add_u64(&w->infos, w->data_bytes);
    uint64_t mask = (uint64_t)w->alignment - 1;
    w->data_bytes = (w->data_bytes + bytes + mask) & ~mask;
}

/* ---- the file ---- */

static void check_duplicates(st_gguf_writer *w, const declared_list *list, const char *kind) {
    st_index index = {0};
    size_t twice[2];
    if (!st_index_create(&index, list->n)) {
        fail(w, STRETTO_E_MEMORY, "out of memory for an index of %zu names", list->n);
        return;
    }
    for (size_t i = 0; i < list->n; i++) index.entries[i] = (st_index_entry){declared_name(w, &list->items[i]), i};
    if (!st_index_sort(&index, twice))
        fail(w, STRETTO_E_USAGE, "%s %s is declared twice", kind, ST_NAME(declared_name(w, &list->items[twice[0]])));
    st_index_free(&index);
}

static void write_head(st_gguf_writer *w) {
    struct {
        char magic[4];
        uint32_t version;
        uint64_t n_tensors, n_values;
    } head = {{'G', 'G', 'U', 'F'}, 3, w->tensors.n, w->keys.n};
    if (w->head_written || w->err.code) return;
    w->head_written = true;
    check_duplicates(w, &w->keys, "key");
    check_duplicates(w, &w->tensors, "tensor");
    if (w->values.failed || w->infos.failed) fail(w, STRETTO_E_MEMORY, "out of memory for metadata");
    emit(w, &head, sizeof head);
    emit(w, w->values.data, w->values.len);
    emit(w, w->infos.data, w->infos.len);
    pad(w, sizeof head + w->values.len + w->infos.len);
}

void st_writer_data(st_gguf_writer *w, const void *data, size_t n) {
    const uint8_t *from = data;
    write_head(w);
    while (n > 0 && !w->err.code) {
        if (w->current == w->tensors.n) {
            fail(w, STRETTO_E_USAGE, "%s of data more than were declared", ST_BYTES(n));
            return;
        }
        uint64_t bytes = w->tensors.items[w->current].bytes, room = bytes - w->filled;
        size_t part = room < n ? (size_t)room : n;
        emit(w, from, part);
        w->filled += part;
        from += part;
        n -= part;
        if (w->filled < bytes) return;
        pad(w, bytes);
        w->current++;
        w->filled = 0;
    }
}

static void writer_free(st_gguf_writer *w) {
    free(w->path);
    free(w->part);
    st_buf_free(&w->values);
    st_buf_free(&w->infos);
    st_buf_free(&w->names);
    free(w->keys.items);
    free(w->tensors.items);
    st_free(w->buffer);
    st_free(w);
}

/* Opens PATH.part. A symbolic link there is not followed, since anybody may have put it into a shared folder. */
static int open_part(st_gguf_writer *w) {
    w->fd = open(w->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (w->fd < 0) fail(w, STRETTO_E_IO, "cannot make its .part file: %s", strerror(errno));
    return w->err.code;
}

static int open_resolved(st_gguf_writer **out, const char *path, stretto_error *err) {
    size_t part_size = strlen(path) + sizeof ".part";
    st_gguf_writer *w = st_alloc(1, sizeof *w);
    if (!w) return st_fail_memory(err, "a writer", sizeof *w);
    w->alignment = ST_DEFAULT_ALIGNMENT;
    w->path = strdup(path);
    w->part = malloc(part_size);
    w->buffer = st_alloc(1, BUFFER_BYTES);
    if (!w->path || !w->part || !w->buffer) {
        writer_free(w);
        return st_fail_memory(err, "a writer's buffer", BUFFER_BYTES);
    }
    snprintf(w->part, part_size, "%s.part", path);
    int code = open_part(w);
    if (code) {
        if (err) *err = w->err;
        writer_free(w);
        return code;
    }
    *out = w;
    return 0;
}

/* Where a file of that name really goes: behind links, since the rename at the end would replace a link. Refuses what
 * is there and is no file (a device, a pipe, a folder), which a rename would replace as well. NULL and err, or owned.
 */
static char *resolve_target(const char *path, stretto_error *err) {
    struct stat info;
    char *real = realpath(path, NULL);
    if (real && stat(real, &info) == 0 && !S_ISREG(info.st_mode)) {
        free(real);
        st_fail(err, STRETTO_E_IO, "%s: is a %s, not a file", path,
                S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
        return NULL;
    }
    if (!real && lstat(path, &info) == 0) {
        st_fail(err, STRETTO_E_IO, "%s: is a link that leads nowhere", path);
        return NULL;
    }
    if (!real) real = strdup(path);
    if (!real) st_fail_memory(err, "a file name", strlen(path) + 1);
    return real;
}

int st_writer_open(st_gguf_writer **out, const char *path, stretto_error *err) {
    *out = NULL;
    if (!*path) return st_fail(err, STRETTO_E_USAGE, "an empty name for a file");
    char *target = resolve_target(path, err);
    if (!target) return err ? err->code : STRETTO_E_IO;
    int code = open_resolved(out, target, err);
    free(target);
    return code;
}

void st_writer_abort(st_gguf_writer *w) {
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    unlink(w->part);
    writer_free(w);
}

int st_writer_finish(st_gguf_writer *w, stretto_error *err) {
    write_head(w);
    if (w->current < w->tensors.n) {
        const declared *t = &w->tensors.items[w->current];
        fail(w, STRETTO_E_USAGE, "tensor %s got %s of its %s", ST_NAME(declared_name(w, t)), ST_NUMBER(w->filled),
             ST_BYTES(t->bytes));
    }
    flush(w);
    if (close(w->fd) != 0) fail(w, STRETTO_E_IO, "cannot write: %s", strerror(errno)); /* network disks tell only now */
    w->fd = -1;
    if (!w->err.code && rename(w->part, w->path) != 0)
        fail(w, STRETTO_E_IO, "cannot rename %s to it: %s", w->part, strerror(errno));
    if (w->err.code) {
        if (err) *err = w->err;
        int code = w->err.code;
        st_writer_abort(w);
        return code;
    }
    writer_free(w);
    return 0;
}
