/* SPDX-License-Identifier: MIT
 * Attention with AVX2: see vec_attention.inc. */
#include "kern/vec_avx2.h"

enum { VECTORS_OF_FOUR = 2 }; /* sixteen registers hold no more */
#include "kern/vec_attention.inc"
