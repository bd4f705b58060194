/* SPDX-License-Identifier: MIT
 * The parser's frame: header, alignment, and the order of the steps. The format is that of the GGUF specification
 * (ggml, docs/gguf.md): header, metadata entries, tensor entries, padding, tensor data. */
#include "gguf/parse.h"

#include "base/error.h"
#include "base/mem.h"
#include "gguf/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIN_VALUE_BYTES 13  /* key length, type, one byte of value; an empty key is refused when it is met */
#define MIN_TENSOR_BYTES 24 /* name length, number of dimensions, type, offset */

/* What people hand over by mistake, by its first bytes. */
static const struct {
    const char *start, *what;
} known_starts[] = {
    {"version https://git-lfs", "a Git LFS pointer, not the file it stands for: fetch it with git lfs pull"},
    {"<!DOCTYPE", "a web page: use the download link of the file itself"},
    {"<!doctype", "a web page: use the download link of the file itself"},
    {"<html", "a web page: use the download link of the file itself"},
    {"PK\003\004", "a zip archive (a PyTorch checkpoint?): convert it to GGUF"},
    {"lmgg", "a GGML file from before GGUF: convert it to GGUF"},
    {"fmgg", "a GGMF file from before GGUF: convert it to GGUF"},
    {"tjgg", "a GGJT file from before GGUF: convert it to GGUF"},
    {"FUGG", "a big-endian GGUF file: only little-endian ones are read"},
};

static int check_magic(st_cursor *c) {
    if (c->size == 0) return st_fail(c->err, STRETTO_E_INPUT, "the file is empty");
    if (c->size >= 4 && memcmp(c->base, "GGUF", 4) == 0) {
        c->pos = 4;
        return 0;
    }
    if (c->size < 4 && memcmp(c->base, "GGUF", c->size) == 0)
        return st_fail(c->err, STRETTO_E_INPUT, "the file ends after %s, inside the header (truncated download?)",
                       ST_BYTES(c->size));
    for (size_t i = 0; i < sizeof known_starts / sizeof *known_starts; i++) {
        size_t len = strlen(known_starts[i].start);
        if (c->size >= len && memcmp(c->base, known_starts[i].start, len) == 0)
            return st_fail(c->err, STRETTO_E_INPUT, "not a GGUF file, but %s", known_starts[i].what);
    }
    if (c->size > 8 && c->base[8] == '{') /* safetensors: u64 length of a JSON header */
        return st_fail(c->err, STRETTO_E_INPUT, "not a GGUF file, but maybe safetensors: convert it to GGUF");
    return st_fail(c->err, STRETTO_E_INPUT, "not a GGUF file: it starts with \"%s\" instead of \"GGUF\"",
                   ST_NAME(((st_str){(const char *)c->base, c->size < 4 ? c->size : 4})));
}

static int check_version(st_cursor *c, uint32_t version) {
    if (version == 2 || version == 3) return 0;
    if (version == 1)
        return st_cursor_fail(c, "GGUF version 1 is not read, only 2 and 3: convert the original model again");
    if (version != 0 && (version & 0xffff) == 0)
        return st_cursor_fail(c, "the version is %" PRIu32 " byte-swapped: big-endian GGUF files are not read",
                              __builtin_bswap32(version));
    return st_cursor_fail(c, "GGUF version %s is not known, only 2 and 3", ST_NUMBER(version));
}

static int parse_header(st_gguf *gguf, st_cursor *c, uint64_t *n_tensors, uint64_t *n_values) {
    if (check_magic(c)) return STRETTO_E_INPUT;
    st_cursor_about(c, "header", ST_CURSOR_ONLY);
    gguf->version = st_cursor_u32(c, "version");
    if (c->code || check_version(c, gguf->version)) return c->code;
    *n_tensors = st_cursor_u64(c, "tensor count");
    *n_values = st_cursor_u64(c, "metadata count");
    size_t left = st_cursor_left(c);
    if (*n_tensors > left / MIN_TENSOR_BYTES)
        st_cursor_fail(c, "the tensor count is %s, more than the %s that follow can describe (%s)",
                       ST_NUMBER(*n_tensors), ST_BYTES(left), st_short_reason(*n_tensors));
    if (*n_values > left / MIN_VALUE_BYTES)
        st_cursor_fail(c, "the metadata count is %s, more than the %s that follow can hold (%s)", ST_NUMBER(*n_values),
                       ST_BYTES(left), st_short_reason(*n_values));
    return c->code;
}

/* The specification wants a multiple of 8 as u32; a power of two is what every writer uses. */
static int find_alignment(st_gguf *gguf, stretto_error *err) {
    gguf->alignment = ST_DEFAULT_ALIGNMENT;
    const st_value *value = st_gguf_find(gguf, "general.alignment");
    if (!value) return 0;
    if (value->type != ST_V_U32)
        return st_fail(err, STRETTO_E_INPUT, "key general.alignment is %s, wanted u32",
                       st_value_type_name(value->type));
    memcpy(&gguf->alignment, value->data, sizeof gguf->alignment);
    if (gguf->alignment < 8 || (gguf->alignment & (gguf->alignment - 1)) != 0)
        return st_fail(err, STRETTO_E_INPUT, "key general.alignment is %s, wanted a power of two, 8 or more",
                       ST_NUMBER(gguf->alignment));
    return 0;
}

static int parse_all(st_gguf *gguf, const st_log *log, stretto_error *err) {
    st_cursor c = {.base = gguf->base, .size = gguf->size, .err = err};
    uint64_t n_tensors = 0, n_values = 0;
    int code = parse_header(gguf, &c, &n_tensors, &n_values);
    if (!code) code = st_parse_values(gguf, &c, n_values);
    if (!code) code = find_alignment(gguf, err);
    if (!code) code = st_parse_tensors(gguf, &c, n_tensors);
    uint64_t mask = (uint64_t)gguf->alignment - 1; /* pos is at most SIZE_MAX / 2, so that nothing wraps */
    if (!code) code = st_place_tensors(gguf, (c.pos + mask) & ~mask, log, err);
    return code;
}

int st_gguf_parse(st_gguf **out, const void *base, size_t size, const char *name, const st_log *log,
                  stretto_error *err) {
    stretto_error ignored;
    if (!err) err = &ignored;
    *out = NULL;
    st_gguf *gguf = st_alloc(1, sizeof *gguf);
    if (gguf) {
        gguf->impl = st_alloc(1, sizeof(st_gguf_impl));
        gguf->path = strdup(name);
        gguf->base = base;
        gguf->size = size;
    }
    int code = 0;
    if (!gguf || !gguf->impl || !gguf->path)
        code = st_fail_memory(err, "a parsed file", sizeof *gguf + sizeof(st_gguf_impl) + strlen(name));
    else if (size > SIZE_MAX / 2)
        code = st_fail(err, STRETTO_E_INPUT, "%s bytes are more than a file can have", ST_NUMBER(size));
    else
        code = parse_all(gguf, log, err);
    if (code) {
        st_gguf_close(gguf);
        return st_fail_in_file(err, name);
    }
    *out = gguf;
    return 0;
}
