/* SPDX-License-Identifier: MIT
 * What SMMLA gives: eight products in each of four lanes. */
#include "kern/peak_neon.h"

#define ADD_PRODUCTS(sum)                                                                                              \
    HIDE(x);                                                                                                           \
    sum = vmmlaq_s32(sum, x, x);
ST_NEON_BURN_DOTS(i8mm, 32, ADD_PRODUCTS)
