/* SPDX-License-Identifier: MIT
 * The kernel table: every arithmetic loop of a transformer step, one signature a kernel, a scalar reference and faster
 * variants picked at run time. Kernels hold no state and allocate nothing.
 *
 * Results are reproducible by construction: each (row, token) of a matrix product is reduced over blocks of columns in
 * one fixed order with one accumulator chain, and attention runs over fixed blocks of absolute positions. So a result
 * does not depend on how many tokens stand in the call, nor on how rows are split between threads; it may differ
 * between instruction sets. */
#ifndef ST_KERN_KERN_H
#define ST_KERN_KERN_H

#include "base/log.h"
#include "gguf/types.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_STRIP 16      /* rows of a packed strip; outputs have room for whole strips */
#define ST_PANEL 32      /* most tokens of one panel */
#define ST_QBLOCK 32     /* activations are quantized in blocks of 32 */
#define ST_ATTN_BLOCK 64 /* positions of one softmax block; KV capacities are multiples of it */

/* ---- matrices ----
 * y[t][row] = sum_k W[row][k] x[t][k]. W is repacked into strips of 16 rows: strip s holds rows 16s..16s+15 as tiles
 * (16 rows x one block of columns) consecutive in k, one sequential stream. Missing rows of the last strip are zero. */
typedef struct st_kern_format {
    uint32_t type;      /* enum st_type of the source */
    uint32_t tile_cols; /* columns of a tile: 32, 256, or 1 (rows of any length) */
    uint32_t tile_bytes;
    bool quantized; /* takes quantized activations, else f32 ones */
    /* Packs `rows` (1..16) consecutive source rows of `cols` elements (row_bytes apart) into one strip. */
    void (*pack)(uint8_t *strip, const uint8_t *src, size_t row_bytes, uint32_t rows, uint32_t cols);
} st_kern_format;

typedef struct st_matrix {
    const uint8_t *data; /* strips, 64-byte aligned; not owned */
    const st_kern_format *format;
    uint32_t rows, cols;
    size_t strip_bytes;
    size_t file_bytes; /* of the source tensor: what "bytes moved" counts */
} st_matrix;

static inline uint32_t st_matrix_strips(const st_matrix *m) {
    return (m->rows + ST_STRIP - 1) / ST_STRIP;
}
/* Bytes of one strip (a multiple of 64), or 0 when cols is 0 or not a multiple of what the format needs. */
size_t st_strip_bytes(const st_kern_format *format, uint32_t cols);

/* Activations of up to ST_PANEL tokens, both as f32 and (filled by quantize) as int8 blocks. For n tokens, block b of
 * 32 columns is n * ST_QBLOCK_BYTES bytes at quant + b * n * ST_QBLOCK_BYTES:
 *   int8 q[n][32];         |q| <= 127; columns beyond cols in the last block are zero
 *   float d[n];            x ~ d q, d = max|x| / 127; not finite when an x is not
 *   float ds[n];           d * sum of q
 *   int16 sums[n][2][2];   of each half of 16 columns: the sum of q where k % 4 < 2, and of the others */
#define ST_QBLOCK_BYTES 48
typedef struct st_panel {
    uint32_t n; /* tokens */
    uint32_t cols;
    const float *x; /* [n][stride] */
    size_t stride;
    uint8_t *quant; /* st_panel_bytes(n, cols), 64-byte aligned, or NULL when no format needs it */
} st_panel;
static inline uint32_t st_panel_blocks(const st_panel *panel) {
    return (panel->cols + ST_QBLOCK - 1) / ST_QBLOCK;
}
static inline size_t st_panel_bytes(uint32_t n, uint32_t cols) {
    return (size_t)n * ST_QBLOCK_BYTES * ((cols + ST_QBLOCK - 1) / ST_QBLOCK);
}

/* ---- attention ----
 * The query heads that share one KV head, of n_tokens consecutive tokens. Token t sees the absolute positions first_t
 * to last + t, inclusive, where first_t is `first`, or last + t - window + 1 where a window makes that larger. They
 * must be stored already. The cache is a ring of `capacity` positions (multiple of ST_ATTN_BLOCK): position p lives in
 * slot p % capacity; slots of other positions may hold anything, NaN too. K: [capacity/16][head_dim][16] (lanes are
 * positions); V: [capacity][head_dim]. Any alignment of an item. A token's result is the same bit for bit in a call of
 * one token and of many, and for any capacity. */
typedef struct st_attention {
    const float *q;                       /* [n_tokens][q_stride], of which [n_heads][head_dim] */
    float *out;                           /* [n_tokens][out_stride], of which [n_heads][head_dim] */
    size_t q_stride, out_stride;          /* floats */
    uint32_t n_tokens, n_heads, head_dim; /* head_dim is a multiple of 8 */
    const void *k, *v;                    /* f16 or f32, see st_kern.attention */
    const void *next_k, *next_v;          /* what the next call begins with, a block of each; NULL: not known */
    bool fetched;                         /* the call before knew what this one begins with */
    uint32_t capacity;
    uint32_t first, last; /* of token 0; first <= last */
    uint32_t window;      /* most positions a token sees, 0: all */
    float scale;          /* of the scores; positive */
} st_attention;

enum st_kv_type { ST_KV_F16, ST_KV_F32 };
static inline size_t st_kv_item_bytes(enum st_kv_type t) {
    return t == ST_KV_F16 ? 2 : 4;
}

enum st_activation { ST_SILU, ST_GELU_TANH };

/* ---- what the machine can do ---- no part of a model: what its kernels are compared with */
enum st_stream_order { ST_STREAM_ONE, ST_STREAM_FOUR, ST_STREAM_ORDERS };
enum st_burn { ST_BURN_DOTS, ST_BURN_F32, ST_BURNS }; /* integer dot products as in matrix products; f32 multiply-add */
#define ST_BURN_ROUND 2048                            /* multiply-adds of one round */

#define ST_TURN_MAX 3 /* strips of a turn */
/* One of them: where it stands, and where its output goes, ldy floats from token to token. */
typedef struct st_turn_strip {
    const uint8_t *data;
    float *y;
    size_t ldy;
} st_turn_strip;
typedef void st_turn_fn(const st_matrix *w, const st_panel *panel, const st_turn_strip *strips, uint32_t n,
                        uint32_t turns);

typedef struct st_kern {
    const char *name;                             /* "scalar", "avx2", "avxvnni", "avx512", "neon", "dotprod", "i8mm" */
    const st_kern_format *formats[ST_TYPE_COUNT]; /* NULL: no matrix of that type */

    /* Strips strip_lo..strip_hi-1 of W times a panel: y[t * ldy + row], rows of whole strips are written. The panel's
     * quant part must be filled when the format is quantized. */
    void (*matmul[ST_TYPE_COUNT])(const st_matrix *w, const st_panel *panel, uint32_t strip_lo, uint32_t strip_hi,
                                  float *y, size_t ldy);
    /* How strips of a product of a few tokens are best read: so many at a time, far from each other (NULL and 0: in
     * order). `turns` times n strips of w's format and columns, each where strips[i] has it and, output too, what
     * follows there; n is 1 to turn_strips, turns at least 1. Results are those of matmul bit for bit. */
    st_turn_fn *turn[ST_TYPE_COUNT];
    uint8_t turn_tokens[ST_TYPE_COUNT]; /* most of them; of more, and 0: in order */
    uint32_t turn_strips;               /* up to ST_TURN_MAX */
    /* Fills blocks block_lo..block_hi-1 of panel->quant from panel->x; all of them are st_panel_blocks(panel). */
    void (*quantize)(const st_panel *panel, uint32_t block_lo, uint32_t block_hi);

    /* out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; weight may be NULL (ones); out may be x. */
    void (*rms_norm)(float *out, const float *x, const float *weight, uint32_t n, float eps);
    void (*add)(float *x, const float *y, uint32_t n); /* x += y */
    void (*scale)(float *x, float by, uint32_t n);     /* x *= by */
    /* gate[i] = act(gate[i]) * up[i]; tanh GELU is the exact formula, no table */
    void (*gate)(enum st_activation act, float *gate, const float *up, uint32_t n);
    void (*softcap)(float *x, uint32_t n, float cap); /* x[i] = cap * tanh(x[i] / cap) */
    /* Rotary embedding of one head in place. cos_sin: [n_pairs][2]. neox: pairs (i, i + half) with half = head_dim / 2,
     * else (2i, 2i + 1). Only the first n_pairs pairs turn. */
    void (*rope)(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox);
    /* Stores one position's key and value of one KV head into ring slot `slot`. */
    void (*kv_store[2])(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim);
    void (*attention[2])(const st_attention *a);    /* by enum st_kv_type */
    uint32_t (*argmax)(const float *x, uint32_t n); /* first of the largest; NaN never wins over a number */
    float (*dot)(const float *a, const float *b, uint32_t n);

    /* Reads bytes (a multiple of 64) from data (64-byte aligned), as fast as memory gives them: in order, or as four
     * parts of equal length, a line of each in turn. Returns the sum of all 64-bit words. */
    uint64_t (*stream)(const uint8_t *data, size_t bytes, enum st_stream_order order);
    /* Arithmetic on registers alone: rounds of ST_BURN_ROUND multiply-adds, products of 1 and 1 in as many sums as it
     * takes to keep the processor busy. Returns their total, so far as it fits 32 bits, and 24 bits for each f32 sum.
     */
    uint32_t (*burn[ST_BURNS])(uint32_t rounds);
} st_kern;

/* The best table that this CPU can run, or the one named by mask (a name as above; NULL or "" means best).
 * STRETTO_E_USAGE lists the names when unknown, and says so when this CPU lacks it. */
int st_kern_select(const st_kern **out, const char *mask, stretto_error *err);
/* All tables this CPU can run, scalar first; for tests and benchmarks. Returns how many. */
size_t st_kern_list(const st_kern **tables, size_t max);
/* Warns when the table is one of the slow ones: because this CPU has nothing better, or because it was asked for. */
void st_kern_warn_slow(const st_kern *kern, const st_log *log);

#endif
