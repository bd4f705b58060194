/* SPDX-License-Identifier: MIT
 * Does it overlap, and why: judgements on a row's numbers. Pure functions. */
#ifndef ST_PROBE_VERDICT_H
#define ST_PROBE_VERDICT_H

#include "probe/record.h"

#define ST_OVERLAP_THRESHOLD 0.10
#define ST_OVERLAP_FULL 0.90 /* above this nothing holds the pair back that a cause would have to be found for */

/* The verdict on a factor's interval; dispatch is the cost of a submission in the same measure (over Ts): a loss that
 * small is no interference. */
enum st_overlap st_overlap_judge(const st_interval *factor, double dispatch);

/* How many more rounds than the n behind this interval would move it off the threshold, its width shrinking with the
 * root of the number of rounds; ST_ROUNDS_NEVER where the factor is at the threshold. 0 when it is off already. */
uint64_t st_rounds_needed(const st_interval *factor, size_t n);

/* Sets verdict and rounds_needed of a row with numbers. */
void st_verdict_set(st_probe_row *row);

/* Sets classes, cause and evidence of a row with numbers, which is one of the record's, from what the record holds:
 * also its controls, and other rows of the same pair. */
void st_cause_set(st_probe_row *row, const st_probe_record *record);

/* Whether the pair measured with caches warm, or with pinning off, would tell more of the cause. */
bool st_cause_wants_warm(const st_probe_row *row);
bool st_cause_wants_unpinned(const st_probe_row *row);

#define ST_END_TOLERANCE 0.05

/* Counts the rounds of each class. */
void st_classes_count(st_probe_row *row);

/* The class of one parallel arm whose sides ended at end[2] after the common start, where alone they take solo[2] and a
 * serial device would end both at `sum`. 5 % tolerance, of the classes of one device (a_first, b_first, sliced)
 * `device` or that, whichever is more; where several fit, the closest. */
enum st_class st_classify(const double end[2], const double solo[2], double sum, double device);

#endif
