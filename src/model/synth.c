/* SPDX-License-Identifier: MIT */
#include "model/synth.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/synth_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)4 << 20) /* written at a time: what a stop or a progress line waits for */

/* ---- options ---- */

static int refuse_name(const char *like, stretto_error *err) {
    st_buf names = {0};
    for (size_t i = 0; st_synth_name(i); i++) st_buf_printf(&names, "%s%s", i ? ", " : "", st_synth_name(i));
    int code = st_fail(err, STRETTO_E_USAGE, "no shapes of a model called \"%s\"; known are %s", like ? like : "",
                       names.failed ? "others" : names.data);
    st_buf_free(&names);
    return code;
}

void st_synth_types_text(st_buf *out) {
    const char *gap = "";
    for (uint32_t t = 0; t < ST_TYPE_COUNT; t++) {
        if (!st_type_find(t) || !st_type_find(t)->readable) continue;
        st_buf_printf(out, "%s%s", gap, st_type_find(t)->name);
        gap = ", ";
    }
}

static int refuse_type(uint32_t type, stretto_error *err) {
    const st_type_info *info = st_type_find(type);
    st_buf names = {0};
    st_synth_types_text(&names);
    int code = info ? st_fail(err, STRETTO_E_USAGE, "weights of type %s cannot be made; possible are %s", info->name,
                              names.failed ? "others" : names.data)
                    : st_fail(err, STRETTO_E_USAGE, "there is no weight type number %u; possible are %s", type,
                              names.failed ? "others" : names.data);
    st_buf_free(&names);
    return code;
}

int st_synth_scale_parse(const char *text, uint32_t *num, uint32_t *den, stretto_error *err) {
    char *end = NULL;
    unsigned long a = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0, b = 1;
    if (end && *end == '/' && end[1] >= '0' && end[1] <= '9') b = strtoul(end + 1, &end, 10);
    if (!end || *end || a == 0 || a > b || b > UINT32_MAX)
        return st_fail(err, STRETTO_E_USAGE, "a scale of \"%s\": expected a fraction above 0 and up to 1, such as 1/8",
                       text);
    *num = (uint32_t)a;
    *den = (uint32_t)b;
    return 0;
}

static int check_options(const st_synth_options *o, synth_shape *shape, stretto_error *err) {
    const synth_shape *full = o->like ? st_synth_shape(o->like) : NULL;
    const st_type_info *info = st_type_find(o->type);
    if (!full) return refuse_name(o->like, err);
    if (!info || !info->readable) return refuse_type(o->type, err);
    bool whole = o->scale_num == 0 && o->scale_den == 0;
    if (!whole && (o->scale_num == 0 || o->scale_num > o->scale_den))
        return st_fail(err, STRETTO_E_USAGE, "a scale of %u/%u: expected a fraction above 0 and up to 1", o->scale_num,
                       o->scale_den);
    *shape = st_synth_shrink(full, whole ? 1 : o->scale_num, whole ? 1 : o->scale_den);
    if (shape->n_vocab == st_synth_vocab_least(shape->vocab) && !whole)
        st_info(o->log, "the vocabulary keeps %u tokens, the least that works", shape->n_vocab);
    return 0;
}

/* ---- what fell back, said once for each row length ---- */

static bool said_before(const synth_plan *plan, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (plan->tensors[j].fell_back && plan->tensors[j].cols == plan->tensors[i].cols) return true;
    return false;
}

/* "attn_q" of "blk.7.attn_q.weight". */
static st_buf part_name(const synth_tensor *t) {
    const char *name = t->name;
    if (strncmp(name, "blk.", 4) == 0) name = strchr(name + 4, '.') + 1;
    st_buf part = {0};
    st_buf_add(&part, name, strlen(name) - strlen(".weight"));
    return part;
}

static void say_fallback(const synth_plan *plan, size_t i, uint32_t wanted, const st_log *log) {
    const synth_tensor *t = &plan->tensors[i];
    st_buf list = {0};
    for (size_t j = i; j < plan->n; j++) {
        if (!plan->tensors[j].fell_back || plan->tensors[j].cols != t->cols) continue;
        st_buf part = part_name(&plan->tensors[j]);
        if (!part.failed && (!list.data || !strstr(list.data, part.data)))
            st_buf_printf(&list, "%s%s", list.len ? ", " : "", part.data);
        st_buf_free(&part);
    }
    const st_type_info *from = st_type_find(wanted);
    st_warn(log, "rows of %llu are not whole %s blocks of %u: %s for %s", (unsigned long long)t->cols, from->name,
            from->block_len, st_type_find(t->type)->name, list.failed ? "them" : list.data);
    st_buf_free(&list);
}

static void say_fallbacks(const synth_plan *plan, uint32_t wanted, const st_log *log) {
    for (size_t i = 0; i < plan->n; i++)
        if (plan->tensors[i].fell_back && !said_before(plan, i)) say_fallback(plan, i, wanted, log);
}

/* ---- writing ---- */

typedef struct writing {
    const st_synth_options *options;
    st_gguf_writer *w;
    uint8_t *chunk; /* [CHUNK_BYTES], or one row when that is longer */
    size_t capacity;
    uint64_t done, total, told; /* bytes; told: of the last progress call */
} writing;

/* FNV-1a: a tensor's weights depend on its name and the seed, not on its place in the file. */
static uint64_t seed_of(const char *name, uint64_t seed) {
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

static bool stopped(const st_synth_options *o) {
    return o->stop && atomic_load_explicit(o->stop, memory_order_relaxed);
}

/* False when it is no use to go on. */
static bool put(writing *write, const void *data, size_t n) {
    st_writer_data(write->w, data, n);
    write->done += n;
    const st_synth_options *o = write->options;
    if (o->progress && (write->done - write->told >= CHUNK_BYTES || write->done == write->total)) {
        write->told = write->done;
        o->progress(o->progress_arg, write->done, write->total);
    }
    return st_writer_ok(write->w) && !stopped(o);
}

static bool write_matrix(writing *write, const synth_tensor *t) {
    synth_blocks blocks;
    st_synth_blocks_init(&blocks, t->type, t->a, seed_of(t->name, write->options->seed));
    size_t row = st_synth_row_bytes(t);
    uint64_t step = write->capacity / row, left = t->rows;
    while (left) {
        if (step > left) step = left;
        st_synth_blocks_fill(&blocks, write->chunk, (size_t)(step * t->cols));
        if (!put(write, write->chunk, (size_t)step * row)) return false;
        left -= step;
    }
    return true;
}

/* Llama 3.1's rope scaling as llama.cpp's converter stores it: slow pairs turn `factor` times more slowly, fast ones as
 * ever, with a ramp between (low_freq_factor 1, high_freq_factor 4, trained on 8192 positions). */
static float llama3_factor(uint64_t i, uint64_t half, double factor, double base) {
    double wavelength = 2 * 3.14159265358979323846 * pow(base, (double)i / (double)half);
    if (wavelength < 8192 / 4.0) return 1.0f;
    if (wavelength > 8192) return (float)factor;
    double smooth = (8192 / wavelength - 1) / (4 - 1);
    return (float)(1 / ((1 - smooth) / factor + smooth));
}

static bool write_vector(writing *write, const synth_tensor *t) {
    float *values = (float *)write->chunk;
    st_rng rng;
    st_rng_seed(&rng, seed_of(t->name, write->options->seed));
    for (uint64_t i = 0; i < t->cols; i++) {
        if (t->content == SYNTH_GAIN)
            values[i] = t->a + (t->b - t->a) * (float)st_rng_unit(&rng);
        else if (t->content == SYNTH_ROPE_LLAMA3)
            values[i] = llama3_factor(i, t->cols, t->a, t->b);
        else
            values[i] = i < t->cols / 4 ? 1.0f : 1e30f;
    }
    return put(write, values, (size_t)t->cols * sizeof *values);
}

static bool write_tensors(writing *write, const synth_plan *plan) {
    for (size_t i = 0; i < plan->n; i++) {
        const synth_tensor *t = &plan->tensors[i];
        if (!(t->content == SYNTH_WEIGHT ? write_matrix(write, t) : write_vector(write, t))) return false;
    }
    return true;
}

static int declare(writing *write, const synth_plan *plan, const synth_shape *shape, stretto_error *err) {
    st_synth_metadata(write->w, shape, write->options);
    int code = st_synth_vocab(write->w, shape->vocab, shape->n_vocab, err);
    write->capacity = CHUNK_BYTES;
    for (size_t i = 0; i < plan->n; i++) {
        const synth_tensor *t = &plan->tensors[i];
        uint64_t dims[2] = {t->cols, t->rows};
        st_writer_tensor(write->w, t->name, t->type, dims, t->n_dims);
        size_t row = st_synth_row_bytes(t);
        write->total += row * t->rows;
        if (row > write->capacity) write->capacity = row;
    }
    if (code) return code;
    write->chunk = st_alloc(write->capacity, 1);
    return write->chunk ? 0 : st_fail_memory(err, "rows to write", write->capacity);
}

int st_synth_write(const char *path, const st_synth_options *options, stretto_error *err) {
    synth_shape shape;
    synth_plan plan = {0};
    writing write = {.options = options};
    int code = check_options(options, &shape, err);
    if (code) return code;
    st_synth_plan(&plan, &shape, options->type);
    if (plan.failed) code = st_fail_memory(err, "list of tensors", plan.n * sizeof *plan.tensors);
    if (!code) say_fallbacks(&plan, options->type, options->log);
    if (!code) code = st_writer_open(&write.w, path, err);
    if (!code) code = declare(&write, &plan, &shape, err);
    if (!code && !write_tensors(&write, &plan) && st_writer_ok(write.w))
        code = st_fail(err, STRETTO_E_STOPPED, "%s: stopped before it was complete", path);
    if (write.w && code)
        st_writer_abort(write.w);
    else if (write.w)
        code = st_writer_finish(write.w, err); /* tells of a failed write, too */
    st_free(write.chunk);
    free(plan.tensors);
    return code;
}
