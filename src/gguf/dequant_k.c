/* SPDX-License-Identifier: MIT
 * Blocks of 256 with scaled sub-blocks: Q2_K Q3_K Q4_K Q5_K Q6_K (ggml-quants.c). */
#include "gguf/blocks.h"
#include "gguf/dequant.h"

/* Two-bit codes of Q2_K and Q3_K: element 128 h + 32 j + l sits in bits 2 j of byte 32 h + l. Sub-blocks have 16. */
static unsigned two_bits(const uint8_t qs[64], unsigned element) {
    return qs[element / 128 * 32 + element % 32] >> (element % 128 / 32 * 2) & 3;
}

void st_dequant_q2_k(const void *src, float *dst, size_t n_blocks) {
    const st_q2_k *block = src;
    for (; n_blocks--; block++, dst += 256) {
        float d = st_half_at(block->d), dmin = st_half_at(block->dmin);
        for (unsigned i = 0; i < 256; i++) {
            uint8_t scale = block->scales[i / 16];
            float dl = d * (float)(scale & 15), ml = dmin * (float)(scale >> 4);
            dst[i] = dl * (float)two_bits(block->qs, i) - ml;
        }
    }
}

/* Scale of sub-block j of Q3_K: four bits in a nibble of the first 8 bytes, two more in the last 4 bytes. */
static int q3_k_scale(const uint8_t scales[12], unsigned j) {
    unsigned low = j < 8 ? scales[j] & 15u : scales[j - 8] >> 4;
    unsigned high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
    return (int)(low | high << 4) - 32;
}

void st_dequant_q3_k(const void *src, float *dst, size_t n_blocks) {
    const st_q3_k *block = src;
    for (; n_blocks--; block++, dst += 256) {
        float d = st_half_at(block->d);
        for (unsigned i = 0; i < 256; i++) {
            float dl = d * (float)q3_k_scale(block->scales, i / 16);
            unsigned third = block->hmask[i % 32] >> (i / 32) & 1;
            dst[i] = dl * (float)((int)(two_bits(block->qs, i) | third << 2) - 4);
        }
    }
}

void st_dequant_q4_k(const void *src, float *dst, size_t n_blocks) {
    const st_q4_k *block = src;
    for (; n_blocks--; block++) {
        float d = st_half_at(block->d), dmin = st_half_at(block->dmin);
        for (unsigned j = 0; j < 8; j++, dst += 32) { /* sub-blocks 2 i and 2 i + 1: low and high nibbles of 32 bytes */
            uint8_t scale, min;
            st_scale_min_get(block->scales, j, &scale, &min);
            float dl = d * (float)scale, ml = dmin * (float)min;
            const uint8_t *q = block->qs + j / 2 * 32;
            for (unsigned l = 0; l < 32; l++) dst[l] = dl * (float)(q[l] >> (j % 2 * 4) & 15) - ml;
        }
    }
}

void st_dequant_q5_k(const void *src, float *dst, size_t n_blocks) {
    const st_q5_k *block = src;
    for (; n_blocks--; block++) {
        float d = st_half_at(block->d), dmin = st_half_at(block->dmin);
        for (unsigned j = 0; j < 8; j++, dst += 32) { /* the fifth bit of element l of sub-block j is bit j of qh[l] */
            uint8_t scale, min;
            st_scale_min_get(block->scales, j, &scale, &min);
            float dl = d * (float)scale, ml = dmin * (float)min;
            const uint8_t *q = block->qs + j / 2 * 32;
            for (unsigned l = 0; l < 32; l++) {
                unsigned code = (q[l] >> (j % 2 * 4) & 15u) | (block->qh[l] >> j & 1u) << 4;
                dst[l] = dl * (float)code - ml;
            }
        }
    }
}

void st_dequant_q6_k(const void *src, float *dst, size_t n_blocks) {
    const st_q6_k *block = src;
    for (; n_blocks--; block++) {
        float d = st_half_at(block->d);
        for (unsigned j = 0; j < 8; j++, dst += 32) { /* nibbles of 32 bytes of ql, bit pairs of 32 of qh */
            const uint8_t *ql = block->ql + j / 4 * 64 + j % 2 * 32, *qh = block->qh + j / 4 * 32;
            unsigned nibble = j % 4 / 2 * 4, pair = j % 4 * 2;
            for (unsigned l = 0; l < 32; l++) {
                unsigned code = (ql[l] >> nibble & 15u) | (qh[l] >> pair & 3u) << 4;
                dst[l] = d * (float)block->scales[2 * j + l / 16] * (float)((int)code - 32);
            }
        }
    }
}
