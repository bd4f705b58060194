/* SPDX-License-Identifier: MIT
 * Products of one token and of a few with AVX2: strips in turns. */
#ifndef ST_KERN_TURNS_AVX2_H
#define ST_KERN_TURNS_AVX2_H

#include "kern/format.h"

enum { ST_TURN_STRIPS_AVX2 = 3 };

/* Initializer of st_kern.turn_tokens. Of more tokens, blocks that are unpacked once for all are as fast or faster: the
 * sooner the more there is to unpack. Products of floats gain nothing from turns with several tokens. */
#define ST_TURN_TOKENS_AVX2                                                                                            \
    {                                                                                                                  \
        [ST_F32] = 1, [ST_F16] = 1, [ST_BF16] = 1, [ST_Q4_0] = 4, [ST_Q4_1] = 4, [ST_Q5_0] = 4, [ST_Q5_1] = 4,         \
        [ST_Q8_0] = 4, [ST_IQ4_NL] = 2, [ST_IQ4_XS] = 2, [ST_Q2_K] = 2, [ST_Q3_K] = 2, [ST_Q4_K] = 4, [ST_Q5_K] = 4,   \
        [ST_Q6_K] = 2,                                                                                                 \
    }

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
