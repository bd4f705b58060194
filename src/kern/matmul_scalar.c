/* SPDX-License-Identifier: MIT
 * Scalar matrix products: the reference of all others. A block of 32 columns of one row is spread to integers, scales
 * and minima as the format defines them; products of integers are exact, everything else is summed in double, in order
 * of k. */
#include "gguf/blocks.h"
#include "kern/layout.h"
#include "kern/scalar.h"

/* value of column k = scale[k / 16] * q[k] + min[k / 16] */
typedef struct block32 {
    int8_t q[32];
    double scale[2], min[2];
} block32;

/* Columns 32i..32i+31 of one row of a tile. */
typedef void block_fn(block32 *out, const uint8_t *tile, uint32_t i, uint32_t row);

static double half_at(const uint8_t *p, uint32_t row) {
    return st_half_to_float((uint16_t)(p[2 * row] | (p[2 * row + 1] << 8)));
}

static void get_nibbles(int8_t q[32], const uint8_t *vectors, uint32_t row) {
    for (uint32_t k = 0; k < 16; k++) {
        const uint8_t b = vectors[ST_VECTOR * (k / 4) + 4 * row + k % 4];
        q[k] = b & 15;
        q[16 + k] = b >> 4;
    }
}

static void get_fives(int8_t q[32], const uint8_t *vectors, uint32_t row) {
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t v[5]; /* the byte of column c in each vector */
        for (uint32_t j = 0; j < 5; j++) {
            v[j] = vectors[ST_VECTOR * j + 4 * row + c];
            q[4 * j + c] = v[j] & 31;
        }
        q[20 + c] = (int8_t)((v[0] >> 5) | (((v[1] >> 5) & 3) << 3));
        q[24 + c] = (int8_t)((v[2] >> 5) | (((v[3] >> 5) & 3) << 3));
        q[28 + c] = (int8_t)((v[4] >> 5) | ((v[1] >> 7) << 3) | ((v[3] >> 7) << 4));
    }
}

static void get_sixes(int8_t q[16], const uint8_t *vectors, uint32_t row) {
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t last = 0;
        for (uint32_t j = 0; j < 3; j++) {
            const uint32_t v = vectors[ST_VECTOR * j + 4 * row + c];
            q[4 * j + c] = (int8_t)(v & 63) - 32;
            last |= (v >> 6) << (2 * j);
        }
        q[12 + c] = (int8_t)last - 32;
    }
}

static void set_scales(block32 *b, double scale, double min) {
    b->scale[0] = b->scale[1] = scale;
    b->min[0] = b->min[1] = min;
}

static void block_q4_0(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    get_nibbles(b->q, tile + ST_HALVES, row);
    set_scales(b, half_at(tile, row), -8 * half_at(tile, row));
}

static void block_q4_1(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    get_nibbles(b->q, tile + 2 * ST_HALVES, row);
    set_scales(b, half_at(tile, row), half_at(tile + ST_HALVES, row));
}

static void block_q5_0(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    get_fives(b->q, tile + ST_HALVES, row);
    set_scales(b, half_at(tile, row), -16 * half_at(tile, row));
}

static void block_q5_1(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    get_fives(b->q, tile + 2 * ST_HALVES, row);
    set_scales(b, half_at(tile, row), half_at(tile + ST_HALVES, row));
}

static void block_q8_0(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    for (uint32_t k = 0; k < 32; k++) b->q[k] = (int8_t)tile[ST_HALVES + ST_VECTOR * (k / 4) + 4 * row + k % 4];
    set_scales(b, half_at(tile, row), 0);
}

static void map_iq4(int8_t q[32]) {
    for (uint32_t k = 0; k < 32; k++) q[k] = st_iq4_values[q[k]];
}

static void block_iq4_nl(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    (void)i;
    get_nibbles(b->q, tile + ST_HALVES, row);
    map_iq4(b->q);
    set_scales(b, half_at(tile, row), 0);
}

static void block_iq4_xs(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    const uint8_t *chunk = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_IQ4_XS;
    get_nibbles(b->q, chunk + 32 + ST_NIBBLES * (i % 2), row);
    map_iq4(b->q);
    set_scales(b, half_at(tile, row) * (int8_t)chunk[16 * (i % 2) + row], 0);
}

static void block_q4_k(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q4_K, *head = chunk + 16 * (i % 2) + row;
    get_nibbles(b->q, chunk + 64 + ST_NIBBLES * (i % 2), row);
    set_scales(b, half_at(tile, row) * head[0], -half_at(tile + ST_HALVES, row) * head[32]);
}

static void block_q5_k(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q5_K, *head = chunk + 16 * (i % 2) + row;
    get_fives(b->q, chunk + 64 + ST_FIVES * (i % 2), row);
    set_scales(b, half_at(tile, row) * head[0], -half_at(tile + ST_HALVES, row) * head[32]);
}

static void block_q6_k(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    const uint8_t *chunk = tile + ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q6_K;
    for (uint32_t h = 0; h < 2; h++) {
        const uint32_t g = 2 * (i % 2) + h;
        get_sixes(b->q + 16 * h, chunk + 64 + ST_SIXES * g, row);
        b->scale[h] = half_at(tile, row) * (int8_t)chunk[16 * g + row];
        b->min[h] = 0;
    }
}

static void block_q2_k(block32 *b, const uint8_t *tile, uint32_t i, uint32_t row) {
    const uint8_t *chunk = tile + 2 * ST_HALVES + (size_t)(i / 2) * ST_CHUNK_Q2_K;
    for (uint32_t h = 0; h < 2; h++) {
        const uint32_t g = 2 * (i % 2) + h;
        const uint8_t *v = chunk + 64 + ST_VECTOR * g + 4 * row, s = chunk[16 * g + row];
        for (uint32_t k = 0; k < 16; k++) b->q[16 * h + k] = (v[k % 4] >> (2 * (k / 4))) & 3;
        b->scale[h] = half_at(tile, row) * (s & 15);
        b->min[h] = -half_at(tile + ST_HALVES, row) * (s >> 4);
    }
}

/* One block times one token's quantized activations. */
static double block_dot(const block32 *b, const int8_t *q, float d) {
    double sum = 0;
    for (uint32_t h = 0; h < 2; h++) {
        int dot = 0, total = 0;
        for (uint32_t k = 16 * h; k < 16 * h + 16; k++) {
            dot += b->q[k] * q[k];
            total += q[k];
        }
        sum += b->scale[h] * dot + b->min[h] * total;
    }
    return sum * d;
}

static void strip_row(const st_matrix *w, const st_panel *panel, block_fn *get, const uint8_t *strip, uint32_t r,
                      float *y, size_t ldy) {
    const uint32_t n = panel->n, per_tile = w->format->tile_cols / 32;
    double sums[ST_PANEL] = {0};
    for (uint32_t i = 0; i < w->cols / 32; i++) {
        const uint8_t *block = panel->quant + (size_t)i * n * ST_QBLOCK_BYTES;
        block32 b;
        get(&b, strip + (size_t)(i / per_tile) * w->format->tile_bytes, i % per_tile, r);
        for (uint32_t t = 0; t < n; t++)
            sums[t] += block_dot(&b, st_qblock_q(block) + 32 * t, st_qblock_d(block, n)[t]);
    }
    for (uint32_t t = 0; t < n; t++) y[t * ldy] = (float)sums[t];
}

static void matmul_blocks(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                          block_fn *get) {
    for (uint32_t s = lo; s < hi; s++)
        for (uint32_t r = 0; r < ST_STRIP; r++)
            strip_row(w, panel, get, w->data + s * w->strip_bytes, r, y + (size_t)s * ST_STRIP + r, ldy);
}

#define MATMUL(format)                                                                                                 \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_scalar) {                                                                 \
        matmul_blocks(w, panel, strip_lo, strip_hi, y, ldy, block_##format);                                           \
    }
MATMUL(q4_0)
MATMUL(q4_1)
MATMUL(q5_0)
MATMUL(q5_1)
MATMUL(q8_0)
MATMUL(iq4_nl)
MATMUL(iq4_xs)
MATMUL(q2_k)
MATMUL(q4_k)
MATMUL(q5_k)
MATMUL(q6_k)

/* ---- float types ---- */

typedef float value_fn(const uint8_t *strip, size_t i);

static float value_f32(const uint8_t *strip, size_t i) {
    return ((const float *)strip)[i];
}
static float value_f16(const uint8_t *strip, size_t i) {
    return st_half_to_float(((const uint16_t *)strip)[i]);
}
static float value_bf16(const uint8_t *strip, size_t i) {
    return st_bfloat_to_float(((const uint16_t *)strip)[i]);
}

static void matmul_values(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y, size_t ldy,
                          value_fn *get) {
    for (uint32_t row = lo * ST_STRIP; row < hi * ST_STRIP; row++) {
        const uint8_t *strip = w->data + row / ST_STRIP * w->strip_bytes;
        double sums[ST_PANEL] = {0};
        for (uint32_t k = 0; k < w->cols; k++) {
            const double value = get(strip, (size_t)k * ST_STRIP + row % ST_STRIP);
            for (uint32_t t = 0; t < panel->n; t++) sums[t] += value * panel->x[t * panel->stride + k];
        }
        for (uint32_t t = 0; t < panel->n; t++) y[t * ldy + row] = (float)sums[t];
    }
}

#define MATMUL_FLOAT(format)                                                                                           \
    ST_KERN_MATMUL_DECL(st_matmul_##format##_scalar) {                                                                 \
        matmul_values(w, panel, strip_lo, strip_hi, y, ldy, value_##format);                                           \
    }
MATMUL_FLOAT(f32)
MATMUL_FLOAT(f16)
MATMUL_FLOAT(bf16)
