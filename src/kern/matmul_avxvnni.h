/* SPDX-License-Identifier: MIT */
#ifndef ST_KERN_MATMUL_AVXVNNI_H
#define ST_KERN_MATMUL_AVXVNNI_H

#include "kern/format.h"

ST_KERN_QUANTS_DECL(avxvnni);

#endif
