/* SPDX-License-Identifier: MIT
 * Attention with AVX-512: see vec_attention.inc. */
#include "kern/vec_avx512.h"

enum { VECTORS_OF_FOUR = 4 };
#include "kern/vec_attention.inc"
