/* SPDX-License-Identifier: MIT
 * How the two sides of a parallel arm ended, against what each takes alone. */
#include "probe/verdict.h"

#include <math.h>
#include <string.h>

enum st_class st_classify(const double end[2], const double solo[2], double sum, double device) {
    unsigned shorter = solo[1] < solo[0];
    const double sliced[2] = {shorter == 0 ? 2 * solo[0] : sum, shorter == 1 ? 2 * solo[1] : sum};
    const double expected[][2] = {
        [ST_CLASS_SOLO] = {solo[0], solo[1]},
        [ST_CLASS_A_FIRST] = {solo[0], sum},
        [ST_CLASS_B_FIRST] = {sum, solo[1]},
        [ST_CLASS_SLICED] = {sliced[0], sliced[1]},
    };
    enum st_class best = ST_CLASS_OTHER;
    double least = HUGE_VAL;
    for (unsigned class_ = 0; class_ < sizeof expected / sizeof *expected; class_++) {
        double tolerance = class_ == ST_CLASS_SOLO ? ST_END_TOLERANCE : fmax(device, ST_END_TOLERANCE);
        double off = fmax(fabs(end[0] / expected[class_][0] - 1), fabs(end[1] / expected[class_][1] - 1));
        if (off > tolerance || off > least) continue;
        least = off;
        best = (enum st_class)class_;
    }
    if (best != ST_CLASS_OTHER) return best;
    double last = fmax(end[0], end[1]);
    if (last > (1 + ST_END_TOLERANCE) * sum) return ST_CLASS_WORSE;
    bool both_late = end[0] > (1 + ST_END_TOLERANCE) * solo[0] && end[1] > (1 + ST_END_TOLERANCE) * solo[1];
    return both_late && last < (1 - ST_END_TOLERANCE) * sum ? ST_CLASS_STRETCHED : ST_CLASS_OTHER;
}

#define TOLERANCE_MOST 0.15 /* shapes are further apart than that */

/* One unit's times alone vary, and so do the ends of what it does one after the other: where their middle half is
 * spread more widely than 5 %, so may the ends. Two units are held to the 5 %. */
static double device_tolerance(const st_probe_row *row) {
    double spread = fmax(fmax(row->spread[ST_ARM_SOLO_A], row->spread[ST_ARM_SOLO_B]), row->spread[ST_ARM_QUEUED]);
    return row->one_unit ? fmin(fmax(spread, ST_END_TOLERANCE), TOLERANCE_MOST) : ST_END_TOLERANCE;
}

/* What one unit does with both in one queue is the sum that its dispatch allows; else the sum of the solo times. */
void st_classes_count(st_probe_row *row) {
    const double solo[2] = {row->median_ns[ST_ARM_SOLO_A], row->median_ns[ST_ARM_SOLO_B]};
    double sum = row->one_unit ? row->median_ns[ST_ARM_QUEUED] : solo[0] + solo[1];
    row->class_tolerance = device_tolerance(row);
    memset(row->classes, 0, sizeof row->classes);
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_sample *sample = &row->rounds[i].arms[ST_ARM_PARALLEL];
        const double end[2] = {(double)sample->end_ns[0], (double)sample->end_ns[1]};
        row->classes[st_classify(end, solo, sum, row->class_tolerance)]++;
    }
}

double st_common_rate(const double work[2], const double solo[2], const double slowdown[2]) {
    const double end[2] = {solo[0] * slowdown[0], solo[1] * slowdown[1]};
    unsigned first = end[1] < end[0], last = !first;
    double alone = fmin((end[last] - end[first]) / solo[last], 1);
    return (work[first] + work[last] * (1 - alone)) / end[first];
}
