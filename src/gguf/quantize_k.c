/* SPDX-License-Identifier: MIT
 * Blocks of 256 with scaled sub-blocks: Q2_K Q3_K Q4_K Q5_K Q6_K. */
#include "gguf/quantize.h"

/* x = d * scale * q - dmin * min for n_subs sub-blocks: scales and mins in 0..top_scale, codes in 0..top_code. */
typedef struct affine_block {
    unsigned n_subs;
    int top_scale, top_code;
    uint8_t scales[16], mins[16], codes[256];
} affine_block;

static void affine_scales(affine_block *b, const float *x, uint8_t *d_out, uint8_t *dmin_out, float *d, float *dmin) {
    float scales[16], mins[16], max_scale = 0.0f, max_min = 0.0f;
    unsigned len = 256 / b->n_subs;
    for (unsigned j = 0; j < b->n_subs; j++) {
        float lo, hi;
        st_bounds(x + j * len, len, &lo, &hi);
        mins[j] = fmaxf(-lo, 0.0f); /* the format can only subtract */
        scales[j] = fmaxf(hi + mins[j], 0.0f) / (float)b->top_code;
        max_scale = fmaxf(max_scale, scales[j]);
        max_min = fmaxf(max_min, mins[j]);
    }
    *d = st_half_store(d_out, max_scale / (float)b->top_scale);
    *dmin = st_half_store(dmin_out, max_min / (float)b->top_scale);
    float inverse = st_inverse(*d), inverse_min = st_inverse(*dmin);
    for (unsigned j = 0; j < b->n_subs; j++) {
        b->scales[j] = (uint8_t)st_round(scales[j] * inverse, 0, b->top_scale);
        b->mins[j] = (uint8_t)st_round(mins[j] * inverse_min, 0, b->top_scale);
    }
}

static void affine_quantize(affine_block *b, const float *x, uint8_t *d_out, uint8_t *dmin_out) {
    float d, dmin;
    unsigned len = 256 / b->n_subs;
    affine_scales(b, x, d_out, dmin_out, &d, &dmin);
    for (unsigned j = 0; j < b->n_subs; j++) {
        float inverse = st_inverse(d * (float)b->scales[j]), min = dmin * (float)b->mins[j];
        for (unsigned i = j * len; i < (j + 1) * len; i++)
            b->codes[i] = (uint8_t)st_round((x[i] + min) * inverse, 0, b->top_code);
    }
}

/* x = d * scale * (q - half) for 16 sub-blocks of 16, scales in -top_scale - 1..top_scale, codes q in 0..2 half - 1. */
static void symmetric_quantize(const float *x, int half, int top_scale, uint8_t *d_out, int scales[16],
                               uint8_t codes[256]) {
    float wanted[16];
    for (unsigned j = 0; j < 16; j++) wanted[j] = st_extreme(x + 16 * j, 16) / (float)-half;
    float d = st_half_store(d_out, st_extreme(wanted, 16) / (float)(-top_scale - 1)), inverse = st_inverse(d);
    for (unsigned j = 0; j < 16; j++) {
        scales[j] = st_round(wanted[j] * inverse, -top_scale - 1, top_scale);
        float inverse_sub = st_inverse(d * (float)scales[j]);
        for (unsigned i = 16 * j; i < 16 * j + 16; i++)
            codes[i] = (uint8_t)(st_round(x[i] * inverse_sub, -half, half - 1) + half);
    }
}

/* Element 128 h + 32 j + l goes to bits 2 j of byte 32 h + l. */
static void store_two_bits(const uint8_t codes[256], uint8_t qs[64]) {
    for (unsigned i = 0; i < 64; i++) {
        const uint8_t *c = codes + i / 32 * 128 + i % 32;
        qs[i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
    }
}

/* The inverse of st_scale_min_get for all eight sub-blocks. */
static void store_scale_mins(const uint8_t scales[8], const uint8_t mins[8], uint8_t out[12]) {
    for (unsigned j = 0; j < 4; j++) {
        out[j] = (uint8_t)(scales[j] | (scales[j + 4] >> 4) << 6);
        out[j + 4] = (uint8_t)(mins[j] | (mins[j + 4] >> 4) << 6);
        out[j + 8] = (uint8_t)((scales[j + 4] & 15) | (mins[j + 4] & 15) << 4);
    }
}

/* Nibbles of Q4_K and Q5_K: sub-blocks 2 i and 2 i + 1 share 32 bytes. */
static void store_nibbles(const uint8_t codes[256], uint8_t qs[128]) {
    for (unsigned i = 0; i < 128; i++) {
        const uint8_t *c = codes + i / 32 * 64 + i % 32;
        qs[i] = (uint8_t)((c[0] & 15) | (c[32] & 15) << 4);
    }
}

void st_quantize_q2_k(const float *src, void *dst, size_t n_blocks) {
    affine_block b = {.n_subs = 16, .top_scale = 15, .top_code = 3};
    for (st_q2_k *block = dst; n_blocks--; block++, src += 256) {
        affine_quantize(&b, src, block->d, block->dmin);
        for (unsigned j = 0; j < 16; j++) block->scales[j] = (uint8_t)(b.scales[j] | b.mins[j] << 4);
        store_two_bits(b.codes, block->qs);
    }
}

void st_quantize_q3_k(const float *src, void *dst, size_t n_blocks) {
    int scales[16];
    uint8_t codes[256];
    for (st_q3_k *block = dst; n_blocks--; block++, src += 256) {
        symmetric_quantize(src, 4, 31, block->d, scales, codes);
        memset(block->scales, 0, sizeof block->scales);
        for (unsigned j = 0; j < 16; j++) {
            unsigned stored = (unsigned)(scales[j] + 32);
            block->scales[j % 8] |= (uint8_t)((stored & 15) << (j / 8 * 4));
            block->scales[8 + j % 4] |= (uint8_t)((stored >> 4) << (j / 4 * 2));
        }
        memset(block->hmask, 0, sizeof block->hmask);
        for (unsigned i = 0; i < 256; i++) block->hmask[i % 32] |= (uint8_t)((codes[i] >> 2) << (i / 32));
        store_two_bits(codes, block->qs);
    }
}

void st_quantize_q4_k(const float *src, void *dst, size_t n_blocks) {
    affine_block b = {.n_subs = 8, .top_scale = 63, .top_code = 15};
    for (st_q4_k *block = dst; n_blocks--; block++, src += 256) {
        affine_quantize(&b, src, block->d, block->dmin);
        store_scale_mins(b.scales, b.mins, block->scales);
        store_nibbles(b.codes, block->qs);
    }
}

void st_quantize_q5_k(const float *src, void *dst, size_t n_blocks) {
    affine_block b = {.n_subs = 8, .top_scale = 63, .top_code = 31};
    for (st_q5_k *block = dst; n_blocks--; block++, src += 256) {
        affine_quantize(&b, src, block->d, block->dmin);
        store_scale_mins(b.scales, b.mins, block->scales);
        store_nibbles(b.codes, block->qs);
        memset(block->qh, 0, sizeof block->qh);
        for (unsigned i = 0; i < 256; i++) block->qh[i % 32] |= (uint8_t)((b.codes[i] >> 4) << (i / 32));
    }
}

void st_quantize_q6_k(const float *src, void *dst, size_t n_blocks) {
    int scales[16];
    uint8_t codes[256];
    for (st_q6_k *block = dst; n_blocks--; block++, src += 256) {
        symmetric_quantize(src, 32, 127, block->d, scales, codes);
        for (unsigned j = 0; j < 16; j++) block->scales[j] = (int8_t)scales[j];
        for (unsigned i = 0; i < 64; i++) { /* see st_dequant_q6_k */
            const uint8_t *c = codes + i / 32 * 128 + i % 32;
            block->ql[i / 32 * 64 + i % 32] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
            block->ql[i / 32 * 64 + i % 32 + 32] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
            block->qh[i] = (uint8_t)(c[0] >> 4 | (c[32] >> 4) << 2 | (c[64] >> 4) << 4 | (c[96] >> 4) << 6);
        }
    }
}
