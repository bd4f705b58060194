/* SPDX-License-Identifier: MIT
 * Products of quantized matrices with SMMLA, which multiplies 2 rows x 8 columns with 8 columns x 2 tokens. Weights are
 * regrouped from four rows x 4 columns to that as they are unpacked, activations once a block; a vector of sums has
 * (row, token), (row, token + 1), (row + 1, token), (row + 1, token + 1). One token alone uses SDOT. */
#include "kern/dotprod.h"

enum { PAIRS = ST_PANEL / 2 };

/* A block of two tokens' activations; where the panel ends with one, it stands here twice. */
typedef struct two_tokens {
    int8x16_t x0, x1, x2, x3; /* 8 columns of each */
    float32x4_t d, ds;        /* (t, t + 1) twice, as the others */
    int32x4_t total0, total1;
} two_tokens;

/* Two rows' weights, of 8 columns each, and their numbers twice. */
typedef struct two_rows {
    int8x16_t w0, w1, w2, w3;
    int32x4_t by0, by1, min0, min1;
    float32x4_t d, m;
} two_rows;

ST_INLINE int8x16_t low_lanes(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s32(vzip1q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
}

ST_INLINE int8x16_t high_lanes(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s32(vzip2q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
}

ST_INLINE two_rows rows_low(const block4 *b) {
    return (two_rows){low_lanes(b->w0, b->w1),      low_lanes(b->w2, b->w3),      low_lanes(b->w4, b->w5),
                      low_lanes(b->w6, b->w7),      vzip1q_s32(b->by0, b->by0),   vzip1q_s32(b->by1, b->by1),
                      vzip1q_s32(b->min0, b->min0), vzip1q_s32(b->min1, b->min1), vzip1q_f32(b->d, b->d),
                      vzip1q_f32(b->m, b->m)};
}

ST_INLINE two_rows rows_high(const block4 *b) {
    return (two_rows){high_lanes(b->w0, b->w1),     high_lanes(b->w2, b->w3),     high_lanes(b->w4, b->w5),
                      high_lanes(b->w6, b->w7),     vzip2q_s32(b->by0, b->by0),   vzip2q_s32(b->by1, b->by1),
                      vzip2q_s32(b->min0, b->min0), vzip2q_s32(b->min1, b->min1), vzip2q_f32(b->d, b->d),
                      vzip2q_f32(b->m, b->m)};
}

ST_INLINE int8x16_t low_columns(int8x16_t a, int8x16_t b) {
    return vcombine_s8(vget_low_s8(a), vget_low_s8(b));
}
ST_INLINE int8x16_t high_columns(int8x16_t a, int8x16_t b) {
    return vcombine_s8(vget_high_s8(a), vget_high_s8(b));
}

ST_INLINE float32x4_t twice_f32(float a, float b) {
    return (float32x4_t){a, b, a, b};
}
ST_INLINE int32x4_t twice_s32(int32_t a, int32_t b) {
    return (int32x4_t){a, b, a, b};
}

/* Regroups the activations of a block of n tokens. */
ST_INLINE void pair_tokens(two_tokens out[PAIRS], const uint8_t *x, uint32_t n) {
    for (uint32_t t = 0; t < n; t += 2) {
        const token a = token_at(x, n, t), b = token_at(x, n, t + 1 < n ? t + 1 : t);
        out[t / 2] = (two_tokens){low_columns(a.x0, b.x0),       high_columns(a.x0, b.x0),     low_columns(a.x1, b.x1),
                                  high_columns(a.x1, b.x1),      twice_f32(a.d, b.d),          twice_f32(a.ds, b.ds),
                                  twice_s32(a.total0, b.total0), twice_s32(a.total1, b.total1)};
    }
}

/* The exact integer of two rows and two tokens: as block_dot. */
ST_INLINE int32x4_t pair_dot(const two_rows *r, const two_tokens *t, shape s) {
    const int32x4_t zero = vdupq_n_s32(0);
    if (s.scales == TWO_SCALES) {
        const int32x4_t start0 = s.offset ? vmulq_n_s32(t->total0, -s.offset) : zero;
        const int32x4_t start1 = s.offset ? vmulq_n_s32(t->total1, -s.offset) : zero;
        const int32x4_t dot0 = vmmlaq_s32(vmmlaq_s32(start0, r->w0, t->x0), r->w1, t->x1);
        const int32x4_t dot1 = vmmlaq_s32(vmmlaq_s32(start1, r->w2, t->x2), r->w3, t->x3);
        return vmlaq_s32(vmulq_s32(dot0, r->by0), dot1, r->by1);
    }
    const int32x4_t start = s.offset ? vmulq_n_s32(vaddq_s32(t->total0, t->total1), -s.offset) : zero;
    const int32x4_t first = vmmlaq_s32(vmmlaq_s32(start, r->w0, t->x0), r->w1, t->x1);
    const int32x4_t dot = vmmlaq_s32(vmmlaq_s32(first, r->w2, t->x2), r->w3, t->x3);
    return s.scales == ONE_SCALE ? vmulq_s32(dot, r->by0) : dot;
}

/* As add_block. */
ST_INLINE float32x4_t add_pair(float32x4_t acc, const two_rows *r, const two_tokens *t, shape s) {
    acc = vfmaq_f32(acc, vcvtq_f32_s32(pair_dot(r, t, s)), vmulq_f32(r->d, t->d));
    if (s.minima == ONE_MIN) acc = vfmaq_f32(acc, r->m, t->ds);
    if (s.minima == TWO_MINS) {
        const int32x4_t sum = vmlaq_s32(vmulq_s32(r->min0, t->total0), r->min1, t->total1);
        acc = vfmaq_f32(acc, vcvtq_f32_s32(sum), vmulq_f32(r->m, t->d));
    }
    return acc;
}

/* The sums of two tokens and four rows are eight floats of acc, rows 0-1 first. */
ST_INLINE void add_pairs(float acc[][2 * ST_STRIP], const block4 *b, const two_tokens *x, uint32_t pairs, uint32_t g,
                         shape s) {
    const two_rows low = rows_low(b), high = rows_high(b);
    for (uint32_t p = 0; p < pairs; p++) {
        float *sums = acc[p] + 8 * g;
        vst1q_f32(sums, add_pair(vld1q_f32(sums), &low, &x[p], s));
        vst1q_f32(sums + 4, add_pair(vld1q_f32(sums + 4), &high, &x[p], s));
    }
}

/* Sums of all pairs to n rows of y. */
static void store_pairs(const float acc[][2 * ST_STRIP], uint32_t n, float *y, size_t ldy) {
    for (uint32_t t = 0; t < n; t += 2)
        for (uint32_t g = 0; g < 4; g++) {
            const float32x4_t low = vld1q_f32(acc[t / 2] + 8 * g), high = vld1q_f32(acc[t / 2] + 8 * g + 4);
            vst1q_f32(y + t * ldy + 4 * g, vuzp1q_f32(low, high));
            if (t + 1 < n) vst1q_f32(y + (t + 1) * ldy + 4 * g, vuzp2q_f32(low, high));
        }
}

ST_INLINE void matmul_pairs(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                            load_fn *load, shape s) {
    const uint32_t n = panel->n, pairs = (n + 1) / 2;
    float acc[PAIRS][2 * ST_STRIP];
    two_tokens tokens[PAIRS];
    for (uint32_t strip = lo; strip < hi; strip++) {
        const uint8_t *tile = w->data + strip * w->strip_bytes, *x = panel->quant;
        memset(acc, 0, pairs * sizeof(acc[0]));
        for (uint32_t k = 0; k < w->cols; k += 32 * s.blocks, tile += s.tile_bytes)
            for (uint32_t i = 0; i < s.blocks; i++, x += (size_t)n * ST_QBLOCK_BYTES) {
                pair_tokens(tokens, x, n);
                for (uint32_t g = 0; g < 4; g++) {
                    const block4 b = load(tile, i, g);
                    add_pairs(acc, &b, tokens, pairs, g, s);
                }
            }
        store_pairs((const float(*)[2 * ST_STRIP]) acc, n, y + (size_t)strip * ST_STRIP, ldy);
    }
}

#define MATMUL(format, shape)                                                                                          \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_i8mm) {                                                                   \
        if (panel->n == 1)                                                                                             \
            matvec(w, panel->quant, strip_lo, strip_hi, y, load_##format, shape, dot16);                               \
        else                                                                                                           \
            matmul_pairs(w, panel, strip_lo, strip_hi, y, ldy, load_##format, shape);                                  \
    }
ST_NEON_FORMATS(MATMUL)
