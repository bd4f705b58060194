/* SPDX-License-Identifier: MIT
 * A unit that completes every step at once without running it: what is left to measure is the cost of dispatch. */
#ifndef ST_UNIT_NULL_H
#define ST_UNIT_NULL_H

#include "unit/unit.h"

/* Its name is "null:INDEX". A step is done when st_submit returns; one with dependencies that are pending on other
 * units makes st_submit wait for them. A dependency's failure passes on. STRETTO_E_MEMORY. */
int st_null_open(st_unit **out, unsigned index, stretto_error *err);

#endif
