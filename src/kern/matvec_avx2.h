/* SPDX-License-Identifier: MIT
 * Products of one token with AVX2: strips in turns. */
#ifndef ST_KERN_MATVEC_AVX2_H
#define ST_KERN_MATVEC_AVX2_H

#include "kern/format.h"

enum { ST_TURN_AVX2 = 3 }; /* strips */

ST_KERN_TURN_DECL(st_turn_f32_avx2);
ST_KERN_TURN_DECL(st_turn_f16_avx2);
ST_KERN_TURN_DECL(st_turn_bf16_avx2);
ST_KERN_TURN_DECL(st_turn_q4_0_avx2);
ST_KERN_TURN_DECL(st_turn_q4_1_avx2);
ST_KERN_TURN_DECL(st_turn_q5_0_avx2);
ST_KERN_TURN_DECL(st_turn_q5_1_avx2);
ST_KERN_TURN_DECL(st_turn_q8_0_avx2);
ST_KERN_TURN_DECL(st_turn_iq4_nl_avx2);
ST_KERN_TURN_DECL(st_turn_iq4_xs_avx2);
ST_KERN_TURN_DECL(st_turn_q2_k_avx2);
ST_KERN_TURN_DECL(st_turn_q4_k_avx2);
ST_KERN_TURN_DECL(st_turn_q5_k_avx2);
ST_KERN_TURN_DECL(st_turn_q6_k_avx2);

#endif
