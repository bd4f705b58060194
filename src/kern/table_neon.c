/* SPDX-License-Identifier: MIT
 * The tables of arm64. They differ in how they multiply quantized matrices only, and not in a bit of their results. */
#include "kern/neon.h"

#define TABLE(isa)                                                                                                     \
    const st_kern st_kern_##isa = {                                                                                    \
        .name = #isa,                                                                                                  \
        .formats = ST_ALL_FORMATS,                                                                                     \
        .matmul = ST_KERN_MATMULS(neon, isa),                                                                          \
        ST_KERN_OPS(neon),                                                                                             \
        .burn = {[ST_BURN_DOTS] = st_burn_dots_##isa, [ST_BURN_F32] = st_burn_f32_neon},                               \
    }
TABLE(neon);
TABLE(dotprod);
TABLE(i8mm);
