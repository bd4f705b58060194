/* SPDX-License-Identifier: MIT
 * A probe in several new processes. */
#ifndef CLI_PROBE_FRESH_H
#define CLI_PROBE_FRESH_H

#include "cli.h"
#include "probe/record.h"

#define PROBE_PART_FD 3 /* where a part hands its record over */

/* Runs this program's own command line in n new processes, each with its part of the budget (seconds, 0: none), and
 * combines what they measured; part i gets the seed seed + i. *record holds what there is, whatever is returned:
 * STRETTO_E_STOPPED, or how a part failed. Must not be called while this process has threads. */
int probe_fresh(cli *cx, unsigned n, double budget_s, uint64_t seed, st_probe_record *record, stretto_error *err);

/* At the beginning and at the end of a part. */
void probe_part_begin(void);
int probe_part_end(const st_probe_record *record, stretto_error *err);

#endif
