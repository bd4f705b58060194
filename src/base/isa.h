/* SPDX-License-Identifier: MIT */
#ifndef ST_BASE_ISA_H
#define ST_BASE_ISA_H

/* The best instruction set of this processor that matters to us, in words ("AVX-512 VNNI"). For people to read; kernels
 * look at the features themselves. */
const char *st_isa_name(void);

#endif
