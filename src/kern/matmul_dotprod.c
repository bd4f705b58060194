/* SPDX-License-Identifier: MIT
 * Products of quantized matrices with SDOT, four products of bytes a lane. */
#include "kern/dotprod.h"

#define MATMUL(format, shape) ST_NEON_MATMUL(dotprod, format, shape)
ST_NEON_FORMATS(MATMUL)
