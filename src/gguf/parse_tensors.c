/* SPDX-License-Identifier: MIT
 * Tensor entries: name, dimensions, type, offset; and where their data lies. */
#include "base/error.h"
#include "base/mem.h"
#include "gguf/message.h"
#include "gguf/parse.h"

#include <stdio.h>
#include <stdlib.h>

static void parse_dims(st_cursor *c, st_tensor *t) {
    t->n_dims = st_cursor_u32(c, "number of dimensions");
    if (t->n_dims > 4) st_cursor_fail(c, "%s dimensions, at most 4 are possible", ST_NUMBER(t->n_dims));
    uint64_t elements = 1;
    for (uint32_t i = 0; i < 4; i++) {
        t->dims[i] = i < t->n_dims && !c->code ? st_cursor_u64(c, "dimensions") : 1;
        /* The product of all but zeros, so that nobody who multiplies dimensions later can overflow. */
        if (t->dims[i] > 1 && elements > (uint64_t)INT64_MAX / t->dims[i])
            st_cursor_fail(c, "%s has more elements than any file (damaged file?)", ST_DIMS(t->dims, i + 1));
        else if (t->dims[i] > 1)
            elements *= t->dims[i];
    }
}

static bool has_elements(const st_tensor *t) {
    return t->dims[0] && t->dims[1] && t->dims[2] && t->dims[3];
}

/* Bytes of all rows; 0 for a type whose blocks we do not know. */
static void compute_bytes(st_cursor *c, st_tensor *t) {
    const st_type_info *info = st_type_find(t->type);
    if (!info || !has_elements(t)) return;
    if (t->dims[0] % info->block_len != 0) {
        st_cursor_fail(c, "rows of %s elements are not whole %s blocks of %u", ST_NUMBER(t->dims[0]), info->name,
                       info->block_len);
        return;
    }
    uint64_t blocks = t->dims[0] / info->block_len * t->dims[1] * t->dims[2] * t->dims[3], bytes;
    if (__builtin_mul_overflow(blocks, (uint64_t)info->block_bytes, &bytes) || bytes > SIZE_MAX / 2)
        st_cursor_fail(c, "%s of type %s needs more bytes than any file has (damaged file?)",
                       ST_DIMS(t->dims, t->n_dims), info->name);
    else
        t->bytes = (size_t)bytes;
}

static void parse_tensor(st_gguf *gguf, st_cursor *c, st_tensor *t, uint64_t number) {
    st_cursor_about(c, "tensor entry", number);
    size_t start = c->pos;
    t->name = st_cursor_string(c, "name");
    if (c->code) return;
    if (t->name.len == 0 || t->name.len > ST_KEY_MAX) {
        st_cursor_fail(c, "the name at %s has %s, wanted 1 to %s", ST_NUMBER(start), ST_BYTES(t->name.len),
                       ST_NUMBER(ST_KEY_MAX));
        return;
    }
    st_cursor_about_name(c, "tensor", t->name);
    parse_dims(c, t);
    t->type = st_cursor_u32(c, "type");
    t->offset = st_cursor_u64(c, "offset");
    if (c->code) return;
    if (t->offset % gguf->alignment != 0)
        st_cursor_fail(c, "its offset %s is not a multiple of the alignment, %u", ST_NUMBER(t->offset),
                       gguf->alignment);
    else
        compute_bytes(c, t);
}

static int index_tensors(st_gguf *gguf, stretto_error *err) {
    st_index *index = &st_impl(gguf)->tensors;
    if (!st_index_create(index, gguf->n_tensors))
        return st_fail_memory(err, "the tensor index", gguf->n_tensors * 24ull);
    for (size_t i = 0; i < gguf->n_tensors; i++) index->entries[i] = (st_index_entry){gguf->tensors[i].name, i};
    size_t twice[2];
    if (st_index_sort(index, twice)) return 0;
    return st_fail(err, STRETTO_E_INPUT, "tensor %s is there twice, as tensor entries %s and %s",
                   ST_NAME(gguf->tensors[twice[0]].name), ST_NUMBER(twice[0] + 1), ST_NUMBER(twice[1] + 1));
}

int st_parse_tensors(st_gguf *gguf, st_cursor *c, uint64_t count) {
    size_t cap = 0;
    while (gguf->n_tensors < count) {
        st_tensor *tensors = st_grow(gguf->tensors, gguf->n_tensors, &cap, sizeof *tensors, (size_t)count);
        if (!tensors) return st_fail_memory(c->err, "the list of tensors", count * sizeof *tensors);
        gguf->tensors = tensors;
        st_tensor tensor = {0};
        parse_tensor(gguf, c, &tensor, gguf->n_tensors + 1);
        if (c->code) return c->code;
        tensors[gguf->n_tensors++] = tensor;
    }
    return index_tensors(gguf, c->err);
}

/* Bytes that a tensor takes for certain: at least one where the type is unknown. */
static uint64_t sure_bytes(const st_tensor *t) {
    return t->bytes || !has_elements(t) ? t->bytes : 1;
}

static int compare_offsets(const void *a, const void *b) {
    const st_tensor *x = *(const st_tensor *const *)a, *y = *(const st_tensor *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The first tensor in the file that is cut off, and how much of the file is missing. */
static int check_ends(const st_gguf *gguf, const st_tensor *const *sorted, stretto_error *err) {
    const st_tensor *first = NULL;
    uint64_t end = gguf->size, first_end = 0;
    size_t n_cut = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const st_tensor *t = sorted[i];
        uint64_t bytes = sure_bytes(t), t_end = t->offset > UINT64_MAX - bytes ? UINT64_MAX : t->offset + bytes;
        if (bytes == 0 || t_end <= gguf->size) continue;
        if (!first) first = t, first_end = t_end;
        if (t_end > end) end = t_end;
        n_cut++;
    }
    if (!first) return 0;
    uint64_t missing = first_end - gguf->size;
    char rest[120] = "";
    if (n_cut == 2)
        snprintf(rest, sizeof rest, "; with the tensor after it, %s are missing", ST_BYTES(end - gguf->size));
    if (n_cut > 2)
        snprintf(rest, sizeof rest, "; with the %s tensors after it, %s are missing", ST_NUMBER(n_cut - 1),
                 ST_BYTES(end - gguf->size));
    return st_fail(err, STRETTO_E_INPUT, "tensor %s needs %s at %s, but the file ends %s short (%s)%s",
                   ST_NAME(first->name), ST_BYTES(sure_bytes(first)), ST_NUMBER(first->offset), ST_BYTES(missing),
                   st_short_reason(missing), rest);
}

static int check_overlap(const st_gguf *gguf, const st_tensor *const *sorted, stretto_error *err) {
    const st_tensor *last = NULL; /* the one that reaches furthest so far; all ends are inside the file by now */
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const st_tensor *t = sorted[i];
        if (sure_bytes(t) == 0) continue;
        if (last && t->offset < last->offset + sure_bytes(last))
            return st_fail(err, STRETTO_E_INPUT, "tensors %s (%s at %s) and %s (at %s) overlap", ST_NAME(last->name),
                           ST_BYTES(sure_bytes(last)), ST_NUMBER(last->offset), ST_NAME(t->name), ST_NUMBER(t->offset));
        last = t;
    }
    return 0;
}

static void warn_unknown_types(const st_gguf *gguf, const st_log *log) {
    const st_tensor *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (st_type_find(gguf->tensors[i].type)) continue;
        if (n++ == 0) first = &gguf->tensors[i];
    }
    if (n == 1)
        st_warn(log, "%s: tensor %s has the unknown type %s; a model that needs it will be refused", gguf->path,
                ST_NAME(first->name), ST_NUMBER(first->type));
    if (n > 1)
        st_warn(log, "%s: tensor %s and %s more have unknown types (%s); a model that needs them will be refused",
                gguf->path, ST_NAME(first->name), ST_NUMBER(n - 1), ST_NUMBER(first->type));
}

int st_place_tensors(st_gguf *gguf, uint64_t data_start, const st_log *log, stretto_error *err) {
    const st_tensor **sorted = st_alloc(gguf->n_tensors + 1, sizeof *sorted);
    if (!sorted) return st_fail_memory(err, "the order of the tensors", (gguf->n_tensors + 1) * sizeof *sorted);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        st_tensor *t = &gguf->tensors[i];
        t->offset = t->offset > UINT64_MAX - data_start ? UINT64_MAX : t->offset + data_start;
        sorted[i] = t;
    }
    qsort(sorted, gguf->n_tensors, sizeof *sorted, compare_offsets);
    int code = check_ends(gguf, sorted, err);
    if (!code) code = check_overlap(gguf, sorted, err);
    st_free(sorted);
    if (code) return code;
    for (size_t i = 0; i < gguf->n_tensors; i++)
        if (gguf->tensors[i].bytes) gguf->tensors[i].data = gguf->base + gguf->tensors[i].offset;
    warn_unknown_types(gguf, log);
    return 0;
}
