/* SPDX-License-Identifier: MIT */
#ifndef ST_BASE_ISA_H
#define ST_BASE_ISA_H

#include <stdbool.h>

/* The best instruction set of this processor that matters to us, in words ("AVX-512 VNNI"). For people to read; kernels
 * look at the features themselves. */
const char *st_isa_name(void);

#if defined(__x86_64__)
/* Whether the processor has AVX-VNNI, for which compilers of 2022 have no name yet. */
bool st_isa_has_avx_vnni(void);
#endif

#endif
