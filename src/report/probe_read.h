/* SPDX-License-Identifier: MIT
 * A probe's JSON (docs/PROBE-JSON.md) back into a record. Files come from strangers: everything is checked. */
#ifndef ST_REPORT_PROBE_READ_H
#define ST_REPORT_PROBE_READ_H

#include "probe/record.h"

/* What a report says of itself; "" where it does not. */
typedef struct st_probe_source {
    char version[32], time[40], cpu[96], isa[32], kernel[64];
} st_probe_source;

#define ST_PROBE_READ_MAX ((size_t)256 << 20) /* bytes of JSON */

/* Fills the record with what comparing needs: title, cache, seed, n_processes; of each row names, units, arrangement,
 * arms, stop, error, verdict, cause, evidence, and the rounds with the times of their arms, the ends of the parallel
 * arm's sides and their process. Medians, intervals and slowdowns are computed from the rounds. Other fields are zero.
 * STRETTO_E_INPUT says where and what is wrong, expected and found; STRETTO_E_MEMORY. On failure the record is empty;
 * else it is freed by st_probe_record_free. */
int st_probe_read(st_probe_record *record, st_probe_source *source, const char *json, size_t n, stretto_error *err);

#endif
