/* SPDX-License-Identifier: MIT
 * Four-bit codes into a table of uneven steps: IQ4_NL, IQ4_XS (ggml-quants.c, kvalues_iq4nl). */
#include "gguf/blocks.h"
#include "gguf/dequant.h"

const int8_t st_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void expand(float d, const uint8_t qs[16], float *dst) {
    for (unsigned j = 0; j < 16; j++) {
        dst[j] = d * (float)st_iq4_values[qs[j] & 15];
        dst[j + 16] = d * (float)st_iq4_values[qs[j] >> 4];
    }
}

void st_dequant_iq4_nl(const void *src, float *dst, size_t n_blocks) {
    const st_iq4_nl *block = src;
    for (; n_blocks--; block++, dst += 32) expand(st_half_at(block->d), block->qs, dst);
}

void st_dequant_iq4_xs(const void *src, float *dst, size_t n_blocks) {
    const st_iq4_xs *block = src;
    for (; n_blocks--; block++) {
        float d = st_half_at(block->d);
        unsigned high = st_u16_at(block->scales_h);
        for (unsigned j = 0; j < 8; j++, dst += 32) { /* 6-bit scale: nibble j of scales_l, bit pair j of scales_h */
            unsigned scale = (block->scales_l[j / 2] >> (j % 2 * 4) & 15u) | (high >> (2 * j) & 3u) << 4;
            expand(d * (float)((int)scale - 32), block->qs + 16 * j, dst);
        }
    }
}
