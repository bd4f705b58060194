/* SPDX-License-Identifier: MIT */
#ifndef ST_KERN_MATMUL_AVX2_H
#define ST_KERN_MATMUL_AVX2_H

#include "kern/format.h"

ST_KERN_FLOATS_DECL(avx2);
ST_KERN_QUANTS_DECL(avx2);

#endif
