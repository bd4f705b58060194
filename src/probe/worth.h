/* SPDX-License-Identifier: MIT
 * Is it worth anything? A row's overlap factor against the one at which using both units breaks even. */
#ifndef ST_PROBE_WORTH_H
#define ST_PROBE_WORTH_H

#include "probe/probe.h"

/* Sets what each row is worth for prefill and for several streams, as far as the chain's costs are known (costs may be
 * NULL); one stream was settled when the row was described. STRETTO_E_MEMORY. */
int st_worth_set(st_probe_record *record, const st_costs *costs, stretto_error *err);

/* The verdicts anew, from the row's factor and the break-evens that it has. */
void st_worth_judge(st_probe_row *row);

#endif
