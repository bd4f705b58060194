/* SPDX-License-Identifier: MIT
 * Blocks of 32 with one scale: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 (ggml-quants.c). */
#include "gguf/blocks.h"
#include "gguf/dequant.h"

void st_dequant_q4_0(const void *src, float *dst, size_t n_blocks) {
    const st_q4_0 *block = src;
    for (; n_blocks--; block++, dst += 32) {
        float d = st_half_at(block->d);
        for (unsigned j = 0; j < 16; j++) {
            dst[j] = (float)((block->qs[j] & 15) - 8) * d;
            dst[j + 16] = (float)((block->qs[j] >> 4) - 8) * d;
        }
    }
}

void st_dequant_q4_1(const void *src, float *dst, size_t n_blocks) {
    const st_q4_1 *block = src;
    for (; n_blocks--; block++, dst += 32) {
        float d = st_half_at(block->d), m = st_half_at(block->m);
        for (unsigned j = 0; j < 16; j++) {
            dst[j] = (float)(block->qs[j] & 15) * d + m;
            dst[j + 16] = (float)(block->qs[j] >> 4) * d + m;
        }
    }
}

/* The five bits of elements j and j + 16. */
static void five_bits(const uint8_t qh[4], const uint8_t qs[16], unsigned j, int *low, int *high) {
    uint32_t fifth;
    memcpy(&fifth, qh, sizeof fifth);
    *low = (int)((qs[j] & 15u) | (fifth >> j & 1) << 4);
    *high = (int)((qs[j] >> 4) | (fifth >> (j + 16) & 1) << 4);
}

void st_dequant_q5_0(const void *src, float *dst, size_t n_blocks) {
    const st_q5_0 *block = src;
    for (; n_blocks--; block++, dst += 32) {
        float d = st_half_at(block->d);
        for (unsigned j = 0; j < 16; j++) {
            int low, high;
            five_bits(block->qh, block->qs, j, &low, &high);
            dst[j] = (float)(low - 16) * d;
            dst[j + 16] = (float)(high - 16) * d;
        }
    }
}

void st_dequant_q5_1(const void *src, float *dst, size_t n_blocks) {
    const st_q5_1 *block = src;
    for (; n_blocks--; block++, dst += 32) {
        float d = st_half_at(block->d), m = st_half_at(block->m);
        for (unsigned j = 0; j < 16; j++) {
            int low, high;
            five_bits(block->qh, block->qs, j, &low, &high);
            dst[j] = (float)low * d + m;
            dst[j + 16] = (float)high * d + m;
        }
    }
}

void st_dequant_q8_0(const void *src, float *dst, size_t n_blocks) {
    const st_q8_0 *block = src;
    for (; n_blocks--; block++, dst += 32) {
        float d = st_half_at(block->d);
        for (unsigned j = 0; j < 32; j++) dst[j] = (float)block->qs[j] * d;
    }
}
