/* SPDX-License-Identifier: MIT */
#include "plan_rounds.h"

#include "base/error.h"
#include "stat/stat.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A figure of a run: where it stands, and whether it is a rate. What is averaged is time, as costs are over their
 * turns: of a rate the inverse. */
typedef struct figure {
    size_t at;
    bool is_rate;
} figure;

#define RATES_AT(rates, field) (offsetof(schedule_run, rates) + offsetof(run_rates, field))

static const figure rate = {RATES_AT(measured, tokens_per_s), true}, first = {RATES_AT(measured, ttft_ms), false};

int plan_rounds_open(plan_rounds *r, size_t n_rows, bool looked, stretto_error *err) {
    size_t n = n_rows * PLAN_ROUNDS_MOST;
    *r = (plan_rounds){.runs = calloc(n + 1, sizeof *r->runs), .n_rows = n_rows, .looked = looked};
    return r->runs ? STRETTO_OK : st_fail_memory(err, "the runs of a check", n * sizeof *r->runs);
}

void plan_rounds_close(plan_rounds *r) {
    free(r->runs);
    *r = (plan_rounds){0};
}

schedule_run *plan_rounds_now(plan_rounds *r, size_t row) {
    return &r->runs[row * PLAN_ROUNDS_MOST + r->n];
}

/* A row's times of all rounds; unknown ones are 0. */
static void times_of(const plan_rounds *r, size_t row, figure f, double times[PLAN_ROUNDS_MOST]) {
    for (uint32_t i = 0; i < r->n; i++) {
        memcpy(&times[i], (const char *)&r->runs[row * PLAN_ROUNDS_MOST + i] + f.at, sizeof times[i]);
        if (f.is_rate && times[i] > 0) times[i] = 1 / times[i];
    }
}

static double mean_of(const plan_rounds *r, size_t row, figure f) {
    double times[PLAN_ROUNDS_MOST];
    times_of(r, row, f, times);
    double mean = st_mean_unstalled(times, r->n);
    return f.is_rate && mean > 0 ? 1 / mean : mean;
}

/* As a part of the mean, of which a stall is left out as there. 0 where there is nothing to tell it from. */
static double margin_of(const plan_rounds *r, size_t row, figure f) {
    double times[PLAN_ROUNDS_MOST];
    times_of(r, row, f, times);
    const double mean = st_mean_unstalled(times, r->n), most = 2 * st_median(times, r->n);
    for (uint32_t i = 0; i < r->n; i++) times[i] = fmin(times[i], most);
    return r->n > 1 && mean > 0 ? st_mean_margin(times, r->n, r->looked ? ST_LEVEL_LOOKS : ST_LEVEL_FIXED) / mean : 0;
}

bool plan_rounds_enough(const plan_rounds *r, const st_choice *choice) {
    if (r->n < PLAN_ROUNDS_LEAST || (r->n & (r->n - 1)) != 0) return false;
    for (size_t i = 0; i < r->n_rows; i++) {
        if (choice->rows[i].measured.why[0]) continue;
        if (margin_of(r, i, rate) > PLAN_MARGIN || margin_of(r, i, first) > PLAN_MARGIN) return false;
    }
    return true;
}

#define MEAN_RATES(r, row, rates)                                                                                      \
    ((st_sim_rates){mean_of(r, row, (figure){RATES_AT(rates, tokens_per_s), true}),                                    \
                    mean_of(r, row, (figure){RATES_AT(rates, stream_tokens_per_s), true}),                             \
                    mean_of(r, row, (figure){RATES_AT(rates, prefill_tokens_per_s), true}),                            \
                    1e6 * mean_of(r, row, (figure){RATES_AT(rates, ttft_ms), false})})

static void note_row(const plan_rounds *r, size_t row, st_measured *m) {
    const st_sim_rates measured = MEAN_RATES(r, row, measured);
    m->done = true;
    m->rounds = r->n;
    m->tokens_per_s = measured.tokens_per_s;
    m->stream_tokens_per_s = measured.stream_tokens_per_s;
    m->prefill_tokens_per_s = measured.prefill_tokens_per_s;
    m->ttft_ns = measured.ttft_ns;
    m->rate_margin = margin_of(r, row, rate);
    m->ttft_margin = margin_of(r, row, first);
    m->decode_pace = mean_of(r, row, (figure){offsetof(schedule_run, decode_pace), false});
    m->prefill_pace = mean_of(r, row, (figure){offsetof(schedule_run, prefill_pace), false});
    m->with_steps = MEAN_RATES(r, row, with_steps);
}

void plan_rounds_note(const plan_rounds *r, st_choice *choice) {
    for (size_t i = 0; i < r->n_rows && r->n > 0; i++)
        if (!choice->rows[i].measured.why[0]) note_row(r, i, &choice->rows[i].measured);
}
