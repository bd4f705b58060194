/* SPDX-License-Identifier: MIT */
#include "kern/scalar.h"

const st_kern st_kern_scalar = {
    .name = "scalar",
    .formats = ST_ALL_FORMATS,
    .matmul = ST_KERN_MATMULS(scalar, scalar),
    ST_KERN_OPS(scalar),
    .burn = {[ST_BURN_DOTS] = st_burn_dots_scalar, [ST_BURN_F32] = st_burn_f32_scalar},
};
