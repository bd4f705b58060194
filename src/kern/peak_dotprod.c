/* SPDX-License-Identifier: MIT
 * What SDOT gives: four products in each of four lanes. */
#include "kern/peak_neon.h"

#define ADD_DOTS(sum)                                                                                                  \
    HIDE(x);                                                                                                           \
    sum = vdotq_s32(sum, x, x);
ST_NEON_BURN_DOTS(dotprod, 16, ADD_DOTS)
