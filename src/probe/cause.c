/* SPDX-License-Identifier: MIT
 * Why two steps do or do not overlap, from evidence only, tested in a fixed order. What the evidence does not single
 * out stays unexplained, with the numbers. */
#include "probe/verdict.h"

#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NEAR 1.15         /* of CPU time, which is read a little after the end */
#define AT_BANDWIDTH 0.85 /* of what the bandwidth control reaches on the same two units */

static void evidence_set(st_probe_row *row, enum st_cause cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void evidence_set(st_probe_row *row, enum st_cause cause, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(row->evidence, sizeof row->evidence, fmt, args);
    st_utf8_trim(row->evidence);
    va_end(args);
    row->cause = cause;
}

static double percent(size_t part, size_t whole) {
    return 100.0 * (double)part / (double)whole;
}

/* ---- cores ---- */

static bool cause_shared_core(st_probe_row *row) {
    if (!row->cores.siblings) return false;
    evidence_set(row, ST_CAUSE_SHARED_CORE, "%s and %s have hardware threads of the same physical core", row->unit[0],
                 row->unit[1]);
    return true;
}

/* Together they use no more CPU time a second than one of them alone, though a core idles: either both are bound to the
 * same one, or something else makes one wait (a lock, say), which only the pair with pinning off can tell. */
static bool cause_one_core(st_probe_row *row) {
    const st_row_cores *c = &row->cores;
    const double *share = row->cpu_share;
    unsigned used = share[ST_ARM_PARALLEL] > 0 ? (unsigned)ceil(share[ST_ARM_PARALLEL] - 0.2) : c->cores;
    if (row->one_unit || c->allowed <= used) return false;
    if (share[ST_ARM_PARALLEL] > NEAR * fmax(share[ST_ARM_SOLO_A], share[ST_ARM_SOLO_B])) return false;
    bool unpinned = row->has_unpinned && row->unpinned.lo >= ST_OVERLAP_THRESHOLD;
    if (!unpinned && (row->has_unpinned || !c->shared || c->threads <= c->cores)) return false;
    char wander[64] = "";
    if (unpinned) snprintf(wander, sizeof wander, " (with pinning off the factor is %.2f)", row->unpinned.value);
    unsigned idle = c->allowed - used;
    evidence_set(row, ST_CAUSE_ONE_CORE,
                 "%s and %s share %u of their cores, using %.2f of CPU time a second together, while %u allowed here "
                 "idle%s%s: give each its own (--units)",
                 row->unit[0], row->unit[1], c->shared, share[ST_ARM_PARALLEL], idle, idle == 1 ? "s" : "", wander);
    return true;
}

static bool cause_oversubscription(st_probe_row *row) {
    const st_row_cores *c = &row->cores;
    unsigned allowed = c->allowed && c->allowed < c->cores ? c->allowed : c->cores;
    if (c->threads <= allowed) return false;
    evidence_set(row, ST_CAUSE_OVERSUBSCRIPTION, "%u runnable threads on %u allowed core%s", c->threads, allowed,
                 allowed == 1 ? "" : "s");
    return true;
}

/* Two units that share hardware threads, cores or the allowance of CPU time. */
static bool cause_cores(st_probe_row *row) {
    if (row->overlap.lo >= ST_OVERLAP_FULL || !row->cores.cores) return false;
    return cause_shared_core(row) || cause_one_core(row) || cause_oversubscription(row);
}

/* ---- queues, locks, engines ---- */

static bool cause_queueing(st_probe_row *row) {
    if (!row->one_unit || row->overlap_unit.hi >= ST_OVERLAP_THRESHOLD) return false;
    if (row->overlap.lo <= fmax(0, row->overlap_unit.hi)) return false;
    evidence_set(row, ST_CAUSE_QUEUEING,
                 "against solo times %.2f is gained, against one queue %.2f: what overlaps is a dispatch of %.3g ms",
                 row->overlap.value, row->overlap_unit.value, row->dispatch_ns / 1e6);
    return true;
}

/* The same two sides on the same cores, the second in a process of its own. */
static const st_probe_row *row_in_processes(const st_probe_record *record, const st_probe_row *row) {
    for (size_t i = 0; i < record->n_rows; i++) {
        const st_probe_row *other = &record->rows[i];
        if (!other->arrangement->processes || other->n_rounds == 0) continue;
        if (strcmp(other->name[0], row->name[0]) != 0 || strcmp(other->name[1], row->name[1]) != 0) continue;
        const char *colon = strchr(other->unit[1], ':');
        if (strcmp(other->unit[0], row->unit[0]) == 0 && colon && strcmp(colon + 1, row->unit[1]) == 0) return other;
    }
    return NULL;
}

static bool cause_process(st_probe_row *row, const st_probe_record *record) {
    if (row->one_unit || row->arrangement->processes || row->overlap.hi >= ST_OVERLAP_THRESHOLD) return false;
    const st_probe_row *apart = row_in_processes(record, row);
    if (!apart || apart->overlap.lo < ST_OVERLAP_THRESHOLD) return false;
    evidence_set(row, ST_CAUSE_PROCESS, "in one process the factor is %.2f, in two %.2f to %.2f", row->overlap.value,
                 apart->overlap.lo, apart->overlap.hi);
    return true;
}

typedef char tolerance_text[64];

/* How far off an end may be, where that is more than usual; returns out. */
static const char *tolerance_say(tolerance_text out, const st_probe_row *row) {
    out[0] = '\0';
    if (row->class_tolerance > ST_END_TOLERANCE)
        snprintf(out, sizeof(tolerance_text), ", give or take the %.0f %% that these times vary by",
                 100 * row->class_tolerance);
    return out;
}

static bool cause_fifo(st_probe_row *row) {
    size_t a_first = row->classes[ST_CLASS_A_FIRST], b_first = row->classes[ST_CLASS_B_FIRST], n = row->n_rounds;
    size_t both = a_first + b_first;
    if (2 * both < n) return false;
    unsigned last = a_first >= b_first; /* the side that mostly waits */
    size_t most = last ? a_first : b_first;
    tolerance_text within;
    if (10 * most >= 9 * both)
        evidence_set(row, ST_CAUSE_FIFO, "%s ends when %s + %s would, %s at its solo time, in %.0f %% of rounds%s",
                     row->name[last], row->name[0], row->name[1], row->name[!last], percent(most, n),
                     tolerance_say(within, row));
    else
        evidence_set(row, ST_CAUSE_FIFO,
                     "one ends at its solo time, the other at the sum: %s last in %.0f %% of rounds, %s in %.0f %%%s",
                     row->name[0], percent(b_first, n), row->name[1], percent(a_first, n), tolerance_say(within, row));
    return true;
}

/* One thread submits both, and the first step takes the core from it, say: a queue by its shape, but nobody waits in
 * one. Where most rounds are so, and lose by it most of what they lose. */
static bool cause_late(st_probe_row *row) {
    const st_account *late = &row->late;
    if (!late->known || 2 * row->n_skewed < row->n_rounds) return false;
    if (late->margin.lo <= 0 || late->seen.value >= ST_OVERLAP_FULL) return false;
    char others[64] = "";
    if (row->memory.known)
        snprintf(others, sizeof others, "; where both start together it is %.2f", row->memory.seen.value);
    evidence_set(
        row, ST_CAUSE_LATE,
        "in %.0f %% of rounds one side is submitted more than 5 %% of the shorter later than the other (median "
        "of all %.3g ms): that alone would leave them an overlap of %.2f, measured %.2f%s",
        percent(row->n_skewed, row->n_rounds), row->skew_ns / 1e6, late->factor.value, late->seen.value, others);
    return true;
}

/* Whether arithmetic runs side by side on the row's two units. */
static bool arithmetic_overlaps(const st_probe_row *row) {
    const st_control_result *compute = &row->controls[ST_CONTROL_COMPUTE];
    return compute->n_rounds > 0 && compute->overlap.value >= ST_OVERLAP_FULL;
}

/* Two units whose arithmetic runs side by side are not one engine: sharing all of the memory's bandwidth looks alike.
 */
static bool cause_sliced(st_probe_row *row) {
    size_t sliced = row->classes[ST_CLASS_SLICED];
    tolerance_text within;
    if (2 * sliced < row->n_rounds || arithmetic_overlaps(row)) return false;
    evidence_set(row, ST_CAUSE_TIME_SLICED,
                 "%s ends at twice its solo time, the other when both in a row would, in %.0f %% of rounds%s",
                 row->name[row->reference], percent(sliced, row->n_rounds), tolerance_say(within, row));
    return true;
}

/* ---- both stretched: memory, caches, clock ---- */

static bool stretched(const st_probe_row *row) {
    return row->slowdown[0] > 1 + ST_END_TOLERANCE && row->slowdown[1] > 1 + ST_END_TOLERANCE;
}

static double common_rate(const st_probe_row *row) {
    return st_common_rate((double[]){(double)row->bytes[0], (double)row->bytes[1]},
                          (double[]){row->median_ns[ST_ARM_SOLO_A], row->median_ns[ST_ARM_SOLO_B]}, row->slowdown);
}

/* Share of a side's time alone in which it reads as fast as the control. */
static double reading_percent(const st_probe_row *row, unsigned side) {
    return 100 * fmin(st_row_solo_rate(row, side) / row->controls[ST_CONTROL_BANDWIDTH].solo_rate[side], 1);
}

/* The bandwidth is reached, or what sharing it costs steps that read for a part of their time is most of what is lost:
 * one that reads in turns never reaches all of it. */
static bool cause_bandwidth(st_probe_row *row) {
    const st_control_result *bandwidth = &row->controls[ST_CONTROL_BANDWIDTH];
    const st_account *memory = &row->memory;
    if (!memory->known || !arithmetic_overlaps(row)) return false;
    double rate = common_rate(row);
    bool reached = stretched(row) && rate >= AT_BANDWIDTH * bandwidth->parallel_rate;
    if (!reached && (memory->margin.lo <= 0 || memory->seen.value >= ST_OVERLAP_FULL)) return false;
    evidence_set(row, ST_CAUSE_BANDWIDTH,
                 "together they read %.1f of the %.1f GB/s that streaming on both gives; reading takes %.2f and %.2f "
                 "times as long beside reading, and they read for %.0f and %.0f %% of their time: that would leave an "
                 "overlap of %.2f, measured %.2f; arithmetic alone overlaps %.2f",
                 rate, bandwidth->parallel_rate, bandwidth->slowdown[0], bandwidth->slowdown[1],
                 reading_percent(row, 0), reading_percent(row, 1), memory->factor.value, memory->seen.value,
                 row->controls[ST_CONTROL_COMPUTE].overlap.value);
    return true;
}

static bool cause_cache(st_probe_row *row) {
    const st_control_result *bandwidth = &row->controls[ST_CONTROL_BANDWIDTH];
    if (!row->memory.known || !row->has_warm || row->warm.value < ST_OVERLAP_FULL || row->warm_gain.lo <= 0)
        return false;
    evidence_set(row, ST_CAUSE_SHARED_CACHE,
                 "both are stretched though they read %.1f of %.1f GB/s only; with caches warm the same pair overlaps "
                 "%.2f",
                 common_rate(row), bandwidth->parallel_rate, row->warm.value);
    return true;
}

/* Whether arithmetic on registers, too, takes longer when both units work; *clock_drops: so does a chain of additions,
 * which takes as many cycles wherever it runs. */
static bool arithmetic_stretched(const st_probe_row *row, bool *clock_drops) {
    const st_control_result *compute = &row->controls[ST_CONTROL_COMPUTE];
    const st_control_result *clock = &row->controls[ST_CONTROL_CLOCK];
    if (!compute->n_rounds || !clock->n_rounds) return false;
    double alone = fmin(clock->solo_rate[0], clock->solo_rate[1]);
    *clock_drops = clock->parallel_rate < (1 - ST_END_TOLERANCE) * alone;
    return compute->slowdown[0] > 1 + ST_END_TOLERANCE && compute->slowdown[1] > 1 + ST_END_TOLERANCE;
}

static bool cause_clock(st_probe_row *row) {
    const st_control_result *compute = &row->controls[ST_CONTROL_COMPUTE];
    const st_control_result *clock = &row->controls[ST_CONTROL_CLOCK];
    bool drops;
    if (!arithmetic_stretched(row, &drops) || !drops) return false;
    evidence_set(row, ST_CAUSE_CLOCK,
                 "both are stretched, and so is arithmetic alone (%.2f and %.2f times); the cores' clock drops from "
                 "%.2f to %.2f GHz when both units work",
                 compute->slowdown[0], compute->slowdown[1], fmin(clock->solo_rate[0], clock->solo_rate[1]),
                 clock->parallel_rate);
    return true;
}

/* Two hardware threads of one core that the system shows as two cores, as it does to the guest of a hypervisor: what
 * keeps a core's arithmetic busy takes longer on both, at a clock that stays. */
static bool cause_hidden_core(st_probe_row *row) {
    bool drops;
    if (!stretched(row) || !arithmetic_stretched(row, &drops) || drops) return false;
    const st_control_result *compute = &row->controls[ST_CONTROL_COMPUTE];
    if (compute->overlap.hi >= ST_OVERLAP_FULL) return false;
    evidence_set(row, ST_CAUSE_SHARED_CORE,
                 "both are stretched, and so is arithmetic alone (%.2f and %.2f times), while the clock stays at %.2f "
                 "GHz: hardware threads of one core do that, though the system shows two",
                 compute->slowdown[0], compute->slowdown[1], row->controls[ST_CONTROL_CLOCK].parallel_rate);
    return true;
}

static bool cause_stretched(st_probe_row *row) {
    return cause_bandwidth(row) || (stretched(row) && (cause_cache(row) || cause_clock(row)));
}

static bool cause_true_overlap(st_probe_row *row) {
    size_t solo = row->classes[ST_CLASS_SOLO];
    bool medians = row->slowdown[0] <= 1 + ST_END_TOLERANCE && row->slowdown[1] <= 1 + ST_END_TOLERANCE;
    bool full = row->overlap.lo >= ST_OVERLAP_FULL || (row->overlap.value >= ST_OVERLAP_FULL && row->overlap.hi >= 1);
    if (2 * solo < row->n_rounds && !(medians && full)) return false;
    char rounds[64] = ""; /* those of a noisy row are off in one way or the other, its medians are not */
    if (2 * solo >= row->n_rounds)
        snprintf(rounds, sizeof rounds, "both end at their solo times in %.0f %% of rounds; ",
                 percent(solo, row->n_rounds));
    evidence_set(row, ST_CAUSE_TRUE_OVERLAP, "%sin the median %s takes %.2f times as long as alone, %s %.2f times",
                 rounds, row->name[0], row->slowdown[0], row->name[1], row->slowdown[1]);
    return true;
}

/* ---- the rest ---- */

static void controls_text(st_buf *out, const st_probe_row *row) {
    if (st_row_parallel_rate(row) > 0)
        st_buf_printf(out, "; together %.1f GB/s, alone %.1f and %.1f", st_row_parallel_rate(row),
                      st_row_solo_rate(row, 0), st_row_solo_rate(row, 1));
    const st_control_result *c = row->controls;
    if (c[ST_CONTROL_COMPUTE].n_rounds)
        st_buf_printf(out, "; arithmetic alone overlaps %.2f", c[ST_CONTROL_COMPUTE].overlap.value);
    if (c[ST_CONTROL_BANDWIDTH].n_rounds)
        st_buf_printf(out, ", reading alone %.2f", c[ST_CONTROL_BANDWIDTH].overlap.value);
    if (row->memory.known)
        st_buf_printf(out, ", sharing memory would leave %.2f of %.2f", row->memory.factor.value,
                      row->memory.seen.value);
    if (row->has_warm) st_buf_printf(out, ", the pair with caches warm %.2f", row->warm.value);
}

static void cause_unexplained(st_probe_row *row) {
    static const char *const told[ST_CLASS_COUNT] = {
        [ST_CLASS_SOLO] = "both end at their solo times",
        [ST_CLASS_A_FIRST] = "one ends at its solo time, the other at the sum",
        [ST_CLASS_B_FIRST] = "one ends at its solo time, the other at the sum",
        [ST_CLASS_SLICED] = "the shorter ends at twice its solo time",
        [ST_CLASS_STRETCHED] = "both are stretched",
        [ST_CLASS_WORSE] = "the last ends later than both in a row would",
        [ST_CLASS_OTHER] = "the completion times fit no pattern",
    };
    size_t top = 0;
    for (size_t i = 1; i < ST_CLASS_COUNT; i++)
        if (row->classes[i] > row->classes[top]) top = i;
    st_buf rest = {0};
    controls_text(&rest, row);
    evidence_set(row, ST_CAUSE_UNEXPLAINED,
                 "%s in %.0f %% of rounds; %s takes %.2f times as long as alone, %s %.2f times%s", told[top],
                 percent(row->classes[top], row->n_rounds), row->name[0], row->slowdown[0], row->name[1],
                 row->slowdown[1], rest.data && !rest.failed ? rest.data : "");
    st_buf_free(&rest);
}

/* A call that mostly reads costs about the same for a few tokens: that is what a batch gains by. Of a single call that
 * reads for a share of its time, k in one that reads once save that share of each but the first. */
static void cause_batch(st_probe_row *row) {
    double ns[2] = {row->median_ns[ST_ARM_SOLO_A], row->median_ns[ST_ARM_BATCHED]}, reads[2], does[2];
    const st_account *memory = &row->memory;
    for (unsigned i = 0; i < 2; i++) {
        reads[i] = (double)row->bytes[i] / ns[i];
        does[i] = (double)row->operations[i] / ns[i];
    }
    char gain[80] = "";
    if (memory->known)
        snprintf(gain, sizeof gain, "; reading once alone would gain %.2f, measured %.2f", memory->factor.value,
                 row->overlap.value);
    double reached = row->controls[ST_CONTROL_BANDWIDTH].n_rounds ? row->controls[ST_CONTROL_BANDWIDTH].solo_rate[0]
                                                                  : row->peak_gb_per_s;
    if (memory->known && memory->margin.lo > 0 && row->overlap.lo >= ST_OVERLAP_THRESHOLD)
        evidence_set(row, ST_CAUSE_READ_ONCE,
                     "one token reads %.1f of the %.1f GB/s that streaming gives, so that reading once alone would "
                     "gain %.2f, measured %.2f; %u in one call read %.1f GB/s and do %.1f Gmac/s, one does %.1f",
                     reads[0], reached, memory->factor.value, row->overlap.value, row->k, reads[1], does[1], does[0]);
    else
        evidence_set(row, ST_CAUSE_UNEXPLAINED,
                     "%u single calls take %.3g ms, one call of %u tokens %.3g; %.1f GB/s alone, %.1f in one call%s",
                     row->k, row->median_ns[ST_ARM_SERIAL] / 1e6, row->k, ns[1] / 1e6, reads[0], reads[1], gain);
}

void st_cause_set(st_probe_row *row, const st_probe_record *record) {
    if (row->k) {
        cause_batch(row);
        return;
    }
    st_classes_count(row);
    if (cause_cores(row) || cause_queueing(row) || cause_process(row, record) || cause_late(row) || cause_fifo(row) ||
        cause_hidden_core(row) || cause_sliced(row) || cause_stretched(row) || cause_true_overlap(row))
        return;
    cause_unexplained(row);
}

bool st_cause_wants_warm(const st_probe_row *row) {
    return row->cause == ST_CAUSE_UNEXPLAINED && !row->k && !row->one_unit && row->n_rounds > 0 && stretched(row) &&
           row->arrangement->submit == ST_SUBMIT_TWO_THREADS;
}

bool st_cause_wants_unpinned(const st_probe_row *row) {
    const st_row_cores *c = &row->cores;
    return !row->k && !row->one_unit && row->n_rounds > 0 && row->overlap.lo < ST_OVERLAP_FULL && c->cores > 0 &&
           c->shared > 0 && c->allowed > c->cores;
}
