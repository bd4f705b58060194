/* SPDX-License-Identifier: MIT */
#include "checkkern/check.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE = 256, POISON = 0xa5 };

void check_fail(check *c, const char *fmt, ...) {
    va_list args;
    if (c->failures++ >= 20) return;
    printf("FAIL %s: ", c->kern->name);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

guarded guarded_new(size_t bytes, size_t shift) {
    guarded g = {.memory = st_alloc(bytes + 2 * ZONE + shift, 1), .bytes = bytes};
    if (!g.memory) {
        fprintf(stderr, "checkkern: out of memory for %zu bytes\n", bytes);
        exit(1);
    }
    g.data = g.memory + ZONE + shift;
    guarded_poison(&g);
    return g;
}

void guarded_poison(guarded *g) {
    const size_t shift = (size_t)((uint8_t *)g->data - g->memory) - ZONE;
    memset(g->memory, POISON, g->bytes + 2 * ZONE + shift);
}

bool poisoned(const void *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)p)[i] != POISON) return false;
    return true;
}

bool guarded_intact(const guarded *g) {
    const uint8_t *data = g->data;
    return poisoned(g->memory, (size_t)(data - g->memory)) && poisoned(data + g->bytes, ZONE);
}

void guarded_free(guarded *g) {
    st_free(g->memory);
}

float random_float(check *c) {
    return (float)st_rng_normal(&c->rng);
}

void random_floats(check *c, float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = random_float(c);
}

uint32_t random_below(check *c, uint32_t n) {
    return (uint32_t)st_rng_below(&c->rng, n);
}

/* Offsets of the f16 scales in a block, -1: none. */
static void half_offsets(uint32_t type, int offsets[2]) {
    offsets[0] = 0;
    offsets[1] = -1;
    switch (type) {
    case ST_Q4_1:
    case ST_Q5_1:
    case ST_Q4_K:
    case ST_Q5_K:
        offsets[1] = 2;
        break;
    case ST_Q2_K:
        offsets[0] = 80;
        offsets[1] = 82;
        break;
    case ST_Q3_K:
        offsets[0] = 108;
        break;
    case ST_Q6_K:
        offsets[0] = 208;
        break;
    default:
        break;
    }
}

void random_blocks(check *c, uint32_t type, uint8_t *dst, size_t n) {
    const st_type_info *info = st_type_find(type);
    const size_t blocks = n / info->block_len;
    if (type == ST_F32 || type == ST_F16 || type == ST_BF16) {
        for (size_t i = 0; i < n; i++) {
            const float f = random_float(c);
            uint32_t bits;
            memcpy(&bits, &f, sizeof(bits));
            const uint16_t half = type == ST_F16 ? st_float_to_half(f) : (uint16_t)(bits >> 16);
            memcpy(dst + i * info->block_bytes, type == ST_F32 ? (void *)&bits : (void *)&half, info->block_bytes);
        }
        return;
    }
    int offsets[2];
    half_offsets(type, offsets);
    for (size_t b = 0; b < blocks; b++, dst += info->block_bytes) {
        for (uint32_t i = 0; i < info->block_bytes; i++) dst[i] = (uint8_t)st_rng_next(&c->rng);
        for (int i = 0; i < 2 && offsets[i] >= 0; i++) {
            const uint16_t half = st_float_to_half(0.05f * random_float(c));
            memcpy(dst + offsets[i], &half, 2);
        }
    }
}

void equal_blocks(uint32_t type, uint8_t byte, uint8_t *dst, size_t n) {
    const st_type_info *info = st_type_find(type);
    if (info->block_len == 1) return;
    int offsets[2];
    half_offsets(type, offsets);
    for (size_t b = 0; b < n / info->block_len; b++, dst += info->block_bytes)
        for (int i = 0; i < (int)info->block_bytes; i++)
            if (i / 2 * 2 != offsets[0] && i / 2 * 2 != offsets[1]) dst[i] = byte;
}

bool close_enough(float got, float want, double tolerance) {
    if (isnan(want)) return isnan(got);
    return got == want || fabs((double)got - want) <= tolerance;
}
