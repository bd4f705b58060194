/* SPDX-License-Identifier: MIT
 * A step is in part reading memory, in part something else. What reading costs alone and beside reading is measured in
 * the same round with steps that only read, so the round itself says what the memory that both share would make of the
 * pair; set against what was seen, it is the cause or it is not. */
#include "probe/account.h"

#include "base/error.h"
#include "base/mem.h"
#include "probe/probe.h"

#include <math.h>
#include <string.h>

#define LARGER_PART 0.5
#define SETTLE 32 /* steps to where both sides' shares fit each other; each halves the distance, or more */

/* ---- the model ---- */

/* Reading alone for a share u of the time of the other: the mean of its speed over the two states. */
static double reading_stretch(double slow, double other_reads) {
    return 1 / (1 - other_reads + other_reads / slow);
}

/* How many times as long each side takes while both run. */
static void stretch(const double reading[2], const double slow[2], double out[2]) {
    double reads[2] = {reading[0], reading[1]}; /* share of the time in which each reads, beside the other */
    for (unsigned step = 0; step < SETTLE; step++)
        for (unsigned i = 0; i < 2; i++) {
            double times = reading_stretch(slow[i], reads[!i]);
            out[i] = 1 + reading[i] * (times - 1);
            reads[i] = reading[i] * times / out[i];
        }
}

double st_account_memory(const double solo[2], const double reading[2], const double slow[2], const double behind[2],
                         unsigned reference) {
    double times[2], left[2] = {solo[0], solo[1]};
    stretch(reading, slow, times);
    unsigned early = behind[1] >= behind[0] ? 0 : 1;
    double alone = fmin(behind[!early], left[early]), now = behind[!early];
    left[early] -= alone;
    unsigned first = left[1] * times[1] < left[0] * times[0];
    double both = left[first] * times[first];
    double end = now + both + left[!first] - both / times[!first];
    return (solo[0] + solo[1] - end) / solo[reference];
}

/* ---- of a round ---- */

typedef double (*account_fn)(const st_probe_row *row, const st_round *round); /* NAN: not known in this round */

static double ratio(uint64_t a, uint64_t b) {
    return (double)a / (double)b;
}

static double solo_ns(const st_round *round, unsigned side) {
    return (double)round->arms[side ? ST_ARM_SOLO_B : ST_ARM_SOLO_A].wall_ns;
}

/* Share of the side's time alone in which it reads as fast as the control does, or as its unit's peak. */
static double reading_share(const st_probe_row *row, const st_round *round, unsigned side) {
    const st_beside_sample *control = &round->beside[ST_CONTROL_BANDWIDTH];
    double rate = control->solo_ns[side] ? row->work[ST_CONTROL_BANDWIDTH][side] / (double)control->solo_ns[side]
                                         : row->peak_gb_per_s;
    if (!row->bytes[side] || !(rate > 0)) return NAN;
    return fmin((double)row->bytes[side] / rate / solo_ns(round, side), 1);
}

static double batch_factor(const st_probe_row *row, const st_round *round) {
    return reading_share(row, round, 0);
}

static bool is_late(const st_probe_row *row, const st_round *round) {
    return (double)round->arms[ST_ARM_PARALLEL].skew_ns > ST_SKEW_LIMIT * solo_ns(round, row->reference);
}

static double memory_factor(const st_probe_row *row, const st_round *round) {
    const st_beside_sample *c = &round->beside[ST_CONTROL_BANDWIDTH];
    if (!c->solo_ns[0] || is_late(row, round)) return NAN;
    double reading[2], solo[2], slow[2], none[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        solo[i] = solo_ns(round, i);
        reading[i] = reading_share(row, round, i);
        slow[i] = ratio(c->end_ns[i], c->solo_ns[i]);
        if (isnan(reading[i])) return NAN;
    }
    return st_account_memory(solo, reading, slow, none, row->reference);
}

static double late_factor(const st_probe_row *row, const st_round *round) {
    const st_sample *both = &round->arms[ST_ARM_PARALLEL];
    if (!is_late(row, round)) return NAN;
    const double solo[2] = {solo_ns(round, 0), solo_ns(round, 1)}, slow[2] = {1, 1}, none[2] = {0, 0};
    double behind[2] = {0, 0};
    behind[both->second] = (double)both->skew_ns;
    return st_account_memory(solo, none, slow, behind, row->reference);
}

/* What is accounted for less half of what there is to account for: what the two lose, or what the batch gains. */
static double lost_margin(const st_probe_row *row, const st_round *round, double factor) {
    return 1 - factor - LARGER_PART * (1 - st_round_overlap(row, round));
}
static double memory_margin(const st_probe_row *row, const st_round *round) {
    return lost_margin(row, round, memory_factor(row, round));
}
static double late_margin(const st_probe_row *row, const st_round *round) {
    return lost_margin(row, round, late_factor(row, round));
}
static double batch_margin(const st_probe_row *row, const st_round *round) {
    return batch_factor(row, round) - LARGER_PART * st_round_overlap(row, round);
}

static uint64_t beside_last(const st_beside_sample *s) {
    return s->end_ns[0] > s->end_ns[1] ? s->end_ns[0] : s->end_ns[1];
}

/* Its overlap factor, relative to one of its sides. */
static double beside_overlap(const st_beside_sample *s, unsigned reference) {
    return ((double)(s->solo_ns[0] + s->solo_ns[1]) - (double)beside_last(s)) / (double)s->solo_ns[reference];
}

static double warm_factor(const st_probe_row *row, const st_round *round) {
    const st_beside_sample *w = &round->beside[ST_BESIDE_WARM];
    return w->solo_ns[0] ? beside_overlap(w, row->reference) : NAN;
}
static double warm_gain(const st_probe_row *row, const st_round *round) {
    return warm_factor(row, round) - st_round_overlap(row, round);
}

/* ---- of a row ---- */

typedef struct account {
    const st_estimate_options *options;
    double *values; /* room for one of each round */
    unsigned *process;
} account;

/* The interval over the rounds in which `where` is known; *n is how many these are. */
static int interval_of(account *a, const st_probe_row *row, account_fn fn, account_fn where, st_interval *out,
                       size_t *n, stretto_error *err) {
    *n = 0;
    for (size_t i = 0; i < row->n_rounds; i++) {
        if (isnan(where(row, &row->rounds[i]))) continue;
        double value = fn(row, &row->rounds[i]);
        a->values[*n] = value;
        a->process[(*n)++] = row->rounds[i].process;
    }
    return *n ? st_estimate_interval(a->values, a->process, *n, a->options, out, err) : STRETTO_OK;
}

static int account_of(account *a, const st_probe_row *row, account_fn factor, account_fn margin, st_account *out,
                      stretto_error *err) {
    size_t n;
    *out = (st_account){0};
    int code = interval_of(a, row, factor, factor, &out->factor, &n, err);
    if (code == STRETTO_OK && n) code = interval_of(a, row, margin, factor, &out->margin, &n, err);
    if (code == STRETTO_OK && n) code = interval_of(a, row, st_round_overlap, factor, &out->seen, &n, err);
    out->known = n > 0 && code == STRETTO_OK;
    return code;
}

/* ---- controls ---- */

/* A number of a control in one round; side, or the side that it is relative to. */
typedef double (*sample_fn)(const st_beside_sample *s, unsigned side);
static double sample_solo(const st_beside_sample *s, unsigned side) {
    return (double)s->solo_ns[side];
}
static double sample_last(const st_beside_sample *s, unsigned side) {
    (void)side;
    return (double)beside_last(s);
}
static double sample_slowdown(const st_beside_sample *s, unsigned side) {
    return ratio(s->end_ns[side], s->solo_ns[side]);
}

/* Values of the rounds that hold this control. */
static size_t control_column(account *a, const st_probe_row *row, unsigned kind, sample_fn fn, unsigned side) {
    size_t n = 0;
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_beside_sample *s = &row->rounds[i].beside[kind];
        if (!s->solo_ns[0]) continue;
        a->values[n] = fn(s, side);
        a->process[n++] = row->rounds[i].process;
    }
    return n;
}

/* There is one at least. */
static double control_median(account *a, const st_probe_row *row, unsigned kind, sample_fn fn, unsigned side) {
    return st_median(a->values, control_column(a, row, kind, fn, side));
}

static void control_rates(const st_probe_row *row, unsigned kind, st_control_result *out) {
    const double *work = row->work[kind];
    for (unsigned i = 0; i < 2 && out->solo_ns[i] > 0; i++) out->solo_rate[i] = work[i] / out->solo_ns[i];
    if (row->k) return;
    out->parallel_rate = kind == ST_CONTROL_CLOCK
                             ? fmin(out->solo_rate[0] / out->slowdown[0], out->solo_rate[1] / out->slowdown[1])
                             : st_common_rate(work, out->solo_ns, out->slowdown);
}

static int control_of(account *a, const st_probe_row *row, unsigned kind, st_control_result *out, stretto_error *err) {
    *out = (st_control_result){.n_rounds = control_column(a, row, kind, sample_solo, 0)};
    if (out->n_rounds == 0) return STRETTO_OK;
    int code = STRETTO_OK;
    for (unsigned i = 0; i < (row->k ? 1 : 2); i++) out->solo_ns[i] = control_median(a, row, kind, sample_solo, i);
    if (!row->k) {
        for (unsigned i = 0; i < 2; i++) out->slowdown[i] = control_median(a, row, kind, sample_slowdown, i);
        out->parallel_ns = control_median(a, row, kind, sample_last, 0);
        control_column(a, row, kind, beside_overlap, out->solo_ns[1] < out->solo_ns[0]);
        code = st_estimate_interval(a->values, a->process, out->n_rounds, a->options, &out->overlap, err);
    }
    control_rates(row, kind, out);
    return code;
}

/* ---- all of it ---- */

static int account_open(account *a, size_t n_rounds, const st_estimate_options *options, stretto_error *err) {
    *a = (account){.options = options,
                   .values = st_alloc(n_rounds, sizeof *a->values),
                   .process = st_alloc(n_rounds, sizeof *a->process)};
    return a->values && a->process ? STRETTO_OK : st_fail_memory(err, "an estimate", n_rounds * sizeof *a->values);
}

static void account_close(account *a) {
    st_free(a->values);
    st_free(a->process);
}

static int controls_of(account *a, st_probe_row *row, stretto_error *err) {
    int code = STRETTO_OK;
    for (unsigned kind = 0; kind < ST_CONTROL_COUNT && code == STRETTO_OK; kind++)
        code = control_of(a, row, kind, &row->controls[kind], err);
    return code;
}

static int warm_of(account *a, st_probe_row *row, stretto_error *err) {
    size_t n;
    if (!(row->beside & 1u << ST_BESIDE_WARM)) return STRETTO_OK;
    int code = interval_of(a, row, warm_factor, warm_factor, &row->warm, &n, err);
    if (code == STRETTO_OK && n) code = interval_of(a, row, warm_gain, warm_factor, &row->warm_gain, &n, err);
    row->has_warm = n > 0 && code == STRETTO_OK;
    return code;
}

int st_account_row(st_probe_row *row, const st_estimate_options *options, stretto_error *err) {
    account a;
    int code = account_open(&a, row->n_rounds, options, err);
    if (code == STRETTO_OK) code = controls_of(&a, row, err);
    if (code == STRETTO_OK && !row->one_unit)
        code = account_of(&a, row, row->k ? batch_factor : memory_factor, row->k ? batch_margin : memory_margin,
                          &row->memory, err);
    if (code == STRETTO_OK && !row->one_unit && !row->k)
        code = account_of(&a, row, late_factor, late_margin, &row->late, err);
    if (code == STRETTO_OK) code = warm_of(&a, row, err);
    account_close(&a);
    return code;
}

/* ---- pairs of units ---- */

static bool has_controls(const st_probe_row *row) {
    return !row->k && row->n_rounds > 0 && row->beside;
}

static bool same_units(const st_probe_row *a, const st_probe_row *b) {
    return memcmp(a->unit, b->unit, sizeof a->unit) == 0;
}

/* The rounds of all rows on the units of row `first`, which is the first of them. */
static int unit_pair_of(const st_probe_record *record, size_t first, const st_estimate_options *options,
                        st_unit_pair *out, stretto_error *err) {
    const st_probe_row *own = &record->rows[first];
    st_probe_row all = {.n_rounds = 0, .beside = own->beside};
    size_t n = 0;
    memcpy(all.work, own->work, sizeof all.work);
    memcpy(out->unit, own->unit, sizeof out->unit);
    for (size_t i = first; i < record->n_rows; i++)
        if (has_controls(&record->rows[i]) && same_units(&record->rows[i], own)) n += record->rows[i].n_rounds;
    all.rounds = st_alloc(n, sizeof *all.rounds);
    if (!all.rounds) return st_fail_memory(err, "the units' controls", n * sizeof *all.rounds);
    for (size_t i = first; i < record->n_rows; i++) {
        const st_probe_row *row = &record->rows[i];
        if (!has_controls(row) || !same_units(row, own)) continue;
        memcpy(all.rounds + all.n_rounds, row->rounds, row->n_rounds * sizeof *row->rounds);
        all.n_rounds += row->n_rounds;
    }
    account a;
    int code = account_open(&a, n, options, err);
    if (code == STRETTO_OK) code = controls_of(&a, &all, err);
    if (code == STRETTO_OK) memcpy(out->controls, all.controls, sizeof out->controls);
    account_close(&a);
    st_free(all.rounds);
    return code;
}

static bool is_first(const st_probe_record *record, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (has_controls(&record->rows[i]) && same_units(&record->rows[i], &record->rows[index])) return false;
    return has_controls(&record->rows[index]);
}

int st_account_record(st_probe_record *record, unsigned resamples, stretto_error *err) {
    st_free(record->unit_pairs);
    record->n_unit_pairs = 0;
    record->unit_pairs = st_alloc(record->n_rows, sizeof *record->unit_pairs);
    if (!record->unit_pairs) return st_fail_memory(err, "the units' controls", record->n_rows * sizeof(st_unit_pair));
    int code = STRETTO_OK;
    for (size_t i = 0; i < record->n_rows && code == STRETTO_OK; i++) {
        st_probe_row *row = &record->rows[i];
        const st_estimate_options options = {.level = row->level, .resamples = resamples, .seed = record->seed + i};
        if (row->n_rounds == 0) continue;
        code = st_account_row(row, &options, err);
        if (code == STRETTO_OK && is_first(record, i))
            code = unit_pair_of(record, i, &options, &record->unit_pairs[record->n_unit_pairs++], err);
    }
    return code;
}
