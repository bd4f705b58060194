/* SPDX-License-Identifier: MIT
 * How kernels are compiled: their parts into them, and short loops to no loop. */
#ifndef ST_KERN_INLINE_H
#define ST_KERN_INLINE_H

#define ST_INLINE static inline __attribute__((always_inline))

/* Before a loop of so few turns, whose number is known when it is compiled, that nothing has to be left of it. Only
 * then do arrays of sums stay in registers. */
#define ST_UNROLLED _Pragma("GCC unroll 8")

#endif
