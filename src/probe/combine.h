/* SPDX-License-Identifier: MIT
 * One record from those of several processes that measured the same: what differs from process to process (where pages
 * lie, what the clock does) is then in the intervals. */
#ifndef ST_PROBE_COMBINE_H
#define ST_PROBE_COMBINE_H

#include "probe/record.h"

/* Takes the rounds of `part`, which measured the same rows, into *record, as one more process. STRETTO_E_INPUT when its
 * rows are others, STRETTO_E_MEMORY; *record is then as before. */
int st_record_add(st_probe_record *record, const st_probe_record *part, stretto_error *err);

/* All numbers, verdicts, causes and warnings anew, from the rounds of all processes: intervals by resampling processes,
 * then their rounds. STRETTO_E_MEMORY. */
int st_record_judge(st_probe_record *record, stretto_error *err);

#endif
