/* SPDX-License-Identifier: MIT
 * What the arm64 kernels share. Included by *_neon.c, *_dotprod.c and *_i8mm.c only.
 *
 * The order of every sum over quantized blocks, in matrix-vector and matrix-matrix kernels of all three tables alike,
 * so that all of them give the same bits: for each (row, token) one float accumulator starts at 0 and takes the blocks
 * of 32 columns in order of k:
 *   acc = fma(float(I), d_w * d_x, acc)
 *   acc = fma(m, ds_x, acc)                   Q4_1, Q5_1 (m), Q4_K, Q5_K (m = -(dmin * float(min)))
 *   acc = fma(float(M), -dmin * d_x, acc)     Q2_K
 * where I is an exact integer: sum w x, or sum scale w x with the integer scales of a K-quant (one or two a block); and
 * M is sum min x. w is signed for Q4_0, Q5_0, Q6_K, Q3_K, Q8_0, IQ4_NL and IQ4_XS, else as stored. Where weights have
 * an offset, I starts at minus the offset times the sum of the activations. */
#ifndef ST_KERN_NEON_H
#define ST_KERN_NEON_H

#include "kern/format.h"
#include "kern/inline.h"
#include "kern/layout.h"

#include <arm_neon.h>
#include <string.h>

ST_KERN_OPS_DECL(neon);
ST_KERN_FLOATS_DECL(neon);

/* What is a table's own: products of quantized formats, and the peak that they are compared with. */
#define ST_NEON_DECL(isa)                                                                                              \
    ST_KERN_QUANTS_DECL(isa);                                                                                          \
    uint32_t st_burn_dots_##isa(uint32_t rounds)
ST_NEON_DECL(neon);
ST_NEON_DECL(dotprod);
ST_NEON_DECL(i8mm);

/* Four f16. */
ST_INLINE float32x4_t load_halves(const void *p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

#endif
