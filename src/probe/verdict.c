/* SPDX-License-Identifier: MIT */
#include "probe/verdict.h"

#include "probe/probe.h"

#include <math.h>

#define ROUNDS_MANY 1e5 /* more than anybody waits for: the factor is at the threshold */

enum st_overlap st_overlap_judge(const st_interval *factor, double dispatch) {
    if (factor->hi < -dispatch) return ST_OVERLAP_INTERFERES;
    if (factor->hi < ST_OVERLAP_THRESHOLD) return ST_OVERLAP_SERIALISES;
    if (factor->lo >= ST_OVERLAP_THRESHOLD) return ST_OVERLAP_OVERLAPS;
    return ST_OVERLAP_UNDECIDED;
}

uint64_t st_rounds_needed(const st_interval *factor, size_t n) {
    if (factor->hi < ST_OVERLAP_THRESHOLD || factor->lo >= ST_OVERLAP_THRESHOLD) return 0;
    double distance = fabs(factor->value - ST_OVERLAP_THRESHOLD);
    double arm = factor->value < ST_OVERLAP_THRESHOLD ? factor->hi - factor->value : factor->value - factor->lo;
    double total = (double)n * (arm / distance) * (arm / distance);
    if (!(distance > 0) || !(total - (double)n < ROUNDS_MANY)) return ST_ROUNDS_NEVER;
    double more = ceil(total - (double)n);
    return more < 1 ? 1 : (uint64_t)more;
}

void st_verdict_set(st_probe_row *row) {
    const st_interval *factor = st_row_decisive(row);
    double reference = row->median_ns[row->reference ? ST_ARM_SOLO_B : ST_ARM_SOLO_A];
    row->rounds_needed = 0;
    row->verdict = ST_OVERLAP_UNDECIDED;
    if (row->flags & ST_ROW_SPREAD) {
        row->rounds_needed = ST_ROUNDS_NEVER;
    } else if (row->flags & ST_ROW_FEW) {
        row->rounds_needed = ST_PROBE_LEAST_ROUNDS - row->n_rounds;
    } else {
        row->verdict = st_overlap_judge(factor, row->dispatch_ns / reference);
        row->rounds_needed = st_rounds_needed(factor, row->n_rounds);
    }
}
