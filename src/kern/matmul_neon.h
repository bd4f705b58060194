/* SPDX-License-Identifier: MIT
 * Products of quantized matrices on arm64, made from a dot product of bytes that each table has of its own. Four rows'
 * weights of a block are unpacked into registers once and meet all tokens of the panel; the float sums of a panel wait
 * in the first cache, those of one token in registers. The order of sums stands in neon.h. */
#ifndef ST_KERN_MATMUL_NEON_H
#define ST_KERN_MATMUL_NEON_H

#include "kern/block_neon.h"

/* start[row] + the products of 16 columns: byte 4j + c of x and of row r's lane in vector j (a, b, c, d). `bytes`: the
 * weights have 8 bits, else at most 6. */
typedef int32x4_t dot16_fn(int32x4_t start, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d, int8x16_t x,
                           bool bytes);

/* A block of one token's activations. */
typedef struct token {
    int8x16_t x0, x1;
    float d, ds;
    int32_t total0, total1; /* sums of each half */
} token;

ST_INLINE token token_at(const uint8_t *block, uint32_t n, uint32_t t) {
    const int8_t *q = st_qblock_q(block) + 32 * (size_t)t;
    const int16_t *sums = st_qblock_sums(block, n) + 4 * (size_t)t;
    return (token){.x0 = vld1q_s8(q),
                   .x1 = vld1q_s8(q + 16),
                   .d = st_qblock_d(block, n)[t],
                   .ds = st_qblock_ds(block, n)[t],
                   .total0 = sums[0] + sums[1],
                   .total1 = sums[2] + sums[3]};
}

/* The exact integer of each row. */
ST_INLINE int32x4_t block_dot(const block4 *b, const token *t, shape s, dot16_fn *dot16) {
    const int32x4_t zero = vdupq_n_s32(0);
    if (s.scales == TWO_SCALES) {
        const int32x4_t start0 = s.offset ? vdupq_n_s32(-s.offset * t->total0) : zero;
        const int32x4_t start1 = s.offset ? vdupq_n_s32(-s.offset * t->total1) : zero;
        const int32x4_t dot0 = dot16(start0, b->w0, b->w1, b->w2, b->w3, t->x0, s.bytes);
        const int32x4_t dot1 = dot16(start1, b->w4, b->w5, b->w6, b->w7, t->x1, s.bytes);
        return vmlaq_s32(vmulq_s32(dot0, b->by0), dot1, b->by1);
    }
    const int32x4_t start = s.offset ? vdupq_n_s32(-s.offset * (t->total0 + t->total1)) : zero;
    const int32x4_t first = dot16(start, b->w0, b->w1, b->w2, b->w3, t->x0, s.bytes);
    const int32x4_t dot = dot16(first, b->w4, b->w5, b->w6, b->w7, t->x1, s.bytes);
    return s.scales == ONE_SCALE ? vmulq_s32(dot, b->by0) : dot;
}

/* acc + the block's part of four rows. */
ST_INLINE float32x4_t add_block(float32x4_t acc, const block4 *b, const token *t, shape s, dot16_fn *dot16) {
    acc = vfmaq_f32(acc, vcvtq_f32_s32(block_dot(b, t, s, dot16)), vmulq_n_f32(b->d, t->d));
    if (s.minima == ONE_MIN) acc = vfmaq_n_f32(acc, b->m, t->ds);
    if (s.minima == TWO_MINS) {
        const int32x4_t sum = vmlaq_n_s32(vmulq_n_s32(b->min0, t->total0), b->min1, t->total1);
        acc = vfmaq_f32(acc, vcvtq_f32_s32(sum), vmulq_n_f32(b->m, t->d));
    }
    return acc;
}

/* One token: all in registers. */
ST_INLINE void matvec(const st_matrix *w, const uint8_t *quant, uint32_t lo, uint32_t hi, float *y, load_fn *load,
                      shape s, dot16_fn *dot16) {
    for (uint32_t strip = lo; strip < hi; strip++) {
        const uint8_t *tile = w->data + strip * w->strip_bytes, *x = quant;
        float32x4_t a0 = vdupq_n_f32(0), a1 = a0, a2 = a0, a3 = a0;
        for (uint32_t k = 0; k < w->cols; k += 32 * s.blocks, tile += s.tile_bytes)
            for (uint32_t i = 0; i < s.blocks; i++, x += ST_QBLOCK_BYTES) {
                const token t = token_at(x, 1, 0);
#define ROWS(g)                                                                                                        \
    {                                                                                                                  \
        const block4 b = load(tile, i, g);                                                                             \
        a##g = add_block(a##g, &b, &t, s, dot16);                                                                      \
    }
                ROWS(0)
                ROWS(1)
                ROWS(2)
                ROWS(3)
#undef ROWS
            }
        float *to = y + (size_t)strip * ST_STRIP;
        vst1q_f32(to, a0);
        vst1q_f32(to + 4, a1);
        vst1q_f32(to + 8, a2);
        vst1q_f32(to + 12, a3);
    }
}

/* A block of four rows times n tokens. */
ST_INLINE void add_tokens(float acc[][ST_STRIP], const block4 *b, const uint8_t *x, uint32_t n, uint32_t g, shape s,
                          dot16_fn *dot16) {
    for (uint32_t i = 0; i < n; i++) {
        const token t = token_at(x, n, i);
        vst1q_f32(acc[i] + 4 * g, add_block(vld1q_f32(acc[i] + 4 * g), b, &t, s, dot16));
    }
}

ST_INLINE void matmul(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                      load_fn *load, shape s, dot16_fn *dot16) {
    const uint32_t n = panel->n;
    float acc[ST_PANEL][ST_STRIP];
    for (uint32_t strip = lo; strip < hi; strip++) {
        const uint8_t *tile = w->data + strip * w->strip_bytes, *x = panel->quant;
        memset(acc, 0, n * sizeof(acc[0]));
        for (uint32_t k = 0; k < w->cols; k += 32 * s.blocks, tile += s.tile_bytes)
            for (uint32_t i = 0; i < s.blocks; i++, x += (size_t)n * ST_QBLOCK_BYTES)
                for (uint32_t g = 0; g < 4; g++) {
                    const block4 b = load(tile, i, g);
                    add_tokens(acc, &b, x, n, g, s, dot16);
                }
        for (uint32_t t = 0; t < n; t++) memcpy(y + t * ldy + (size_t)strip * ST_STRIP, acc[t], sizeof(acc[t]));
    }
}

/* A table's product of one format, with its own dot16. */
#define ST_NEON_MATMUL(isa, format, shape)                                                                             \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_##isa) {                                                                  \
        if (panel->n == 1)                                                                                             \
            matvec(w, panel->quant, strip_lo, strip_hi, y, load_##format, shape, dot16);                               \
        else                                                                                                           \
            matmul(w, panel, strip_lo, strip_hi, y, ldy, load_##format, shape, dot16);                                 \
    }

#endif
