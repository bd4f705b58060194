/* SPDX-License-Identifier: MIT
 * Who is measured next. Rows take turns of ten rounds, so that all of them see the machine at much the same times, and
 * those that are decided leave time to those that are not. */
#ifndef ST_PROBE_TURNS_H
#define ST_PROBE_TURNS_H

#include "probe/probe.h"

/* Measures all of the setup's jobs into record->rows, which were described: rounds, numbers and verdicts, but no
 * causes. Jobs with `skip`, and those that no time was left for when it was cancelled, say so in their rows. Returns
 * the first failure, see st_probe_run. */
int st_turns_run(st_probe_record *record, const st_probe_setup *setup, stretto_error *err);

#endif
