/* SPDX-License-Identifier: MIT */
#ifndef ST_BASE_MIN_H
#define ST_BASE_MIN_H

#include <stdint.h>

static inline uint32_t st_min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

#endif
