/* SPDX-License-Identifier: MIT
 * Vector operations with NEON, for all tables of arm64. */
#include "kern/vec_neon.h"

#include <math.h>

/* One token's part of a block: see st_panel. */
typedef struct qtoken {
    int8_t *q;
    float *d, *ds;
    int16_t *sums;
} qtoken;

/* The largest |x| of 32 floats; as bits: see largest() in ops_scalar.c. */
ST_INLINE float largest(const float *x) {
    const uint32x4_t magnitude = vdupq_n_u32(0x7fffffff);
    uint32x4_t top = vdupq_n_u32(0);
    for (int i = 0; i < 32; i += 4) top = vmaxq_u32(top, vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), magnitude));
    const uint32_t bits = vmaxvq_u32(top);
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* Sixteen floats times `by`, rounded to even; NaN gives 0. */
ST_INLINE int8x16_t rounded(const float *x, float by) {
    const int32x4_t a = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), by));
    const int32x4_t b = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), by));
    const int32x4_t c = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 8), by));
    const int32x4_t d = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 12), by));
    const int16x8_t low = vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)), high = vcombine_s16(vqmovn_s32(c), vqmovn_s32(d));
    return vcombine_s8(vqmovn_s16(low), vqmovn_s16(high));
}

/* In each of two lanes the sums, of eight bytes, of those with k % 4 < 2 and of the others. */
ST_INLINE int32x2_t part_sums(int8x16_t q) {
    const int16x8_t twos = vpaddlq_s8(q);
    return vreinterpret_s32_s16(vadd_s16(vget_low_s16(twos), vget_high_s16(twos)));
}

ST_INLINE void quantize_block(const float *x, qtoken to) {
    const float top = largest(x), by = top > ST_QUANT_TINY && top < INFINITY ? 127.0f / top : 0;
    const int8x16_t low = rounded(x, by), high = rounded(x + 16, by);
    vst1q_s8(to.q, low);
    vst1q_s8(to.q + 16, high);
    const int32x2_t a = part_sums(low), b = part_sums(high);
    const int16x4_t sums = vadd_s16(vreinterpret_s16_s32(vzip1_s32(a, b)), vreinterpret_s16_s32(vzip2_s32(a, b)));
    vst1_s16(to.sums, sums);
    *to.d = top / 127;
    *to.ds = *to.d * (float)vaddlv_s16(sums);
}

void st_quantize_neon(const st_panel *panel, uint32_t block_lo, uint32_t block_hi) {
    const uint32_t n = panel->n;
    for (uint32_t b = block_lo; b < block_hi; b++) {
        uint8_t *block = panel->quant + (size_t)b * n * ST_QBLOCK_BYTES;
        float *d = (float *)(block + 32 * (size_t)n), *ds = d + n, padded[32] = {0};
        int16_t *sums = (int16_t *)(ds + n);
        const uint32_t left = panel->cols - 32 * b;
        for (uint32_t t = 0; t < n; t++) {
            const float *x = panel->x + t * panel->stride + 32 * b;
            if (left < 32) x = memcpy(padded, x, left * sizeof(float));
            quantize_block(x, (qtoken){(int8_t *)block + 32 * t, d + t, ds + t, sums + 4 * t});
        }
    }
}

/* Products of a and b, summed in eight chains of four. */
ST_INLINE float dot(const float *a, const float *b, uint32_t n) {
    float32x4_t s0 = vdupq_n_f32(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        s0 = vfmaq_f32(s0, vld1q_f32(a + i), vld1q_f32(b + i));
        s1 = vfmaq_f32(s1, vld1q_f32(a + i + 4), vld1q_f32(b + i + 4));
        s2 = vfmaq_f32(s2, vld1q_f32(a + i + 8), vld1q_f32(b + i + 8));
        s3 = vfmaq_f32(s3, vld1q_f32(a + i + 12), vld1q_f32(b + i + 12));
        s4 = vfmaq_f32(s4, vld1q_f32(a + i + 16), vld1q_f32(b + i + 16));
        s5 = vfmaq_f32(s5, vld1q_f32(a + i + 20), vld1q_f32(b + i + 20));
        s6 = vfmaq_f32(s6, vld1q_f32(a + i + 24), vld1q_f32(b + i + 24));
        s7 = vfmaq_f32(s7, vld1q_f32(a + i + 28), vld1q_f32(b + i + 28));
    }
    for (; i + 4 <= n; i += 4) s0 = vfmaq_f32(s0, vld1q_f32(a + i), vld1q_f32(b + i));
    if (i < n) s1 = vfmaq_f32(s1, vec_load_first(a + i, n - i), vec_load_first(b + i, n - i));
    s0 = vaddq_f32(vaddq_f32(s0, s1), vaddq_f32(s2, s3));
    s4 = vaddq_f32(vaddq_f32(s4, s5), vaddq_f32(s6, s7));
    return vaddvq_f32(vaddq_f32(s0, s4));
}

#include "kern/vec_ops.inc"

/* a, b turned by the angle of cos_sin: pairs of (cos, sin). */
ST_INLINE float32x4x2_t turned(float32x4_t a, float32x4_t b, const float *cos_sin) {
    const float32x4x2_t turn = vld2q_f32(cos_sin);
    return (float32x4x2_t){{vsubq_f32(vmulq_f32(a, turn.val[0]), vmulq_f32(b, turn.val[1])),
                            vaddq_f32(vmulq_f32(a, turn.val[1]), vmulq_f32(b, turn.val[0]))}};
}

/* Pairs (2i, 2i + 1). */
ST_INLINE uint32_t rope_neighbours(float *x, const float *cos_sin, uint32_t n_pairs) {
    uint32_t i = 0;
    for (; i + 4 <= n_pairs; i += 4) {
        const float32x4x2_t v = vld2q_f32(x + 2 * i);
        vst2q_f32(x + 2 * i, turned(v.val[0], v.val[1], cos_sin + 2 * i));
    }
    return i;
}

/* Pairs (i, i + half). */
ST_INLINE uint32_t rope_halves(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t half) {
    uint32_t i = 0;
    for (; i + 4 <= n_pairs; i += 4) {
        const float32x4x2_t v = turned(vld1q_f32(x + i), vld1q_f32(x + half + i), cos_sin + 2 * i);
        vst1q_f32(x + i, v.val[0]);
        vst1q_f32(x + half + i, v.val[1]);
    }
    return i;
}

void st_rope_neon(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox) {
    const uint32_t half = head_dim / 2;
    uint32_t i = neox ? rope_halves(x, cos_sin, n_pairs, half) : rope_neighbours(x, cos_sin, n_pairs);
    for (; i < n_pairs; i++) {
        float *a = x + (neox ? i : 2 * i), *b = neox ? a + half : a + 1;
        const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], a0 = *a, b0 = *b;
        *a = a0 * c - b0 * s;
        *b = a0 * s + b0 * c;
    }
}

/* The largest number of x, or -infinity. maxnm ignores a NaN beside a number. */
static float largest_number(const float *x, uint32_t n) {
    float32x4_t t0 = vdupq_n_f32(-INFINITY), t1 = t0, t2 = t0, t3 = t0;
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        t0 = vmaxnmq_f32(t0, vld1q_f32(x + i));
        t1 = vmaxnmq_f32(t1, vld1q_f32(x + i + 4));
        t2 = vmaxnmq_f32(t2, vld1q_f32(x + i + 8));
        t3 = vmaxnmq_f32(t3, vld1q_f32(x + i + 12));
    }
    float top = vmaxnmvq_f32(vmaxnmq_f32(vmaxnmq_f32(t0, t1), vmaxnmq_f32(t2, t3)));
    for (; i < n; i++)
        if (x[i] > top) top = x[i];
    return top;
}

uint32_t st_argmax_neon(const float *x, uint32_t n) {
    const float top = largest_number(x, n);
    const float32x4_t wanted = vdupq_n_f32(top);
    uint32_t i = 0;
    while (i + 4 <= n && vmaxvq_u32(vceqq_f32(vld1q_f32(x + i), wanted)) == 0) i += 4;
    for (; i < n; i++)
        if (x[i] == top) return i;
    return 0; /* nothing but NaN */
}

void st_kv_store_f16_neon(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    uint16_t *to = (uint16_t *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    uint16_t *row = (uint16_t *)v + (size_t)slot * head_dim;
    for (uint32_t d = 0; d < head_dim; d += 4) {
        uint16_t halves[4];
        vst1_u16(halves, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(key + d))));
        vst1_u16(row + d, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(value + d))));
        for (uint32_t i = 0; i < 4; i++) to[(size_t)(d + i) * 16] = halves[i];
    }
}

void st_kv_store_f32_neon(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    float *to = (float *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    for (uint32_t d = 0; d < head_dim; d++) to[(size_t)d * 16] = key[d];
    memcpy((float *)v + (size_t)slot * head_dim, value, head_dim * sizeof(float));
}
