/* SPDX-License-Identifier: MIT
 * Random weights straight in each block format. A block is filled with random bits, which makes its quantized integers
 * uniform over their whole range, and then its scales are set; so a file is written about as fast as the disk takes it,
 * and every code, sign and sub-scale of a format occurs. Values have mean 0: formats with a minimum get the one that
 * centres their range, and where the range is lopsided (-8..7) half of the blocks have a negative scale, as in real
 * files.
 *
 * Only integer arithmetic, the four operations and square roots are used, so a seed gives the same bytes everywhere. */
#include "model/synth_impl.h"

#include <math.h>
#include <string.h>

/* Where a format keeps its f16 scale and minimum (-1: it has none), and what the scale multiplies. */
typedef struct block_layout {
    uint8_t type;
    int16_t d_at, m_at;
    double m_ratio; /* the minimum is this times the scale */
    double power;   /* mean square of what the scale multiplies */
} block_layout;

/* Mean square of n uniform integers around their mean, (n^2 - 1) / 12, or of lo..hi around 0. */
#define CENTRED(n) (((n) * (n)-1) / 12.0)
#define LOPSIDED(half) ((2.0 * (half) * (half) + 1) / 6.0) /* -half..half-1 */
#define SCALE_6BIT 2341.5                                  /* mean of k^2 over 32..63 */
#define SCALE_4BIT 137.5                                   /* mean of k^2 over 8..15 */
#define IQ4_POWER 4548.0                                   /* mean square of the 16 values of the IQ4_NL table */

static const block_layout layouts[] = {
    {ST_Q4_0, 0, -1, 0, LOPSIDED(8)},
    {ST_Q4_1, 0, 2, -7.5, CENTRED(16.0)},
    {ST_Q5_0, 0, -1, 0, LOPSIDED(16)},
    {ST_Q5_1, 0, 2, -15.5, CENTRED(32.0)},
    {ST_Q8_0, 0, -1, 0, CENTRED(255.0)},
    {ST_Q2_K, 80, 82, 1.5, CENTRED(4.0) * SCALE_4BIT},
    {ST_Q3_K, 108, -1, 0, LOPSIDED(4) * LOPSIDED(32)},
    {ST_Q4_K, 0, 2, 7.5, CENTRED(16.0) * SCALE_6BIT},
    {ST_Q5_K, 0, 2, 15.5, CENTRED(32.0) * SCALE_6BIT},
    {ST_Q6_K, 208, -1, 0, LOPSIDED(32) * LOPSIDED(128)},
    {ST_IQ4_NL, 0, -1, 0, IQ4_POWER},
    {ST_IQ4_XS, 0, -1, 0, IQ4_POWER *LOPSIDED(32)},
};

static const block_layout *layout_of(uint32_t type) {
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].type == type) return &layouts[i];
    return NULL;
}

/* 64 scales spread over 0.75..1.25 of what gives sigma. With a minimum the scale keeps only five bits of its mantissa,
 * so that 7.5 and 15.5 times it are exact in f16 and the mean is exactly 0. */
static void make_scales(synth_blocks *b, const block_layout *layout) {
    double power = 0;
    for (int i = 0; i < 64; i++) power += (0.75 + i / 126.0) * (0.75 + i / 126.0) / 64;
    double unit = (double)b->sigma / sqrt(layout->power * power);
    for (int i = 0; i < 64; i++) {
        b->d[i] = st_float_to_half((float)(unit * (0.75 + i / 126.0)));
        if (layout->m_at < 0) continue;
        b->d[i] = (uint16_t)((b->d[i] + 0x10) & 0xffe0);
        b->m[i] = st_float_to_half((float)layout->m_ratio * st_half_to_float(b->d[i]));
    }
}

void st_synth_blocks_init(synth_blocks *b, uint32_t type, float sigma, uint64_t seed) {
    memset(b, 0, sizeof *b);
    st_rng_seed(&b->rng, seed);
    b->type = type;
    b->sigma = sigma;
    const block_layout *layout = layout_of(type);
    if (layout) make_scales(b, layout);
}

/* ---- plain numbers ---- */

/* A sum of four uniform 16-bit numbers: close to a normal distribution, bounded by 3.5 sigma, and exact. */
static float draw_float(synth_blocks *b) {
    uint64_t bits = st_rng_next(&b->rng);
    int32_t sum = (int32_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    return (float)(sum - 131070) * (b->sigma / 37837.227f); /* 65536 / sqrt(3) */
}

static void fill_floats(synth_blocks *b, uint8_t *dst, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float x = draw_float(b);
        memcpy(dst + 4 * i, &x, 4);
    }
}

static void fill_halves(synth_blocks *b, uint8_t *dst, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h = st_float_to_half(draw_float(b));
        memcpy(dst + 2 * i, &h, 2);
    }
}

/* The upper half of an f32, rounded to nearest even. */
static void fill_bfloats(synth_blocks *b, uint8_t *dst, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float x = draw_float(b);
        uint32_t bits;
        memcpy(&bits, &x, 4);
        uint16_t h = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        memcpy(dst + 2 * i, &h, 2);
    }
}

/* ---- quantized blocks ---- */

static void fill_bits(st_rng *rng, uint8_t *dst, size_t n) {
    for (; n >= 8; dst += 8, n -= 8) {
        uint64_t bits = st_rng_next(rng);
        memcpy(dst, &bits, 8);
    }
    uint64_t rest = st_rng_next(rng);
    memcpy(dst, &rest, n);
}

/* Quantizers give -127..127, and kernels may count on it. */
static void keep_off_128(uint8_t *qs) {
    for (int i = 0; i < 32; i++) qs[i] = qs[i] == 0x80 ? 0 : qs[i];
}

/* Sixteen bytes of a 4-bit scale and the same 4-bit minimum, 8..15. */
static void scales_q2(uint8_t *scales) {
    for (int i = 0; i < 16; i++) scales[i] = (uint8_t)((8 | (scales[i] & 7)) * 0x11);
}

/* Eight 6-bit scales 32..63, each followed as its own minimum, packed in 12 bytes as Q4_K and Q5_K have them: the first
 * four whole, of the others the low four bits together and the upper two on top of the first. */
static void scales_q4(uint8_t *packed, uint64_t bits) {
    uint8_t s[8];
    for (int i = 0; i < 8; i++) s[i] = (uint8_t)(32 | (bits >> (5 * i) & 31));
    for (int i = 0; i < 4; i++) {
        packed[i] = packed[i + 4] = (uint8_t)(s[i] | (s[i + 4] >> 4) << 6);
        packed[i + 8] = (uint8_t)((s[i + 4] & 15) * 0x11);
    }
}

static void fill_block(synth_blocks *b, const block_layout *layout, uint8_t *block, uint32_t bytes) {
    fill_bits(&b->rng, block, bytes);
    uint64_t pick = st_rng_next(&b->rng);
    uint16_t d = b->d[pick & 63], m = b->m[pick & 63];
    if (layout->m_at >= 0)
        memcpy(block + layout->m_at, &m, 2);
    else
        d |= (uint16_t)((pick >> 6 & 1) << 15);
    memcpy(block + layout->d_at, &d, 2);
    if (layout->type == ST_Q8_0)
        keep_off_128(block + 2);
    else if (layout->type == ST_Q2_K)
        scales_q2(block);
    else if (layout->type == ST_Q4_K || layout->type == ST_Q5_K)
        scales_q4(block + 4, pick >> 8);
}

void st_synth_blocks_fill(synth_blocks *b, uint8_t *dst, size_t n) {
    const block_layout *layout = layout_of(b->type);
    if (b->type == ST_F32)
        fill_floats(b, dst, n);
    else if (b->type == ST_F16)
        fill_halves(b, dst, n);
    else if (b->type == ST_BF16)
        fill_bfloats(b, dst, n);
    if (!layout) return;
    const st_type_info *info = st_type_find(b->type);
    for (size_t i = 0; i < n / info->block_len; i++)
        fill_block(b, layout, dst + i * info->block_bytes, info->block_bytes);
}
