/* SPDX-License-Identifier: MIT
 * Timings. What is timed: the kernel alone, on one thread, best of several runs; of a stream from memory each MiB's
 * best time over several passes, so that an interruption of one pass does not count and no MiB is left out.
 *   read      a plain sum over 96 MiB: what memory gives
 *   peak      arithmetic on registers: what the processor gives
 *   matvec    one token, weights of 96 MiB streamed from memory; GB/s counts packed bytes
 *   matmul    a panel of ST_PANEL tokens times a matrix of 1536 x 1536 out of the caches
 *   the rest  operands in the first caches
 * The last column is the share of the roofline: of the read for what streams from memory, of the peak of its arithmetic
 * for panels of tokens; operands in the caches have none. Every kernel of the table has a line. */
#include "checkkern/check.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { STREAM = 96 << 20, PIECES = 96, COLS = 1536 };

/* What a kernel is held against: nothing, memory, or one of the two kinds of arithmetic. */
typedef enum roof { NO_ROOF, ROOF_READ, ROOF_DOTS, ROOF_F32, ROOFS } roof;

typedef struct bench {
    const st_kern *kern;
    const char *only;
    st_region memory; /* packed weights */
    check random;
    float *x, *y; /* [ST_PANEL][8192] and [ST_PANEL][rows] */
    uint8_t *quant;
    size_t y_len;
    enum st_stream_order order; /* of reading */
    double roofs[ROOFS];        /* bytes or multiply-adds a ns */
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

static void print_rate(double rate, bool any) {
    if (any)
        printf(" %9.2f", rate);
    else
        printf(" %9s", "-");
}

static bool wanted(const bench *b, const char *name) {
    return !b->only || strstr(name, b->only);
}

static void report(const bench *b, const char *name, double ns, double bytes, double operations, roof against) {
    printf("%-8s %-22s %14.0f", b->kern->name, name, ns);
    print_rate(bytes / ns, bytes > 0);
    print_rate(operations / ns, operations > 0);
    const double done = against == ROOF_READ ? bytes : operations;
    if (against == NO_ROOF)
        printf(" %6s\n", "-");
    else
        printf(" %4.0f %%\n", 100 * done / ns / b->roofs[against]);
    fflush(stdout);
}

static void read_piece(bench *b, void *arg, uint32_t piece) {
    const size_t bytes = STREAM / PIECES;
    *(uint64_t *)arg = b->kern->stream(b->memory.data + piece * bytes, bytes, b->order);
}

/* Whatever else is wanted, since it is held against this. */
static void bench_read(bench *b) {
    static const char *const names[ST_STREAM_ORDERS] = {"read", "read, 4 streams"};
    uint64_t sink;
    double ns[ST_STREAM_ORDERS];
    for (b->order = ST_STREAM_ONE; b->order < ST_STREAM_ORDERS; b->order++) {
        ns[b->order] = stream_ns(b, read_piece, &sink);
        if (STREAM / ns[b->order] > b->roofs[ROOF_READ]) b->roofs[ROOF_READ] = STREAM / ns[b->order];
    }
    for (int order = 0; order < ST_STREAM_ORDERS; order++)
        if (wanted(b, names[order])) report(b, names[order], ns[order], STREAM, 0, ROOF_READ);
}

enum { BURN_ROUNDS = 500 };

static void run_burn(bench *b, void *arg) {
    b->kern->burn[*(enum st_burn *)arg](BURN_ROUNDS);
}

static void bench_burn(bench *b) {
    static const char *const names[ST_BURNS] = {[ST_BURN_DOTS] = "peak dots", [ST_BURN_F32] = "peak f32"};
    static const roof roofs[ST_BURNS] = {[ST_BURN_DOTS] = ROOF_DOTS, [ST_BURN_F32] = ROOF_F32};
    const double operations = (double)BURN_ROUNDS * ST_BURN_ROUND;
    for (enum st_burn what = 0; what < ST_BURNS; what++) {
        const double ns = best_ns(b, run_burn, &what);
        b->roofs[roofs[what]] = operations / ns;
        if (wanted(b, names[what])) report(b, names[what], ns, 0, operations, roofs[what]);
    }
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
               (double)st_matrix_strips(&p.w) * (double)strip_bytes, (double)p.panel.n * p.w.rows * COLS,
               stream              ? ROOF_READ
               : format->quantized ? ROOF_DOTS
                                   : ROOF_F32);
    }
}

static void run_quantize(bench *b, void *arg) {
    b->kern->quantize(arg, 0, st_panel_blocks(arg));
}

enum { CALLS = 100, HEAD_DIM = 128, LOGITS = 262144 };

/* Calls that are too short for the clock, CALLS at a time; arg is as each needs it. */
static void run_norm(bench *b, void *arg) {
    for (int i = 0; i < CALLS; i++) b->kern->rms_norm(b->y, b->x, arg, COLS, 1e-5f);
}

static void run_add(bench *b, void *arg) {
    for (int i = 0; i < CALLS; i++) b->kern->add(b->y, arg, COLS);
}

static void run_scale(bench *b, void *arg) {
    for (int i = 0; i < CALLS; i++) b->kern->scale(b->y, *(float *)arg, COLS);
}

static void run_dot(bench *b, void *arg) {
    for (int i = 0; i < CALLS; i++) *(volatile float *)arg = b->kern->dot(b->x, b->x + COLS, COLS);
}

static void run_rope(bench *b, void *arg) {
    for (int i = 0; i < CALLS; i++) b->kern->rope(b->y, b->x, HEAD_DIM / 2, HEAD_DIM, *(bool *)arg);
}

static void run_store(bench *b, void *arg) {
    uint8_t *values = b->memory.data + (STREAM >> 1);
    for (uint32_t i = 0; i < CALLS; i++)
        b->kern->kv_store[*(enum st_kv_type *)arg](b->memory.data, values, b->x, b->x + HEAD_DIM, i % 64, HEAD_DIM);
}

static void run_gate(bench *b, void *arg) {
    b->kern->gate(*(enum st_activation *)arg, b->y, b->x, COLS);
}

static void run_softcap(bench *b, void *arg) {
    b->kern->softcap(b->y, COLS, *(float *)arg);
}

static void run_argmax(bench *b, void *arg) {
    *(uint32_t *)arg = b->kern->argmax((const float *)b->memory.data, LOGITS);
}

/* A kernel on f32 in the caches, `calls` of them a run. */
static void bench_op(bench *b, const char *name, timed_fn *fn, void *arg, int calls, double items) {
    if (!wanted(b, name)) return;
    memcpy(b->y, b->x, COLS * sizeof(float));
    report(b, name, best_ns(b, fn, arg) / calls, items * sizeof(float), 0, NO_ROOF);
}

static void bench_ops(bench *b) {
    st_panel panel = {.n = ST_PANEL, .cols = COLS, .x = b->x, .stride = COLS, .quant = b->quant};
    enum st_activation silu = ST_SILU, gelu = ST_GELU_TANH;
    enum st_kv_type f16 = ST_KV_F16, f32 = ST_KV_F32;
    bool halves = true, neighbours = false;
    float one = 1, cap = 30, sum;
    uint32_t best;
    bench_op(b, "quantize 32 x 1536", run_quantize, &panel, 1, ST_PANEL * COLS);
    bench_op(b, "rms_norm 1536", run_norm, b->x, CALLS, COLS);
    bench_op(b, "add 1536", run_add, b->x + COLS, CALLS, COLS);
    bench_op(b, "scale 1536", run_scale, &one, CALLS, COLS);
    bench_op(b, "dot 1536", run_dot, &sum, CALLS, 2 * COLS);
    bench_op(b, "rope 128, halves", run_rope, &halves, CALLS, HEAD_DIM);
    bench_op(b, "rope 128, neighbours", run_rope, &neighbours, CALLS, HEAD_DIM);
    bench_op(b, "kv_store f16 128", run_store, &f16, CALLS, 2 * HEAD_DIM);
    bench_op(b, "kv_store f32 128", run_store, &f32, CALLS, 2 * HEAD_DIM);
    bench_op(b, "silu 1536", run_gate, &silu, 1, COLS);
    bench_op(b, "gelu 1536", run_gate, &gelu, 1, COLS);
    bench_op(b, "softcap 1536", run_softcap, &cap, 1, COLS);
    bench_op(b, "argmax 262144", run_argmax, &best, 1, LOGITS);
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
    report(b, name, ns, 2.0 * (double)p.layer_bytes, 2048.0 * head_dim * heads * tokens, stream ? ROOF_READ : ROOF_F32);
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
    printf("%-8s %-22s %14s %9s %9s %6s\n", "table", "kernel", "ns/call", "GB/s", "mac/ns", "share");
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
