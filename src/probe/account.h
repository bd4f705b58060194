/* SPDX-License-Identifier: MIT
 * What the controls in a row's rounds say, and how much of what the row lost or gained they account for. */
#ifndef ST_PROBE_ACCOUNT_H
#define ST_PROBE_ACCOUNT_H

#include "probe/estimate.h"

/* Fills row->controls, memory, late, and the warm interval where warm runs were measured, from the row's rounds; its
 * numbers are known (st_estimate_row). What was not measured is left as not known. STRETTO_E_MEMORY. */
int st_account_row(st_probe_row *row, const st_estimate_options *options, stretto_error *err);

/* st_account_row for all rows with rounds, each with its own level; and record->unit_pairs anew: the controls of all
 * rounds on the same two units. STRETTO_E_MEMORY. */
int st_account_record(st_probe_record *record, unsigned resamples, stretto_error *err);

/* The overlap factor of two steps that share nothing but memory. solo[2]: how long each takes alone; reading[2]: the
 * share of that in which it reads at the speed that memory gives it alone, 0 to 1; slow[2]: how many times as long
 * reading takes beside reading; behind[2]: how much later than the other each is submitted, one of them 0; reference:
 * which side the factor is relative to. Reading is taken to fall on the other's reading as often as chance has it:
 * steps read in many short turns that know nothing of each other. */
double st_account_memory(const double solo[2], const double reading[2], const double slow[2], const double behind[2],
                         unsigned reference);

#endif
