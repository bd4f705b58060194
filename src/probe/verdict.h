/* SPDX-License-Identifier: MIT
 * Does it overlap, and why: judgements on a row's numbers. Pure functions. */
#ifndef ST_PROBE_VERDICT_H
#define ST_PROBE_VERDICT_H

#include "base/host.h"
#include "probe/record.h"
#include "unit/unit.h"

#define ST_OVERLAP_THRESHOLD 0.10

/* The verdict on a factor's interval; dispatch is the cost of a submission in the same measure (over Ts): a loss that
 * small is no interference. */
enum st_overlap st_overlap_judge(const st_interval *factor, double dispatch);

/* How many more rounds than the n behind this interval would move it off the threshold, its width shrinking with the
 * root of the number of rounds; ST_ROUNDS_NEVER where the factor is at the threshold. 0 when it is off already. */
uint64_t st_rounds_needed(const st_interval *factor, size_t n);

/* Sets verdict and rounds_needed of a row with numbers. */
void st_verdict_set(st_probe_row *row);

/* Sets classes, cause and evidence of a row with numbers. info: of both sides' units. host may be NULL. */
void st_cause_set(st_probe_row *row, const st_unit_info info[2], const st_host *host);

/* The class of one parallel arm whose sides ended at end[2] after the common start, where alone they take solo[2] and a
 * serial device would end both at `sum`. 5 % tolerance; where several fit, the closest. */
enum st_class st_classify(const double end[2], const double solo[2], double sum);

#endif
