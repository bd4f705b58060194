/* SPDX-License-Identifier: MIT
 * Four-bit codes into a table of uneven steps: IQ4_NL, IQ4_XS. */
#include "gguf/quantize.h"

/* The code whose value is nearest to x, by four halvings of the midpoints between neighbouring values. */
static uint8_t nearest_code(float x) {
    static const float middles[15] = {-115.5f, -93.5f, -74.0f, -57.0f, -42.0f, -28.5f, -16.0f, -4.5f,
                                      7.0f,    19.0f,  31.5f,  45.5f,  61.0f,  79.0f,  101.0f};
    unsigned code = x > middles[7] ? 8 : 0;
    code += x > middles[code + 3] ? 4 : 0;
    code += x > middles[code + 1] ? 2 : 0;
    return (uint8_t)(code + (x > middles[code]));
}

static void store_codes(const float *x, float scale, uint8_t qs[16]) {
    float inverse = st_inverse(scale);
    for (unsigned j = 0; j < 16; j++)
        qs[j] = (uint8_t)(nearest_code(x[j] * inverse) | nearest_code(x[j + 16] * inverse) << 4);
}

/* The largest magnitude of the table is that of its first value, so the sign of the scale puts the extreme there. */
static float wanted_scale(const float *x) {
    return st_extreme(x, 32) / (float)st_iq4_values[0];
}

void st_quantize_iq4_nl(const float *src, void *dst, size_t n_blocks) {
    for (st_iq4_nl *block = dst; n_blocks--; block++, src += 32) {
        float d = st_half_store(block->d, wanted_scale(src));
        store_codes(src, d, block->qs);
    }
}

void st_quantize_iq4_xs(const float *src, void *dst, size_t n_blocks) {
    for (st_iq4_xs *block = dst; n_blocks--; block++, src += 256) {
        float wanted[8];
        for (unsigned j = 0; j < 8; j++) wanted[j] = wanted_scale(src + 32 * j);
        float d = st_half_store(block->d, st_extreme(wanted, 8) / -32.0f), inverse = st_inverse(d);
        unsigned high = 0;
        memset(block->scales_l, 0, sizeof block->scales_l);
        for (unsigned j = 0; j < 8; j++) {
            int scale = st_round(wanted[j] * inverse, -32, 31);
            unsigned stored = (unsigned)(scale + 32);
            block->scales_l[j / 2] |= (uint8_t)((stored & 15) << (j % 2 * 4));
            high |= (stored >> 4) << (2 * j);
            store_codes(src + 32 * j, d * (float)scale, block->qs + 16 * j);
        }
        uint16_t high_bits = (uint16_t)high;
        memcpy(block->scales_h, &high_bits, sizeof high_bits);
    }
}
