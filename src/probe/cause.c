/* SPDX-License-Identifier: MIT
 * Why two steps do or do not overlap, from evidence only, tested in a fixed order. What the evidence does not single
 * out stays unexplained, with the numbers. */
#include "probe/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 0.05
#define FULL_OVERLAP 0.90 /* above this nothing holds the pair back that a cause would have to be found for */

static void evidence_set(st_probe_row *row, enum st_cause cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void evidence_set(st_probe_row *row, enum st_cause cause, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(row->evidence, sizeof row->evidence, fmt, args);
    va_end(args);
    row->cause = cause;
}

enum st_class st_classify(const double end[2], const double solo[2], double sum) {
    unsigned shorter = solo[1] < solo[0];
    const double sliced[2] = {shorter == 0 ? 2 * solo[0] : sum, shorter == 1 ? 2 * solo[1] : sum};
    const double expected[][2] = {
        [ST_CLASS_SOLO] = {solo[0], solo[1]},
        [ST_CLASS_A_FIRST] = {solo[0], sum},
        [ST_CLASS_B_FIRST] = {sum, solo[1]},
        [ST_CLASS_SLICED] = {sliced[0], sliced[1]},
    };
    enum st_class best = ST_CLASS_OTHER;
    double least = TOLERANCE;
    for (unsigned class_ = 0; class_ < sizeof expected / sizeof *expected; class_++) {
        double off = fmax(fabs(end[0] / expected[class_][0] - 1), fabs(end[1] / expected[class_][1] - 1));
        if (off > least) continue;
        least = off;
        best = (enum st_class)class_;
    }
    if (best != ST_CLASS_OTHER) return best;
    double last = fmax(end[0], end[1]);
    if (last > (1 + TOLERANCE) * sum) return ST_CLASS_WORSE;
    bool both_late = end[0] > (1 + TOLERANCE) * solo[0] && end[1] > (1 + TOLERANCE) * solo[1];
    return both_late && last < (1 - TOLERANCE) * sum ? ST_CLASS_STRETCHED : ST_CLASS_OTHER;
}

/* What one unit does with both in one queue is the sum that its dispatch allows; else the sum of the solo times. */
static void classes_count(st_probe_row *row) {
    const double solo[2] = {row->median_ns[ST_ARM_SOLO_A], row->median_ns[ST_ARM_SOLO_B]};
    double sum = row->one_unit ? row->median_ns[ST_ARM_QUEUED] : solo[0] + solo[1];
    memset(row->classes, 0, sizeof row->classes);
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_sample *sample = &row->rounds[i].arms[ST_ARM_PARALLEL];
        const double end[2] = {(double)sample->end_ns[0], (double)sample->end_ns[1]};
        row->classes[st_classify(end, solo, sum)]++;
    }
}

static double percent(size_t part, size_t whole) {
    return 100.0 * (double)part / (double)whole;
}

static bool cores_have(const st_unit_info *info, unsigned core) {
    for (unsigned i = 0; i < info->n_cores; i++)
        if (info->cores[i] == core) return true;
    return false;
}

static unsigned cores_shared(const st_unit_info info[2]) {
    unsigned shared = 0;
    for (unsigned i = 0; i < info[0].n_cores; i++) shared += cores_have(&info[1], info[0].cores[i]);
    return shared;
}

/* Whether a core of one unit and another of the other are hardware threads of the same physical core. */
static bool cores_are_siblings(const st_unit_info info[2], const st_host *host) {
    for (unsigned i = 0; i < info[0].n_cores; i++)
        for (unsigned j = 0; j < info[1].n_cores; j++) {
            unsigned a = info[0].cores[i], b = info[1].cores[j];
            if (a != b && a < host->n_cores && b < host->n_cores && host->cores[a].core == host->cores[b].core)
                return true;
        }
    return false;
}

/* Two units that share hardware threads, cores or the allowance of CPU time. */
static bool cause_cores(st_probe_row *row, const st_unit_info info[2], const st_host *host) {
    if (row->overlap.lo >= FULL_OVERLAP || !info[0].n_cores || (!row->one_unit && !info[1].n_cores)) return false;
    if (!row->one_unit && host && cores_are_siblings(info, host)) {
        evidence_set(row, ST_CAUSE_SHARED_CORE, "%s and %s have hardware threads of the same physical core",
                     row->unit[0], row->unit[1]);
        return true;
    }
    unsigned shared = row->one_unit ? 0 : cores_shared(info);
    unsigned threads = info[0].n_threads + (row->one_unit ? 0 : info[1].n_threads);
    unsigned cores = info[0].n_cores + (row->one_unit ? 0 : info[1].n_cores - shared);
    unsigned idle = host && host->max_threads > cores ? host->max_threads - cores : 0;
    if (threads > cores && shared && idle) {
        evidence_set(row, ST_CAUSE_ONE_CORE,
                     "%s and %s share %u of their cores while %u allowed here idle%s: give each its own (--units)",
                     row->unit[0], row->unit[1], shared, idle, idle == 1 ? "s" : "");
        return true;
    }
    unsigned allowed = host && host->max_threads < cores ? host->max_threads : cores;
    if (threads <= allowed) return false;
    evidence_set(row, ST_CAUSE_OVERSUBSCRIPTION, "%u runnable threads on %u allowed core%s", threads, allowed,
                 allowed == 1 ? "" : "s");
    return true;
}

static bool cause_queueing(st_probe_row *row) {
    if (!row->one_unit || row->overlap_unit.hi >= ST_OVERLAP_THRESHOLD) return false;
    if (row->overlap.lo <= fmax(0, row->overlap_unit.hi)) return false;
    evidence_set(row, ST_CAUSE_QUEUEING,
                 "against solo times %.2f is gained, against one queue %.2f: what overlaps is a dispatch of %.3g ms",
                 row->overlap.value, row->overlap_unit.value, row->dispatch_ns / 1e6);
    return true;
}

static bool cause_fifo(st_probe_row *row) {
    size_t a_first = row->classes[ST_CLASS_A_FIRST], b_first = row->classes[ST_CLASS_B_FIRST], n = row->n_rounds;
    size_t both = a_first + b_first;
    if (2 * both < n) return false;
    unsigned last = a_first >= b_first; /* the side that mostly waits */
    size_t most = last ? a_first : b_first;
    if (10 * most >= 9 * both)
        evidence_set(row, ST_CAUSE_FIFO, "%s ends when %s + %s would, %s at its solo time, in %.0f %% of rounds",
                     row->name[last], row->name[0], row->name[1], row->name[!last], percent(most, n));
    else
        evidence_set(row, ST_CAUSE_FIFO,
                     "one ends at its solo time, the other at the sum: %s last in %.0f %% of rounds, %s in %.0f %%",
                     row->name[0], percent(b_first, n), row->name[1], percent(a_first, n));
    return true;
}

static bool cause_sliced(st_probe_row *row) {
    size_t sliced = row->classes[ST_CLASS_SLICED];
    if (2 * sliced < row->n_rounds) return false;
    evidence_set(row, ST_CAUSE_TIME_SLICED,
                 "%s ends at twice its solo time, the other when both in a row would, in %.0f %% of rounds",
                 row->name[row->reference], percent(sliced, row->n_rounds));
    return true;
}

static bool cause_true_overlap(st_probe_row *row) {
    size_t solo = row->classes[ST_CLASS_SOLO];
    if (2 * solo < row->n_rounds) return false;
    evidence_set(row, ST_CAUSE_TRUE_OVERLAP, "both end at their solo times in %.0f %% of rounds",
                 percent(solo, row->n_rounds));
    return true;
}

static void cause_unexplained(st_probe_row *row) {
    size_t top = 0;
    for (size_t i = 1; i < ST_CLASS_COUNT; i++)
        if (row->classes[i] > row->classes[top]) top = i;
    static const char *const told[ST_CLASS_COUNT] = {
        [ST_CLASS_SOLO] = "both end at their solo times",
        [ST_CLASS_A_FIRST] = "one ends at its solo time, the other at the sum",
        [ST_CLASS_B_FIRST] = "one ends at its solo time, the other at the sum",
        [ST_CLASS_SLICED] = "the shorter ends at twice its solo time",
        [ST_CLASS_STRETCHED] = "both are stretched",
        [ST_CLASS_WORSE] = "the last ends later than both in a row would",
        [ST_CLASS_OTHER] = "the completion times fit no pattern",
    };
    char rate[64] = "";
    if (st_row_parallel_rate(row) > 0)
        snprintf(rate, sizeof rate, "; together %.1f GB/s, alone %.1f and %.1f", st_row_parallel_rate(row),
                 st_row_solo_rate(row, 0), st_row_solo_rate(row, 1));
    evidence_set(row, ST_CAUSE_UNEXPLAINED,
                 "%s in %.0f %% of rounds; %s takes %.2f times as long as alone, %s %.2f times%s", told[top],
                 percent(row->classes[top], row->n_rounds), row->name[0], row->slowdown[0], row->name[1],
                 row->slowdown[1], rate);
}

static void cause_batch(st_probe_row *row) {
    evidence_set(row, ST_CAUSE_UNEXPLAINED,
                 "%u single calls take %.3g ms, one call of %u tokens %.3g; %.1f GB/s alone, %.1f in one call", row->k,
                 row->median_ns[ST_ARM_SERIAL] / 1e6, row->k, row->median_ns[ST_ARM_BATCHED] / 1e6,
                 st_row_solo_rate(row, 0), st_row_parallel_rate(row));
}

void st_cause_set(st_probe_row *row, const st_unit_info info[2], const st_host *host) {
    if (row->k) {
        cause_batch(row);
        return;
    }
    classes_count(row);
    if (cause_cores(row, info, host) || cause_queueing(row) || cause_fifo(row) || cause_sliced(row) ||
        cause_true_overlap(row))
        return;
    cause_unexplained(row);
}
