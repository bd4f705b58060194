/* SPDX-License-Identifier: MIT
 * Whether weights are numbers at all: one NaN spreads over every logit, so it is refused when loading, or where a row
 * is read that loading leaves in the map. */
#ifndef ST_MODEL_FINITE_H
#define ST_MODEL_FINITE_H

#include "gguf/gguf.h"
#include "stretto/error.h"

#include <stdbool.h>
#include <stdint.h>

/* n elements (whole blocks) of a readable type at src, which may be unaligned: false when one of them, or a scale that
 * they are multiplied by, is NaN or infinite. */
bool st_row_finite(uint32_t type, const uint8_t *src, uint32_t n);

/* Fails with STRETTO_E_INPUT: a weight in that row of t is NaN or infinite. */
int st_not_finite(const st_gguf *gguf, const st_tensor *t, uint64_t row, stretto_error *err);

#endif
