/* SPDX-License-Identifier: MIT */
#include "stretto/probe.h"

#include "api/api.h"
#include "api/chain.h"
#include "base/error.h"
#include "probe/probe.h"

#include <stdio.h>
#include <string.h>

/* A probe of one pair: what the inner one calls back, and when it shall end. */
typedef struct probing {
    const stretto_probe_options *options;
    atomic_bool cancel;
    st_chain *chain; /* of chunks: whose weights pass through the caches, except those of the two */
    uint32_t chunks[2];
    uint64_t evict_bytes;
} probing;

static void on_progress(void *arg, const st_probe_progress *progress) {
    probing *p = arg;
    const stretto_probe_options *o = p->options;
    if (o->progress && o->progress(o->progress_arg, progress->rounds, progress->expected))
        atomic_store(&p->cancel, true);
}

static void evict_by_caller(void *arg, const st_probe_job *job) {
    (void)job;
    const stretto_probe_options *o = ((probing *)arg)->options;
    o->evict(o->evict_arg);
}

static void evict_by_weights(void *arg, const st_probe_job *job) {
    (void)job;
    const probing *p = arg;
    st_chain_stream_weights(p->chain, p->chunks, 2, p->evict_bytes);
}

static uint64_t boot_now(void *arg) {
    (void)arg;
    return st_boot_ns();
}

/* ---- results ---- */

static stretto_interval interval_of(const st_interval *i) {
    return (stretto_interval){.value = i->value, .lo = i->lo, .hi = i->hi};
}

static enum stretto_overlap overlap_of(enum st_overlap verdict) {
    switch (verdict) {
    case ST_OVERLAP_INTERFERES:
        return STRETTO_OVERLAP_INTERFERES;
    case ST_OVERLAP_SERIALISES:
        return STRETTO_OVERLAP_SERIALISES;
    case ST_OVERLAP_OVERLAPS:
        return STRETTO_OVERLAP_OVERLAPS;
    case ST_OVERLAP_UNDECIDED:
        break;
    }
    return STRETTO_OVERLAP_UNDECIDED;
}

static void copy_numbers(stretto_probe_result *out, const st_probe_row *row) {
    out->solo_a_ns = row->median_ns[ST_ARM_SOLO_A];
    out->solo_b_ns = row->median_ns[ST_ARM_SOLO_B];
    out->serial_ns = row->median_ns[ST_ARM_SERIAL];
    out->parallel_ns = row->median_ns[ST_ARM_PARALLEL];
    out->overlap_factor = interval_of(&row->overlap);
    out->overlap_factor_serial = interval_of(&row->overlap_serial);
    if (row->one_unit) {
        out->queued_ns = row->median_ns[ST_ARM_QUEUED];
        out->overlap_factor_unit = interval_of(&row->overlap_unit);
    }
    out->speedup = interval_of(&row->speedup);
    out->slowdown_a = row->slowdown[0];
    out->slowdown_b = row->slowdown[1];
    out->overlap = overlap_of(row->verdict);
}

static void copy_result(stretto_probe_result *out, const st_probe_record *record) {
    memset(out, 0, sizeof *out);
    if (record->warnings.data) snprintf(out->warnings, sizeof out->warnings, "%s", record->warnings.data);
    if (record->n_rows == 0) return;
    const st_probe_row *row = &record->rows[0];
    snprintf(out->arrangement, sizeof out->arrangement, "%s", row->arrangement->name);
    snprintf(out->unit_a, sizeof out->unit_a, "%s", row->unit[0]);
    snprintf(out->unit_b, sizeof out->unit_b, "%s", row->unit[1]);
    snprintf(out->cause, sizeof out->cause, "%s", st_cause_name(row->cause));
    snprintf(out->evidence, sizeof out->evidence, "%s", row->evidence);
    out->rounds = row->n_rounds;
    out->rounds_needed = row->rounds_needed == ST_ROUNDS_NEVER ? STRETTO_ROUNDS_NEVER : row->rounds_needed;
    if (row->n_rounds) copy_numbers(out, row);
}

/* ---- running ---- */

static const char *arrangement_name(bool one_unit, bool one_thread) {
    return one_thread ? "async" : one_unit ? "one-unit" : "two-units";
}

/* Of a probe of which nobody said how long: an interval that is narrow enough may take more than anybody waits for. */
#define DEFAULT_SECONDS 12

static uint64_t budget_ns(const stretto_probe_options *o) {
    if (o->seconds > 0) return (uint64_t)(o->seconds * 1e9);
    return o->rounds ? 0 : (uint64_t)DEFAULT_SECONDS * 1000000000;
}

static int probe_pair(stretto_probe_result *result, probing *p, const st_step *const step[2],
                      stretto_unit *const unit[2], bool chain, stretto_error *err) {
    const stretto_probe_options *o = p->options;
    bool one = unit[0] == unit[1];
    st_unit *units[2] = {unit[0]->unit, unit[1]->unit};
    const st_step *on_a[2] = {step[0], NULL}, *on_b[2] = {one ? step[1] : NULL, step[1]};
    st_probe_side sides[2] = {{.name = step[0]->name, .steps = on_a}, {.name = step[1]->name, .steps = on_b}};
    st_probe_job job = {.arrangement = st_arrangement_find(arrangement_name(one, o->one_thread), err),
                        .side = {0, 1},
                        .unit = {0, one ? 0 : 1},
                        .chain = chain};
    bool streams = p->chain && !o->warm, called = !p->chain && o->evict;
    st_clock boot = {.now = boot_now};
    const stretto_unit *host = unit[0]->has_host ? unit[0] : unit[1];
    st_probe_setup setup = {.title = "a pair of steps",
                            .sides = sides,
                            .n_sides = 2,
                            .units = units,
                            .n_units = one ? 1 : 2,
                            .jobs = &job,
                            .n_jobs = 1,
                            .evict = streams  ? evict_by_weights
                                     : called ? evict_by_caller
                                              : NULL,
                            .evict_arg = p,
                            .clock = st_clock_real(),
                            .boot = &boot,
                            .host = host->has_host ? &host->host : NULL,
                            .seed = o->seed,
                            .limits = {.rounds = o->rounds, .precision = o->precision, .budget_ns = budget_ns(o)},
                            .cancel = &p->cancel,
                            .progress = on_progress,
                            .progress_arg = p};
    st_probe_record record = {0};
    int code = st_probe_run(&setup, &record, err);
    copy_result(result, &record);
    st_probe_record_free(&record);
    return code;
}

static int check_options(const stretto_probe_options *o, stretto_error *err) {
    if (!(o->seconds >= 0 && o->seconds < 1e9))
        return st_fail(err, STRETTO_E_USAGE, "a probe of %g seconds, wanted 0 (the default) or more", o->seconds);
    if (!(o->precision >= 0 && o->precision < 10))
        return st_fail(err, STRETTO_E_USAGE, "a precision of %g, wanted 0 (0.04) or more", o->precision);
    return STRETTO_OK;
}

static int check_side(const stretto_probe_side *side, char name, stretto_error *err) {
    if (side->step && side->unit) return STRETTO_OK;
    return st_fail(err, STRETTO_E_USAGE, "side %c has no %s", name, side->step ? "unit" : "step");
}

int stretto_probe_steps(stretto_probe_result *result, const stretto_probe_side *a, const stretto_probe_side *b,
                        const stretto_probe_options *options, stretto_error *err) {
    static const stretto_probe_options defaults;
    probing p = {.options = options ? options : &defaults};
    memset(result, 0, sizeof *result);
    int code = check_options(p.options, err);
    if (!code) code = check_side(a, 'a', err);
    if (!code) code = check_side(b, 'b', err);
    if (code) return code;
    st_step steps[2] = {st_api_step(a->step), st_api_step(b->step)};
    const st_step *const pair[2] = {&steps[0], &steps[1]};
    stretto_unit *const units[2] = {a->unit, b->unit};
    return probe_pair(result, &p, pair, units, false, err);
}

static int check_chunks(const stretto_chain *chain, size_t a, size_t b, stretto_error *err) {
    size_t n = stretto_chain_n_chunks(chain);
    if (a >= n || b >= n)
        return st_fail(err, STRETTO_E_USAGE, "no chunk %zu: the chain has %zu (0 to %zu)", a >= n ? a : b, n, n - 1);
    if (a == b) return st_fail(err, STRETTO_E_USAGE, "chunk %zu is on both sides: a pair needs two", a);
    return STRETTO_OK;
}

static int make_step(st_chunk_step **out, const stretto_chain *chain, uint32_t i, const stretto_unit *unit,
                     stretto_error *err) {
    static const int32_t ids[2] = {0, 0}; /* a decode step of token 0 at position 1 */
    st_unit_info info;
    st_unit_info_get(unit->unit, &info);
    if (!info.shares_memory)
        return st_fail(err, STRETTO_E_USAGE,
                       "unit %s does not share memory with the host, so chunk %s cannot run there", info.name,
                       st_chain_chunk(chain->chain, i)->name);
    return st_chunk_step_create(out, chain->chain, i, ids, 2, 1, info.n_threads, err);
}

int stretto_probe_chunks(stretto_probe_result *result, stretto_chain *chain, size_t a, size_t b, stretto_unit *on_a,
                         stretto_unit *on_b, const stretto_probe_options *options, stretto_error *err) {
    static const stretto_probe_options defaults;
    probing p = {.options = options ? options : &defaults, .chain = chain->chain, .chunks = {(uint32_t)a, (uint32_t)b}};
    memset(result, 0, sizeof *result);
    int code = check_options(p.options, err);
    if (!code) code = check_chunks(chain, a, b, err);
    if (code) return code;
    stretto_unit *const units[2] = {on_a ? on_a : chain->units[a], on_b ? on_b : chain->units[b]};
    p.evict_bytes = units[0]->has_host ? 2 * (uint64_t)units[0]->host.llc_bytes : 0;
    st_chunk_step *steps[2] = {NULL, NULL};
    code = make_step(&steps[0], chain, (uint32_t)a, units[0], err);
    if (!code) code = make_step(&steps[1], chain, (uint32_t)b, units[1], err);
    if (!code) {
        const st_step *const pair[2] = {st_chunk_step_get(steps[0]), st_chunk_step_get(steps[1])};
        code = probe_pair(result, &p, pair, units, true, err);
    }
    st_chunk_step_free(steps[1]);
    st_chunk_step_free(steps[0]);
    return code;
}
