/* SPDX-License-Identifier: MIT
 * The scalar kernels: the reference of all variants, and what other tables fall back to. */
#ifndef ST_KERN_SCALAR_H
#define ST_KERN_SCALAR_H

#include "kern/format.h"

ST_KERN_OPS_DECL(scalar);

ST_KERN_FLOATS_DECL(scalar);
ST_KERN_QUANTS_DECL(scalar);

#endif
