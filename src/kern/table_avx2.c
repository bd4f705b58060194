/* SPDX-License-Identifier: MIT */
#include "kern/table_avx2.h"
#include "kern/avx2.h"
#include "kern/matmul_avx2.h"

const st_kern st_kern_avx2 = {
    .name = "avx2",
    .formats = ST_ALL_FORMATS,
    .matmul = ST_KERN_MATMULS(avx2, avx2),
    ST_TABLE_AVX2,
    .burn = {[ST_BURN_DOTS] = st_burn_dots_avx2, [ST_BURN_F32] = st_burn_f32_avx2},
};
