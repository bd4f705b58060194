/* SPDX-License-Identifier: MIT
 * Attention with NEON, for all tables of arm64: see vec_attention.inc. */
#include "kern/vec_neon.h"

enum { VECTORS_OF_FOUR = 4 };
#include "kern/vec_attention.inc"
