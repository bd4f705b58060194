/* SPDX-License-Identifier: MIT
 * Timings. What is timed: the kernel alone, on one thread, best of several runs; of a stream from memory each MiB's
 * best time over several passes, so that an interruption of one pass does not count and no MiB is left out.
 *   read      a plain sum over 96 MiB: what memory gives
 *   peak      arithmetic on registers: what the processor gives
 *   matvec    one token, weights of 96 MiB streamed from memory; GB/s counts packed bytes
 *   matmul    a panel of ST_PANEL tokens times a matrix of 1536 x 1536 out of the caches
 *   the rest  operands in the first caches */
#include "checkkern/check.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { STREAM = 96 << 20, PIECES = 96, COLS = 1536 };

typedef struct bench {
    const st_kern *kern;
    const char *only;
    st_region memory; /* packed weights */
    check random;
    float *x, *y; /* [ST_PANEL][8192] and [ST_PANEL][rows] */
    uint8_t *quant;
    size_t y_len;
    enum st_stream_order order; /* of reading */
} bench;

typedef void timed_fn(bench *b, void *arg);

/* Best time of a call in ns: at least five calls and 0.2 s. */
static double best_ns(bench *b, timed_fn *fn, void *arg) {
    const uint64_t start = st_now_ns();
    double best = 1e18;
    for (unsigned i = 0; i < 5 || st_now_ns() - start < 200000000u; i++) {
        const uint64_t from = st_now_ns();
        fn(b, arg);
        const double ns = (double)(st_now_ns() - from);
        if (ns < best) best = ns;
    }
    return best;
}

/* Runs piece `piece` of PIECES of a stream. */
typedef void piece_fn(bench *b, void *arg, uint32_t piece);

/* Time of a pass in ns: at least five passes and 0.5 s. */
static double stream_ns(bench *b, piece_fn *fn, void *arg) {
    const uint64_t start = st_now_ns();
    double best[PIECES], sum = 0;
    for (uint32_t p = 0; p < PIECES; p++) best[p] = 1e18;
    for (unsigned i = 0; i < 5 || st_now_ns() - start < 500000000u; i++)
        for (uint32_t p = 0; p < PIECES; p++) {
            const uint64_t from = st_now_ns();
            fn(b, arg, p);
            const double ns = (double)(st_now_ns() - from);
            if (ns < best[p]) best[p] = ns;
        }
    for (uint32_t p = 0; p < PIECES; p++) sum += best[p];
    return sum;
}

static void report(const bench *b, const char *name, double ns, double bytes, double operations) {
    printf("%-8s %-22s %14.0f", b->kern->name, name, ns);
    if (bytes > 0)
        printf(" %9.2f", bytes / ns);
    else
        printf(" %9s", "-");
    if (operations > 0)
        printf(" %9.2f", operations / ns);
    else
        printf(" %9s", "-");
    printf("\n");
    fflush(stdout);
}

static bool wanted(const bench *b, const char *name) {
    return !b->only || strstr(name, b->only);
}

static void read_piece(bench *b, void *arg, uint32_t piece) {
    const size_t bytes = STREAM / PIECES;
    *(uint64_t *)arg = b->kern->stream(b->memory.data + piece * bytes, bytes, b->order);
}

static void bench_read(bench *b) {
    uint64_t sink;
    if (!wanted(b, "read")) return;
    b->order = ST_STREAM_ONE;
    report(b, "read", stream_ns(b, read_piece, &sink), STREAM, 0);
    b->order = ST_STREAM_FOUR;
    report(b, "read, 4 streams", stream_ns(b, read_piece, &sink), STREAM, 0);
}

enum { BURN_ROUNDS = 500 };

static void run_burn(bench *b, void *arg) {
    b->kern->burn[*(enum st_burn *)arg](BURN_ROUNDS);
}

static void bench_burn(bench *b) {
    static const char *const names[ST_BURNS] = {[ST_BURN_DOTS] = "peak dots", [ST_BURN_F32] = "peak f32"};
    for (enum st_burn what = 0; what < ST_BURNS; what++)
        if (wanted(b, names[what]))
            report(b, names[what], best_ns(b, run_burn, &what), 0, (double)BURN_ROUNDS * ST_BURN_ROUND);
}

typedef struct product_args {
    st_matrix w;
    st_panel panel;
} product_args;

static void run_product(bench *b, void *arg) {
    const product_args *p = arg;
    b->kern->matmul[p->w.format->type](&p->w, &p->panel, 0, st_matrix_strips(&p->w), b->y, b->y_len);
}

static void run_product_piece(bench *b, void *arg, uint32_t piece) {
    const product_args *p = arg;
    const uint32_t strips = st_matrix_strips(&p->w), lo = strips * piece / PIECES, hi = strips * (piece + 1) / PIECES;
    b->kern->matmul[p->w.format->type](&p->w, &p->panel, lo, hi, b->y, b->y_len);
}

/* Packs the same random rows again and again into `bytes` of memory, at least one strip. */
static st_matrix bench_matrix(bench *b, const st_kern_format *format, size_t bytes) {
    const st_type_info *type = st_type_find(format->type);
    const size_t strip_bytes = st_strip_bytes(format, COLS), row_bytes = COLS / type->block_len * type->block_bytes;
    const uint32_t strips = (uint32_t)(bytes / strip_bytes);
    uint8_t *rows = st_alloc(ST_STRIP, row_bytes);
    random_blocks(&b->random, format->type, rows, (size_t)ST_STRIP * COLS);
    for (uint32_t s = 0; s < strips; s++)
        format->pack(b->memory.data + s * strip_bytes, rows, row_bytes, ST_STRIP, COLS);
    st_free(rows);
    return (st_matrix){.data = b->memory.data,
                       .format = format,
                       .rows = strips * ST_STRIP,
                       .cols = COLS,
                       .strip_bytes = strip_bytes,
                       .file_bytes = strips * ST_STRIP * row_bytes};
}

static void bench_products(bench *b, bool panel) {
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_kern_format *format = b->kern->formats[type];
        char name[40];
        if (!format) continue;
        snprintf(name, sizeof(name), "%s %s", panel ? "matmul" : "matvec", st_type_find(type)->name);
        if (!wanted(b, name)) continue;
        const size_t strip_bytes = st_strip_bytes(format, COLS);
        product_args p = {.w = bench_matrix(b, format, panel ? COLS / ST_STRIP * strip_bytes : STREAM)};
        if (b->kern == b->random.ref) p.w.rows = ST_STRIP; /* the scalar reference is slow */
        p.panel = (st_panel){.n = panel ? ST_PANEL : 1, .cols = COLS, .x = b->x, .stride = COLS, .quant = b->quant};
        b->kern->quantize(&p.panel, 0, st_panel_blocks(&p.panel));
        const bool stream = !panel && b->kern != b->random.ref;
        report(b, name, stream ? stream_ns(b, run_product_piece, &p) : best_ns(b, run_product, &p),
               (double)st_matrix_strips(&p.w) * (double)strip_bytes, (double)p.panel.n * p.w.rows * COLS);
    }
}

static void run_quantize(bench *b, void *arg) {
    b->kern->quantize(arg, 0, st_panel_blocks(arg));
}

static void run_norm(bench *b, void *arg) {
    for (int i = 0; i < 100; i++) b->kern->rms_norm(b->y, b->x, arg, COLS, 1e-5f);
}

static void run_gate(bench *b, void *arg) {
    b->kern->gate(*(enum st_activation *)arg, b->y, b->x, COLS);
}

static void run_argmax(bench *b, void *arg) {
    *(uint32_t *)arg = b->kern->argmax((const float *)b->memory.data, 262144);
}

static void bench_ops(bench *b) {
    st_panel panel = {.n = ST_PANEL, .cols = COLS, .x = b->x, .stride = COLS, .quant = b->quant};
    enum st_activation act = ST_SILU;
    uint32_t sink;
    if (wanted(b, "quantize"))
        report(b, "quantize 32 x 1536", best_ns(b, run_quantize, &panel), ST_PANEL * COLS * 4.0, 0);
    if (wanted(b, "rms_norm")) report(b, "rms_norm 1536", best_ns(b, run_norm, b->x) / 100, COLS * 4.0, 0);
    memcpy(b->y, b->x, COLS * sizeof(float));
    if (wanted(b, "silu")) report(b, "silu 1536", best_ns(b, run_gate, &act), COLS * 4.0, 0);
    act = ST_GELU_TANH;
    memcpy(b->y, b->x, COLS * sizeof(float));
    if (wanted(b, "gelu")) report(b, "gelu 1536", best_ns(b, run_gate, &act), COLS * 4.0, 0);
    if (wanted(b, "argmax")) report(b, "argmax 262144", best_ns(b, run_argmax, &sink), 262144 * 4.0, 0);
}

typedef struct attention_args {
    st_attention a;
    enum st_kv_type type;
    uint32_t layers; /* caches one after the other, so that they come from memory */
    size_t layer_bytes;
} attention_args;

static void attend(bench *b, attention_args *p, uint32_t layer) {
    p->a.k = b->memory.data + 2 * layer * p->layer_bytes;
    p->a.v = b->memory.data + (2 * layer + 1) * p->layer_bytes;
    b->kern->attention[p->type](&p->a);
}

static void run_attention(bench *b, void *arg) {
    attend(b, arg, 0);
}

static void run_attention_piece(bench *b, void *arg, uint32_t piece) {
    attention_args *p = arg;
    for (uint32_t l = p->layers * piece / PIECES; l < p->layers * (piece + 1) / PIECES; l++) attend(b, p, l);
}

/* One token: caches of many layers streamed from memory; a panel of tokens: one cache again and again. */
static void bench_attention(bench *b, const char *shape, uint32_t heads, uint32_t head_dim, uint32_t tokens,
                            enum st_kv_type type) {
    char name[60];
    snprintf(name, sizeof(name), "attention %s %s x%u", type == ST_KV_F16 ? "f16" : "f32", shape, tokens);
    if (!wanted(b, name)) return;
    attention_args p = {.type = type, .layer_bytes = 1024 * (size_t)head_dim * st_kv_item_bytes(type)};
    p.a = (st_attention){.q = b->x,
                         .out = b->y,
                         .q_stride = heads * head_dim,
                         .out_stride = heads * head_dim,
                         .n_tokens = tokens,
                         .n_heads = heads,
                         .head_dim = head_dim,
                         .capacity = 1024,
                         .last = 1024 - tokens,
                         .scale = 0.1f};
    p.layers = (uint32_t)(STREAM / (2 * p.layer_bytes));
    memset(b->memory.data, 0, STREAM);
    const bool stream = tokens == 1 && b->kern != b->random.ref;
    const double ns = stream ? stream_ns(b, run_attention_piece, &p) / p.layers : best_ns(b, run_attention, &p);
    report(b, name, ns, 2.0 * (double)p.layer_bytes, 2048.0 * head_dim * heads * tokens);
}

int bench_all(const st_kern *kern, const char *only) {
    stretto_error err;
    const st_kern *scalar;
    bench b = {.kern = kern, .only = only, .y_len = STREAM / 8};
    st_kern_list(&scalar, 1);
    b.random.ref = b.random.kern = scalar;
    st_rng_seed(&b.random.rng, 1);
    if (st_region_create(&b.memory, "bench", STREAM, &err) != 0) {
        fprintf(stderr, "checkkern: %s\n", err.text);
        return 1;
    }
    b.x = st_alloc(ST_PANEL * 8192, sizeof(float));
    b.y_len = 2 * COLS;
    b.y = st_alloc(STREAM / COLS + ST_PANEL * b.y_len, 2 * sizeof(float));
    b.quant = st_alloc(1, st_panel_bytes(ST_PANEL, 8192));
    random_floats(&b.random, b.x, ST_PANEL * 8192);
    memset(b.memory.data, 1, STREAM);
    printf("%-8s %-22s %14s %9s %9s\n", "table", "kernel", "ns/call", "GB/s", "mac/ns");
    bench_read(&b);
    bench_burn(&b);
    bench_products(&b, false);
    bench_products(&b, true);
    bench_ops(&b);
    for (int type = ST_KV_F16; type <= ST_KV_F32; type++) {
        bench_attention(&b, "3x64", 3, 64, 1, (enum st_kv_type)type);
        bench_attention(&b, "4x256", 4, 256, 1, (enum st_kv_type)type);
        bench_attention(&b, "3x64", 3, 64, ST_PANEL, (enum st_kv_type)type);
        bench_attention(&b, "4x256", 4, 256, ST_PANEL, (enum st_kv_type)type);
    }
    st_free(b.x);
    st_free(b.y);
    st_free(b.quant);
    st_region_destroy(&b.memory);
    return 0;
}
