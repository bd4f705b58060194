/* SPDX-License-Identifier: MIT */
#include "spike.h"

#include "base/error.h"
#include "probe/pair.h"

#include <stdio.h>
#include <string.h>

static const enum st_arm order[] = {ST_ARM_SOLO_A, ST_ARM_SOLO_B, ST_ARM_SERIAL, ST_ARM_PARALLEL};
#define N_ARMS (sizeof order / sizeof *order)
#define RESAMPLES 2000

int spike_pair(const session *s, uint32_t *a, uint32_t *b, stretto_error *err) {
    if (s->n_chunks < 2) {
        return st_fail(err, STRETTO_E_USAGE, "the spike needs two chunks, this split has one; --chunks 4 makes four");
    }
    *a = 1;
    *b = s->n_chunks < 3 ? 2 : 3;
    return STRETTO_OK;
}

static double median_ms(const uint64_t *ns) {
    double x[SPIKE_TRIALS];
    for (unsigned i = 0; i < SPIKE_TRIALS; i++) x[i] = (double)ns[i] / 1e6;
    return st_median(x, SPIKE_TRIALS);
}

/* The factor of the medians, as in the original, with the bootstrap interval of the factors of single trials. */
static int estimate(const spike_trials *t, bool serial, st_interval *out, stretto_error *err) {
    const double *ms = t->ms;
    bool a_shorter = ms[ST_ARM_SOLO_A] <= ms[ST_ARM_SOLO_B];
    double both = serial ? ms[ST_ARM_SERIAL] : ms[ST_ARM_SOLO_A] + ms[ST_ARM_SOLO_B];
    double x[SPIKE_TRIALS];
    for (unsigned i = 0; i < SPIKE_TRIALS; i++) {
        double a = (double)t->ns[ST_ARM_SOLO_A][i], b = (double)t->ns[ST_ARM_SOLO_B][i];
        double sum = serial ? (double)t->ns[ST_ARM_SERIAL][i] : a + b;
        x[i] = (sum - (double)t->ns[ST_ARM_PARALLEL][i]) / (a_shorter ? a : b);
    }
    st_rng rng;
    st_rng_seed(&rng, 1);
    int rc = st_bootstrap_median(x, SPIKE_TRIALS, 0.95, RESAMPLES, &rng, out, err);
    if (!rc) out->value = (both - ms[ST_ARM_PARALLEL]) / ms[a_shorter ? ST_ARM_SOLO_A : ST_ARM_SOLO_B];
    return rc;
}

static int run_trials(st_pair *pair, const cli *cx, spike_trials *t, stretto_error *err) {
    for (unsigned k = 0; k < N_ARMS; k++) {
        for (unsigned i = 0; i < SPIKE_TRIALS; i++) {
            if (cli_stopped(cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted in the spike's trials");
            st_sample sample;
            int rc = st_pair_time(pair, order[k], &sample, err);
            if (rc) return rc;
            t->ns[order[k]][i] = sample.wall_ns;
        }
        t->ms[order[k]] = median_ms(t->ns[order[k]]);
    }
    int rc = estimate(t, false, &t->factor, err);
    return rc ? rc : estimate(t, true, &t->factor_serial, err);
}

/* Both steps as sides of a probe on one unit or two. */
static int probe_steps(session *s, const st_step *step_a, const st_step *step_b, spike_trials *t, stretto_error *err) {
    st_unit *units[2] = {s->unit_of[t->a - 1], s->unit_of[t->b - 1]};
    bool one = units[0] == units[1];
    const st_step *on_a[2] = {step_a, NULL}, *on_b[2] = {one ? step_b : NULL, step_b};
    st_probe_side sides[2] = {{.name = "a", .steps = on_a}, {.name = "b", .steps = on_b}};
    const st_arrangement *arrangement = st_arrangement_find(one ? "one-unit" : "two-units", err);
    if (!arrangement) return err->code;
    st_probe_job job = {.arrangement = arrangement, .side = {0, 1}, .unit = {0, one ? 0 : 1}, .chain = true};
    st_probe_setup setup = {.sides = sides, .n_sides = 2, .units = units, .n_units = one ? 1 : 2, .jobs = &job, .n_jobs = 1,
                            .clock = st_clock_real()};
    st_pair pair;
    int rc = st_pair_open(&pair, &setup, &job, err);
    if (rc) return rc;
    rc = run_trials(&pair, s->cx, t, err);
    st_pair_close(&pair);
    return rc;
}

static void unit_name(char *out, size_t size, const st_unit *unit) {
    st_unit_info info;
    st_unit_info_get(unit, &info);
    snprintf(out, size, "%s", info.name);
}

int spike_probe(session *s, spike_trials *t, stretto_error *err) {
    static const int32_t ids[2] = {0, 0}; /* a decode step of token 0 at position 1 */
    *t = (spike_trials){0};
    int rc = spike_pair(s, &t->a, &t->b, err);
    if (rc) return rc;
    unit_name(t->unit_a, sizeof t->unit_a, s->unit_of[t->a - 1]);
    unit_name(t->unit_b, sizeof t->unit_b, s->unit_of[t->b - 1]);
    st_chunk_step *a = NULL, *b = NULL;
    rc = st_chunk_step_create(&a, s->chain, t->a - 1, ids, 2, 1, 0, err);
    if (!rc) rc = st_chunk_step_create(&b, s->chain, t->b - 1, ids, 2, 1, 0, err);
    if (!rc) rc = probe_steps(s, st_chunk_step_get(a), st_chunk_step_get(b), t, err);
    st_chunk_step_free(b);
    st_chunk_step_free(a);
    return rc;
}

int spike_prewarm(session *s, stretto_error *err) {
    static const int32_t id = 0;
    int rc = st_chain_forward(s->chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
    st_chain_reset(s->chain);
    return rc;
}

void spike_lines(st_buf *out, const spike_trials *t, const char *prefix) {
    for (unsigned k = 0; k < N_ARMS; k++) {
        st_buf_printf(out, "%s%s ms:", prefix, st_arm_name(order[k]));
        for (unsigned i = 0; i < SPIKE_TRIALS; i++) st_buf_printf(out, " %.3f", (double)t->ns[order[k]][i] / 1e6);
        st_buf_text(out, "\n");
    }
    st_buf_printf(out, "%sc%u %.3f ms, c%u %.3f ms, serial both %.3f ms, parallel %.3f ms (medians of %d, caches warm)\n", prefix,
                  t->a, t->ms[ST_ARM_SOLO_A], t->b, t->ms[ST_ARM_SOLO_B], t->ms[ST_ARM_SERIAL], t->ms[ST_ARM_PARALLEL],
                  SPIKE_TRIALS);
    st_buf_printf(out, "%soverlap factor %.2f (%.2f to %.2f); with the measured serial time %.2f (%.2f to %.2f)\n", prefix,
                  t->factor.value, t->factor.lo, t->factor.hi, t->factor_serial.value, t->factor_serial.lo, t->factor_serial.hi);
}

int spike_in_run(session *s, stretto_error *err) {
    stretto_error reason;
    uint32_t a, b;
    if (spike_pair(s, &a, &b, &reason)) {
        st_warn(&s->cx->log, "CHUNK_PIPELINE_SPIKE=1: %s", reason.text);
        return STRETTO_OK;
    }
    int rc = spike_prewarm(s, err);
    if (rc) return rc;
    spike_trials trials;
    rc = spike_probe(s, &trials, err);
    st_chain_reset(s->chain);
    if (rc) return rc;
    st_buf lines = {0};
    st_buf_printf(&lines, "[Spike] chunk%u on %s || chunk%u on %s: %d trials each, one queue for each chunk\n", trials.a,
                  trials.unit_a, trials.b, trials.unit_b, SPIKE_TRIALS);
    spike_lines(&lines, &trials, "[Spike] ");
    rc = lines.failed ? st_fail_memory(err, "the spike's lines", lines.len) : STRETTO_OK;
    if (!rc) fwrite(lines.data, 1, lines.len, stderr);
    st_buf_free(&lines);
    return rc;
}
