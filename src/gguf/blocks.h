/* SPDX-License-Identifier: MIT
 * Layouts of the quantized blocks as they lie in a file (ggml-common.h). All members are bytes, so a pointer into a
 * file may be cast to them whatever its alignment. Two-byte members are little-endian halves: st_half_at. */
#ifndef ST_GGUF_BLOCKS_H
#define ST_GGUF_BLOCKS_H

#include "gguf/types.h"

#include <string.h>

/* Blocks of 32. The byte j of a nibble array holds element j below and element j + 16 above. */
typedef struct st_q4_0 { /* x = d * (q - 8) */
    uint8_t d[2], qs[16];
} st_q4_0;
typedef struct st_q4_1 { /* x = d * q + m */
    uint8_t d[2], m[2], qs[16];
} st_q4_1;
typedef struct st_q5_0 { /* x = d * (q - 16); bit j of qh is the fifth bit of element j */
    uint8_t d[2], qh[4], qs[16];
} st_q5_0;
typedef struct st_q5_1 { /* x = d * q + m */
    uint8_t d[2], m[2], qh[4], qs[16];
} st_q5_1;
typedef struct st_q8_0 { /* x = d * q */
    uint8_t d[2];
    int8_t qs[32];
} st_q8_0;
typedef struct st_iq4_nl { /* x = d * st_iq4_values[q] */
    uint8_t d[2], qs[16];
} st_iq4_nl;

/* Blocks of 256 in sub-blocks of 16 or 32 that have scales of their own. */
typedef struct st_q2_k { /* x = d * scale * q - dmin * min; 16 sub-blocks, 4-bit scale below, min above */
    uint8_t scales[16], qs[64], d[2], dmin[2];
} st_q2_k;
typedef struct st_q3_k { /* x = d * (scale - 32) * (q - 4); 16 sub-blocks, 6-bit scales, third bits in hmask */
    uint8_t hmask[32], qs[64], scales[12], d[2];
} st_q3_k;
typedef struct st_q4_k { /* x = d * scale * q - dmin * min; 8 sub-blocks, 6-bit scales and mins: st_scale_min_get */
    uint8_t d[2], dmin[2], scales[12], qs[128];
} st_q4_k;
typedef struct st_q5_k { /* as Q4_K, fifth bits in qh */
    uint8_t d[2], dmin[2], scales[12], qh[32], qs[128];
} st_q5_k;
typedef struct st_q6_k { /* x = d * scale * (q - 32); 16 sub-blocks */
    uint8_t ql[128], qh[64];
    int8_t scales[16];
    uint8_t d[2];
} st_q6_k;
typedef struct st_iq4_xs { /* x = d * (scale - 32) * st_iq4_values[q]; 8 sub-blocks, 6-bit scales */
    uint8_t d[2], scales_h[2], scales_l[4], qs[128];
} st_iq4_xs;

_Static_assert(sizeof(st_q4_0) == 18 && sizeof(st_q4_1) == 20 && sizeof(st_q5_0) == 22 && sizeof(st_q5_1) == 24, "");
_Static_assert(sizeof(st_q8_0) == 34 && sizeof(st_iq4_nl) == 18 && sizeof(st_iq4_xs) == 136, "");
_Static_assert(sizeof(st_q2_k) == 84 && sizeof(st_q3_k) == 110 && sizeof(st_q4_k) == 144, "");
_Static_assert(sizeof(st_q5_k) == 176 && sizeof(st_q6_k) == 210, "");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF files are read as they lie in memory");

extern const int8_t st_iq4_values[16]; /* what the codes of IQ4_NL and IQ4_XS stand for, rising */

static inline uint16_t st_u16_at(const uint8_t *p) {
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static inline float st_half_at(const uint8_t *p) {
    return st_half_to_float(st_u16_at(p));
}

/* Scale and min of sub-block j of Q4_K and Q5_K: 8 + 8 values of 6 bits in 12 bytes. The first four of each kind have
 * bytes of their own; the upper two bits of those bytes, and the last four bytes, hold the other eight. */
static inline void st_scale_min_get(const uint8_t scales[12], unsigned j, uint8_t *scale, uint8_t *min) {
    if (j < 4) {
        *scale = scales[j] & 63;
        *min = scales[j + 4] & 63;
    } else {
        *scale = (uint8_t)((scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4);
        *min = (uint8_t)(scales[j + 4] >> 4 | (scales[j] >> 6) << 4);
    }
}

#endif
