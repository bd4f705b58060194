/* SPDX-License-Identifier: MIT */
#ifndef ST_KERN_MATMUL_AVXVNNI_H
#define ST_KERN_MATMUL_AVXVNNI_H

#include "kern/format.h"

ST_KERN_MATMUL_DECL(st_matmul_q4_0_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q4_1_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q5_0_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q5_1_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q8_0_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_iq4_nl_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_iq4_xs_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q2_k_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q4_k_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q5_k_avxvnni);
ST_KERN_MATMUL_DECL(st_matmul_q6_k_avxvnni);

#endif
