/* SPDX-License-Identifier: MIT */
#ifndef ST_KERN_MATMUL_AVX512_H
#define ST_KERN_MATMUL_AVX512_H

#include "kern/format.h"

ST_KERN_FLOATS_DECL(avx512);
ST_KERN_QUANTS_DECL(avx512);

#endif
