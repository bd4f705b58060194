/* SPDX-License-Identifier: MIT */
#include "model/finite.h"

#include "base/error.h"
#include "gguf/types.h"
#include "model/model.h"

#include <inttypes.h>
#include <string.h>

static bool half_finite(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return (h & 0x7c00) != 0x7c00;
}

static bool top_finite(const uint8_t *p, uint32_t step, uint32_t n) {
    /* f32 and bf16 have the same exponent, in the upper two bytes (little endian). */
    for (uint32_t i = 0; i < n; i++, p += step) {
        uint16_t h;
        memcpy(&h, p, sizeof h);
        if ((h & 0x7f80) == 0x7f80) return false;
    }
    return true;
}

/* Where a block's f16 scales stand (block layouts: GGUF specification). Integers cannot be NaN. */
static uint32_t scales_offset(uint32_t type, uint32_t *n_scales) {
    *n_scales = 1;
    switch (type) {
    case ST_Q4_1:
    case ST_Q5_1:
    case ST_Q4_K:
    case ST_Q5_K:
        *n_scales = 2;
        return 0;
    case ST_Q2_K:
        *n_scales = 2;
        return 16 + 64;
    case ST_Q3_K:
        return 32 + 64 + 12;
    case ST_Q6_K:
        return 128 + 64 + 16;
    default:
        return 0;
    }
}

bool st_row_finite(uint32_t type, const uint8_t *src, uint32_t n) {
    if (type == ST_F32) return top_finite(src + 2, 4, n);
    if (type == ST_BF16) return top_finite(src, 2, n);
    const st_type_info *info = st_type_find(type);
    uint32_t n_scales, offset = scales_offset(type, &n_scales);
    for (uint32_t i = 0; i < n / info->block_len; i++, src += info->block_bytes)
        for (uint32_t s = 0; s < n_scales; s++)
            if (!half_finite(src + offset + 2 * s)) return false;
    return true;
}

int st_not_finite(const st_gguf *gguf, const st_tensor *t, uint64_t row, stretto_error *err) {
    return st_fail(err, STRETTO_E_INPUT, "%s: tensor %.*s has a weight that is not a finite number, in row %" PRIu64,
                   gguf->path, (int)t->name.len, t->name.data, row);
}

static int check_row(const st_model *m, const st_tensor *table, int32_t id, stretto_error *err) {
    const uint8_t *row = table->data + (size_t)id * (table->bytes / table->dims[1]);
    if (st_row_finite(table->type, row, (uint32_t)table->dims[0])) return STRETTO_OK;
    return st_not_finite(m->gguf, table, (uint64_t)id, err);
}

int st_model_check_row(const st_model *m, int32_t id, stretto_error *err) {
    int code = m->tied ? STRETTO_OK : check_row(m, m->embed, id, err); /* a tied one was checked as the head */
    if (!code && m->d_ple) code = check_row(m, m->ple_embed, id, err);
    return code;
}
