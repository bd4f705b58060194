/* SPDX-License-Identifier: MIT
 * Blocks of 32 with one scale: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0. */
#include "gguf/quantize.h"

/* Nibbles (and fifth bits, where qh is not NULL) of 32 codes. */
static void store_codes(const uint8_t codes[32], uint8_t qs[16], uint8_t *qh) {
    uint32_t fifth = 0;
    for (unsigned j = 0; j < 16; j++) {
        qs[j] = (uint8_t)((codes[j] & 15) | (codes[j + 16] & 15) << 4);
        fifth |= (uint32_t)(codes[j] >> 4) << j | (uint32_t)(codes[j + 16] >> 4) << (j + 16);
    }
    if (qh) memcpy(qh, &fifth, sizeof fifth);
}

/* x = d * (q - half): the scale's sign makes the item of largest magnitude the most negative code, which reaches one
 * step further than the most positive. */
static void symmetric(const float *x, int half, uint8_t *d_out, uint8_t codes[32]) {
    float d = st_half_store(d_out, st_extreme(x, 32) / (float)-half), inverse = st_inverse(d);
    for (unsigned j = 0; j < 32; j++) codes[j] = (uint8_t)(st_round(x[j] * inverse, -half, half - 1) + half);
}

/* x = d * q + m with q in 0..top. */
static void affine(const float *x, int top, uint8_t *d_out, uint8_t *m_out, uint8_t codes[32]) {
    float lo, hi;
    st_bounds(x, 32, &lo, &hi);
    float m = st_half_store(m_out, lo);
    float d = st_half_store(d_out, (hi - m) / (float)top), inverse = st_inverse(d);
    for (unsigned j = 0; j < 32; j++) codes[j] = (uint8_t)st_round((x[j] - m) * inverse, 0, top);
}

void st_quantize_q4_0(const float *src, void *dst, size_t n_blocks) {
    st_q4_0 *block = dst;
    uint8_t codes[32];
    for (; n_blocks--; block++, src += 32) {
        symmetric(src, 8, block->d, codes);
        store_codes(codes, block->qs, NULL);
    }
}

void st_quantize_q4_1(const float *src, void *dst, size_t n_blocks) {
    st_q4_1 *block = dst;
    uint8_t codes[32];
    for (; n_blocks--; block++, src += 32) {
        affine(src, 15, block->d, block->m, codes);
        store_codes(codes, block->qs, NULL);
    }
}

void st_quantize_q5_0(const float *src, void *dst, size_t n_blocks) {
    st_q5_0 *block = dst;
    uint8_t codes[32];
    for (; n_blocks--; block++, src += 32) {
        symmetric(src, 16, block->d, codes);
        store_codes(codes, block->qs, block->qh);
    }
}

void st_quantize_q5_1(const float *src, void *dst, size_t n_blocks) {
    st_q5_1 *block = dst;
    uint8_t codes[32];
    for (; n_blocks--; block++, src += 32) {
        affine(src, 31, block->d, block->m, codes);
        store_codes(codes, block->qs, block->qh);
    }
}

void st_quantize_q8_0(const float *src, void *dst, size_t n_blocks) {
    st_q8_0 *block = dst;
    for (; n_blocks--; block++, src += 32) {
        float d = st_half_store(block->d, fabsf(st_extreme(src, 32)) / 127.0f), inverse = st_inverse(d);
        for (unsigned j = 0; j < 32; j++) block->qs[j] = (int8_t)st_round(src[j] * inverse, -127, 127);
    }
}
