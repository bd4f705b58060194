/* SPDX-License-Identifier: MIT
 * Whether weights are numbers at all: one NaN spreads over every logit, so it is refused when loading. */
#ifndef ST_MODEL_FINITE_H
#define ST_MODEL_FINITE_H

#include <stdbool.h>
#include <stdint.h>

/* n elements (whole blocks) of a readable type at src, which may be unaligned: false when one of them, or a scale that
 * they are multiplied by, is NaN or infinite. */
bool st_row_finite(uint32_t type, const uint8_t *src, uint32_t n);

#endif
