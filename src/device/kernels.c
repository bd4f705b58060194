/* SPDX-License-Identifier: MIT */
#include "device/kernels.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { COLS = 1536, PIECES = 32 /* of the memory */, SAMPLE_STRIPS = 16 };

#define TIME_NS 150000000u /* to measure for */
#define PIECE_NS 3e6       /* the longest that a piece may be expected to take */

struct st_kernels {
    const st_kern *kern;
    st_region memory; /* weights */
    float *x;         /* [ST_PANEL][COLS] */
    uint8_t *quant;
    float *y; /* [y_len], of a run */
    size_t y_len;
    st_matrix w; /* what is multiplied */
    st_panel panel;
    uint32_t strips, next; /* of a run; the first of the next run */
};

static int product_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    st_kernels *k = arg;
    uint32_t lo, hi;
    st_worker_range(worker, k->strips, &lo, &hi);
    if (lo < hi) k->kern->matmul[k->w.format->type](&k->w, &k->panel, k->next + lo, k->next + hi, k->y, k->w.rows);
    st_worker_sync(worker); /* all know where they are */
    if (worker->id == 0) {
        k->next += k->strips;
        if ((k->next + k->strips) * ST_STRIP > k->w.rows) k->next = 0;
    }
    return STRETTO_OK;
}

int st_kernels_open(st_kernels **out, const st_kern *kern, uint64_t memory_bytes, stretto_error *err) {
    *out = NULL;
    st_kernels *k = calloc(1, sizeof *k);
    if (!k) return st_fail_memory(err, "kernel timings", sizeof *k);
    k->kern = kern;
    k->memory.fd = -1;
    uint64_t least = (uint64_t)COLS * COLS * sizeof(float); /* for the matrix-matrix products */
    int code = st_region_create(&k->memory, "stretto-kernels", memory_bytes > least ? memory_bytes : least, err);
    k->x = st_alloc(ST_PANEL * COLS, sizeof *k->x);
    k->quant = st_alloc(1, st_panel_bytes(ST_PANEL, COLS));
    if (!code && (!k->x || !k->quant)) code = st_fail_memory(err, "activations", ST_PANEL * COLS * sizeof *k->x);
    if (code) {
        st_kernels_close(k);
        return code;
    }
    st_rng rng;
    st_rng_seed(&rng, 1);
    for (size_t i = 0; i < (size_t)ST_PANEL * COLS; i++) k->x[i] = (float)st_rng_normal(&rng);
    *out = k;
    return STRETTO_OK;
}

void st_kernels_close(st_kernels *k) {
    if (!k) return;
    st_region_destroy(&k->memory);
    st_free(k->x);
    st_free(k->quant);
    st_free(k->y);
    free(k);
}

/* One strip of random rows in its packed form at the start of the memory, then copied over `strips` places. */
static int fill_weights(st_kernels *k, const st_kern_format *format, uint32_t strips, stretto_error *err) {
    const st_type_info *type = st_type_find(format->type);
    size_t strip_bytes = st_strip_bytes(format, COLS), row_bytes = COLS / type->block_len * type->block_bytes;
    uint8_t *rows = st_alloc(ST_STRIP, row_bytes);
    if (!rows) return st_fail_memory(err, "weights", ST_STRIP * row_bytes);
    st_quantize(format->type, k->x, rows, (size_t)ST_STRIP * COLS);
    format->pack(k->memory.data, rows, row_bytes, ST_STRIP, COLS);
    st_free(rows);
    for (uint32_t s = 1; s < strips; s++) memcpy(k->memory.data + s * strip_bytes, k->memory.data, strip_bytes);
    k->w = (st_matrix){.data = k->memory.data,
                       .format = format,
                       .rows = strips * ST_STRIP,
                       .cols = COLS,
                       .strip_bytes = strip_bytes,
                       .file_bytes = strips * ST_STRIP * row_bytes};
    return STRETTO_OK;
}

static int make_room(st_kernels *k, size_t n, stretto_error *err) {
    if (n <= k->y_len) return STRETTO_OK;
    st_free(k->y);
    k->y = st_alloc(n, sizeof *k->y);
    k->y_len = k->y ? n : 0;
    return k->y ? STRETTO_OK : st_fail_memory(err, "results", n * sizeof *k->y);
}

/* A matrix-vector product goes through the memory in pieces, which are smaller where the kernels are slow. */
static int choose_strips(st_kernels *k, st_unit *unit, const st_step *step, stretto_error *err) {
    uint32_t all = k->w.rows / ST_STRIP, piece = all / PIECES > 0 ? all / PIECES : 1;
    st_timing time;
    k->strips = SAMPLE_STRIPS;
    int code = st_step_time(&time, unit, step, 1, 0, err);
    double most = PIECE_NS / time.best_ns * SAMPLE_STRIPS;
    k->strips = code || most >= piece ? piece : most > 1 ? (uint32_t)most : 1;
    return code;
}

int st_kernels_time(st_kernels *k, st_unit *unit, uint32_t type, uint32_t tokens, const st_step *plain,
                    st_kernel_time *out, stretto_error *err) {
    const st_kern_format *format = k->kern->formats[type];
    const size_t strip_bytes = st_strip_bytes(format, COLS);
    uint32_t strips = tokens > 1 ? COLS / ST_STRIP : (uint32_t)(k->memory.bytes / strip_bytes);
    int code = fill_weights(k, format, strips, err);
    if (!code) code = make_room(k, (size_t)tokens * strips * ST_STRIP, err);
    if (code) return code;
    k->panel = (st_panel){.n = tokens, .cols = COLS, .x = k->x, .stride = COLS, .quant = k->quant};
    k->kern->quantize(&k->panel, 0, st_panel_blocks(&k->panel));
    const st_step step = {.name = "product", .run = product_run, .arg = k};
    k->next = 0;
    k->strips = strips;
    if (tokens == 1) code = choose_strips(k, unit, &step, err);
    k->next = 0;
    uint32_t pieces = strips / k->strips < PIECES ? strips / k->strips : PIECES;
    if (!code) code = st_step_time_against(&out->time, &out->turns, unit, &step, pieces, plain, TIME_NS, err);
    out->bytes = (uint64_t)k->strips * strip_bytes;
    out->operations = (uint64_t)tokens * k->strips * ST_STRIP * COLS;
    return code;
}
