/* SPDX-License-Identifier: MIT
 * AVX-VNNI in products of quantized matrices; the rest are the AVX2 kernels, which memory or floats bind. */
#include "kern/avxvnni.h"
#include "kern/matmul_avx2.h"
#include "kern/matmul_avxvnni.h"
#include "kern/table_avx2.h"

const st_kern st_kern_avxvnni = {
    .name = "avxvnni",
    .formats = ST_ALL_FORMATS,
    .matmul = ST_KERN_MATMULS(avx2, avxvnni),
    ST_TABLE_AVX2,
    .burn = {[ST_BURN_DOTS] = st_burn_dots_avxvnni, [ST_BURN_F32] = st_burn_f32_avx2},
};
