/* SPDX-License-Identifier: MIT
 * Vector operations with AVX2. A rest of less than eight items goes through the same instructions, masked, so that an
 * item's result does not depend on where it stands. */
#include "kern/math_avx2.h"

#include <math.h>

/* The largest |x| of 32 floats, in all lanes; as bits: see largest() in ops_scalar.c. */
ST_INLINE __m128 largest(__m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
#define SIZE(v) _mm256_and_si256(_mm256_castps_si256(v), magnitude)
    const __m256i top = _mm256_max_epi32(_mm256_max_epi32(SIZE(a), SIZE(b)), _mm256_max_epi32(SIZE(c), SIZE(d)));
#undef SIZE
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_castsi128_ps(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* One token's part of a block: see st_panel. */
typedef struct qtoken {
    int8_t *q;
    float *d, *ds;
    int16_t *sums;
} qtoken;

ST_INLINE void quantize_block(__m256 a, __m256 b, __m256 c, __m256 d, qtoken to) {
    const __m128 top = largest(a, b, c, d), all = _mm_set1_ps(127);
    const __m128 fine =
        _mm_and_ps(_mm_cmpgt_ps(top, _mm_set1_ps(ST_QUANT_TINY)), _mm_cmplt_ps(top, _mm_set1_ps(INFINITY)));
    const __m256 by = _mm256_broadcastss_ps(_mm_div_ps(all, top)), keep = _mm256_broadcastss_ps(fine);
#define ROUNDED(v) _mm256_cvtps_epi32(_mm256_and_ps(_mm256_mul_ps(v, by), keep))
    const __m256i low = _mm256_packs_epi32(ROUNDED(a), ROUNDED(b)), high = _mm256_packs_epi32(ROUNDED(c), ROUNDED(d));
#undef ROUNDED
    /* packs works in halves: put the groups of four back in order */
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)to.q, bytes);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
    const __m256i twos = add16(pairs, _mm256_shuffle_epi32(pairs, 0xb1));
    const __m256i halves = add16(twos, _mm256_shuffle_epi32(twos, 0x4e)); /* in every lane the two sums of its half */
    const __m128i four = _mm_unpacklo_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storel_epi64((__m128i *)to.sums, four);
    const __m128i two = _mm_madd_epi16(four, _mm_set1_epi16(1));
    const __m128 total = _mm_cvtepi32_ps(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1))),
                 scale = _mm_div_ps(top, all);
    _mm_store_ss(to.d, scale);
    _mm_store_ss(to.ds, _mm_mul_ss(scale, total));
}

/* The last, incomplete block. */
static void quantize_rest(const float *x, uint32_t n, qtoken to) {
#define PART(from) _mm256_maskload_ps(x + (from), first_lanes(n > (from) ? n - (from) : 0))
    quantize_block(PART(0), PART(8), PART(16), PART(24), to);
#undef PART
}

void st_quantize_avx2(const st_panel *panel, uint32_t block_lo, uint32_t block_hi) {
    const uint32_t n = panel->n;
    for (uint32_t b = block_lo; b < block_hi; b++) {
        uint8_t *block = panel->quant + (size_t)b * n * ST_QBLOCK_BYTES;
        float *d = (float *)(block + 32 * (size_t)n), *ds = d + n;
        int16_t *sums = (int16_t *)(ds + n);
        const uint32_t left = panel->cols - 32 * b;
        for (uint32_t t = 0; t < n; t++) {
            const float *x = panel->x + t * panel->stride + 32 * b;
            const qtoken to = {(int8_t *)block + 32 * t, d + t, ds + t, sums + 4 * t};
            if (left < 32)
                quantize_rest(x, left, to);
            else
                quantize_block(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
                               _mm256_loadu_ps(x + 24), to);
        }
    }
}

/* Products of a and b, summed in four chains of eight. */
ST_INLINE float dot(const float *a, const float *b, uint32_t n) {
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        s0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), s0);
        s1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8), s1);
        s2 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 16), _mm256_loadu_ps(b + i + 16), s2);
        s3 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 24), _mm256_loadu_ps(b + i + 24), s3);
    }
    for (; i < n; i += 8) {
        const __m256i m = first_lanes(n - i);
        s0 = _mm256_fmadd_ps(_mm256_maskload_ps(a + i, m), _mm256_maskload_ps(b + i, m), s0);
    }
    return lanes_sum(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
}

float st_dot_avx2(const float *a, const float *b, uint32_t n) { return dot(a, b, n); }

void st_rms_norm_avx2(float *out, const float *x, const float *weight, uint32_t n, float eps) {
    const float factor = (float)(1 / sqrt((double)dot(x, x, n) / n + eps));
    const __m256 by = _mm256_set1_ps(factor);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), by);
        _mm256_storeu_ps(out + i, weight ? _mm256_mul_ps(v, _mm256_loadu_ps(weight + i)) : v);
    }
    for (; i < n; i++) out[i] = x[i] * factor * (weight ? weight[i] : 1);
}

void st_add_avx2(float *x, const float *y, uint32_t n) {
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++) x[i] += y[i];
}

void st_scale_avx2(float *x, float by, uint32_t n) {
    const __m256 f = _mm256_set1_ps(by);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), f));
    for (; i < n; i++) x[i] *= by;
}

void st_softcap_avx2(float *x, uint32_t n, float cap) {
    const __m256 c = _mm256_set1_ps(cap);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, _mm256_mul_ps(c, tanh_avx2(_mm256_div_ps(_mm256_loadu_ps(x + i), c))));
    if (i < n) {
        const __m256i m = first_lanes(n - i);
        _mm256_maskstore_ps(x + i, m, _mm256_mul_ps(c, tanh_avx2(_mm256_div_ps(_mm256_maskload_ps(x + i, m), c))));
    }
}

/* x / (1 + e^-x) */
ST_INLINE __m256 silu(__m256 x) {
    const __m256 e = exp_avx2(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)));
    return _mm256_div_ps(x, _mm256_add_ps(e, _mm256_set1_ps(1)));
}

/* x / (1 + e^(-2 z)): see gelu_tanh() in ops_scalar.c. */
ST_INLINE __m256 gelu_tanh(__m256 x) {
    const __m256 cube = _mm256_mul_ps(_mm256_mul_ps(x, x), x);
    const __m256 inner = _mm256_fmadd_ps(cube, _mm256_set1_ps(0.044715f), x);
    const __m256 e = exp_avx2(_mm256_mul_ps(inner, _mm256_set1_ps(-1.5957691216057308f)));
    return _mm256_div_ps(x, _mm256_add_ps(e, _mm256_set1_ps(1)));
}

typedef __m256 activation_fn(__m256 x);

ST_INLINE void gate_all(activation_fn *act, float *gate, const float *up, uint32_t n) {
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(gate + i, _mm256_mul_ps(act(_mm256_loadu_ps(gate + i)), _mm256_loadu_ps(up + i)));
    if (i < n) {
        const __m256i m = first_lanes(n - i);
        _mm256_maskstore_ps(gate + i, m,
                            _mm256_mul_ps(act(_mm256_maskload_ps(gate + i, m)), _mm256_maskload_ps(up + i, m)));
    }
}

void st_gate_avx2(enum st_activation act, float *gate, const float *up, uint32_t n) {
    if (act == ST_SILU)
        gate_all(silu, gate, up, n);
    else
        gate_all(gelu_tanh, gate, up, n);
}

/* Pairs (2i, 2i + 1), four at a time: x c -+ swapped x s. */
ST_INLINE uint32_t rope_neighbours(float *x, const float *cos_sin, uint32_t n_pairs) {
    uint32_t i = 0;
    for (; i + 4 <= n_pairs; i += 4) {
        const __m256 v = _mm256_loadu_ps(x + 2 * i), turn = _mm256_loadu_ps(cos_sin + 2 * i);
        const __m256 across = _mm256_mul_ps(_mm256_permute_ps(v, 0xb1), _mm256_movehdup_ps(turn));
        _mm256_storeu_ps(x + 2 * i, _mm256_addsub_ps(_mm256_mul_ps(v, _mm256_moveldup_ps(turn)), across));
    }
    return i;
}

/* Pairs (i, i + half), eight at a time. */
ST_INLINE uint32_t rope_halves(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t half) {
    uint32_t i = 0;
    for (; i + 8 <= n_pairs; i += 8) {
        const __m256 t0 = _mm256_loadu_ps(cos_sin + 2 * i), t1 = _mm256_loadu_ps(cos_sin + 2 * i + 8);
        const __m256d c4 = _mm256_castps_pd(_mm256_shuffle_ps(t0, t1, 0x88)),
                      s4 = _mm256_castps_pd(_mm256_shuffle_ps(t0, t1, 0xdd));
        const __m256 c = _mm256_castpd_ps(_mm256_permute4x64_pd(c4, 0xd8)),
                     s = _mm256_castpd_ps(_mm256_permute4x64_pd(s4, 0xd8));
        const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + half + i);
        _mm256_storeu_ps(x + i, _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)));
        _mm256_storeu_ps(x + half + i, _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c)));
    }
    return i;
}

void st_rope_avx2(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox) {
    const uint32_t half = head_dim / 2;
    uint32_t i = neox ? rope_halves(x, cos_sin, n_pairs, half) : rope_neighbours(x, cos_sin, n_pairs);
    for (; i < n_pairs; i++) {
        float *a = x + (neox ? i : 2 * i), *b = neox ? a + half : a + 1;
        const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], a0 = *a, b0 = *b;
        *a = a0 * c - b0 * s;
        *b = a0 * s + b0 * c;
    }
}

/* The largest number of x, or -infinity. maxps gives its second operand when the first is NaN. */
static float largest_number(const float *x, uint32_t n) {
    __m256 t0 = _mm256_set1_ps(-INFINITY), t1 = t0, t2 = t0, t3 = t0;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        t0 = _mm256_max_ps(_mm256_loadu_ps(x + i), t0);
        t1 = _mm256_max_ps(_mm256_loadu_ps(x + i + 8), t1);
        t2 = _mm256_max_ps(_mm256_loadu_ps(x + i + 16), t2);
        t3 = _mm256_max_ps(_mm256_loadu_ps(x + i + 24), t3);
    }
    float top = lanes_max(_mm256_max_ps(_mm256_max_ps(t0, t1), _mm256_max_ps(t2, t3)));
    for (; i < n; i++)
        if (x[i] > top) top = x[i];
    return top;
}

uint32_t st_argmax_avx2(const float *x, uint32_t n) {
    const float top = largest_number(x, n);
    const __m256 wanted = _mm256_set1_ps(top);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const int hit = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + i), wanted, _CMP_EQ_OQ));
        if (hit) return i + (uint32_t)__builtin_ctz((unsigned)hit);
    }
    for (; i < n; i++)
        if (x[i] == top) return i;
    return 0; /* nothing but NaN */
}

void st_kv_store_f16_avx2(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    uint16_t *to = (uint16_t *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    uint16_t *row = (uint16_t *)v + (size_t)slot * head_dim;
    for (uint32_t d = 0; d < head_dim; d += 8) {
        uint16_t halves[8];
        _mm_storeu_si128((__m128i *)halves, _mm256_cvtps_ph(_mm256_loadu_ps(key + d), _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128((__m128i *)(row + d), _mm256_cvtps_ph(_mm256_loadu_ps(value + d), _MM_FROUND_TO_NEAREST_INT));
        for (uint32_t i = 0; i < 8; i++) to[(size_t)(d + i) * 16] = halves[i];
    }
}

void st_kv_store_f32_avx2(void *k, void *v, const float *key, const float *value, uint32_t slot, uint32_t head_dim) {
    float *to = (float *)k + (size_t)(slot / 16) * head_dim * 16 + slot % 16;
    for (uint32_t d = 0; d < head_dim; d++) to[(size_t)d * 16] = key[d];
    memcpy((float *)v + (size_t)slot * head_dim, value, head_dim * sizeof(float));
}
