/* SPDX-License-Identifier: MIT
 * Scalar vector operations: the reference of all others. */
#include "kern/layout.h"
#include "kern/scalar.h"

#include <math.h>
#include <string.h>

/* The largest |x| as bits: the order of positive floats is that of their bits, with NaN above infinity above all
 * numbers. */
static float largest(const float *x, uint32_t n) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, &x[i], sizeof(v));
        v &= 0x7fffffff;
        if (v > bits) bits = v;
    }
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static void quantize_block(const float *x, uint32_t n, int8_t q[32], float *d, float *ds, int16_t sums[2][2]) {
    const float top = largest(x, n), inverse = top > ST_QUANT_TINY && isfinite(top) ? 127.0f / top : 0;
    int total = 0;
    memset(q, 0, 32);
    memset(sums, 0, 4 * sizeof(int16_t));
    for (uint32_t i = 0; i < n && inverse > 0; i++) {
        const float v = rintf(x[i] * inverse);
        q[i] = (int8_t)(v > 127 ? 127 : v < -127 ? -127 : v);
        sums[i / 16][i % 4 / 2] = (int16_t)(sums[i / 16][i % 4 / 2] + q[i]);
        total += q[i];
    }
    *d = top / 127;
    *ds = *d * (float)total;
}

void st_quantize_scalar(const st_panel *panel, uint32_t block_lo, uint32_t block_hi) {
    const uint32_t n = panel->n;
    for (uint32_t b = block_lo; b < block_hi; b++) {
        uint8_t *block = panel->quant + (size_t)b * n * ST_QBLOCK_BYTES;
        float *d = (float *)(block + 32 * (size_t)n), *ds = d + n;
        int16_t(*sums)[2][2] = (int16_t(*)[2][2])(ds + n);
        const uint32_t left = panel->cols - 32 * b;
        for (uint32_t t = 0; t < n; t++)
            quantize_block(panel->x + t * panel->stride + 32 * b, left < 32 ? left : 32, (int8_t *)block + 32 * t,
                           &d[t], &ds[t], sums[t]);
    }
}

void st_rms_norm_scalar(float *out, const float *x, const float *weight, uint32_t n, float eps) {
    double squares = 0;
    for (uint32_t i = 0; i < n; i++) squares += (double)x[i] * x[i];
    const float by = (float)(1 / sqrt(squares / n + eps));
    for (uint32_t i = 0; i < n; i++) out[i] = x[i] * by * (weight ? weight[i] : 1);
}

void st_add_scalar(float *x, const float *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] += y[i];
}

void st_scale_scalar(float *x, float by, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] *= by;
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

/* Hendrycks & Gimpel 2016, the tanh form, 0.5 x (1 + tanh(z)) with z = sqrt(2 / pi) (x + 0.044715 x^3). As
 * (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)), it is computed without the cancellation that tanh near -1 brings. */
static double gelu_tanh(double x) {
    return x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

void st_gate_scalar(enum st_activation act, float *gate, const float *up, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) gate[i] = (float)(act == ST_SILU ? silu(gate[i]) : gelu_tanh(gate[i])) * up[i];
}

void st_softcap_scalar(float *x, uint32_t n, float cap) {
    for (uint32_t i = 0; i < n; i++) x[i] = cap * tanhf(x[i] / cap);
}

void st_rope_scalar(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox) {
    for (uint32_t i = 0; i < n_pairs; i++) {
        float *a = x + (neox ? i : 2 * i), *b = neox ? a + head_dim / 2 : a + 1;
        const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], a0 = *a, b0 = *b;
        *a = a0 * c - b0 * s;
        *b = a0 * s + b0 * c;
    }
}

uint32_t st_argmax_scalar(const float *x, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[best]) && !isnan(x[i]))) best = i;
    return best;
}

float st_dot_scalar(const float *a, const float *b, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return (float)sum;
}
