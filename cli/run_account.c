/* SPDX-License-Identifier: MIT */
#include "run_account.h"

#include "base/error.h"
#include "base/utf8.h"
#include "report/plan_report.h"
#include "run/schedule.h"
#include "json/build.h"

#include <stdio.h>

/* ---- the steps of a run ---- */

int run_expected_watch(run_expected *e, const st_schedule *schedule, stretto_error *err) {
    stretto_error why = {0};
    if (!e->there || !e->has_costs || schedule->draft != ST_DRAFT_NONE) return STRETTO_OK;
    int rc = st_pace_open(&e->pace, &e->costs, schedule, &why);
    if (rc != STRETTO_E_INPUT) return rc ? st_fail(err, rc, "%s", why.text) : STRETTO_OK;
    return STRETTO_OK; /* the costs are of other units or chunks: the account will say so */
}

void run_expected_see(run_expected *e, const st_schedule *schedule, const st_pass_seen *pass) {
    for (uint32_t c = 0; e->pace && c < schedule->n_chunks; c++) {
        st_pace_step step = {.start_ns = pass->start_ns[c],
                             .end_ns = pass->end_ns[c],
                             .chunk = (uint16_t)c,
                             .unit = (uint16_t)st_schedule_station_unit(schedule, pass->station, c),
                             .rows = {pass->n_rows, pass->n_prompt, pass->n_wanted}};
        st_pace_add(e->pace, &step);
    }
}

void run_expected_close(run_expected *e) {
    st_pace_close(e->pace);
    st_costs_free(&e->costs);
    *e = (run_expected){0};
}

/* ---- whether they can be compared ---- */

static void extend(uint32_t range[2], uint32_t value, bool first) {
    if (first || value < range[0]) range[0] = value;
    if (first || value > range[1]) range[1] = value;
}

void run_load_add(run_load *load, uint32_t n_prompt, uint32_t n_generated) {
    extend(load->prompt, n_prompt, load->n == 0);
    extend(load->generated, n_generated, load->n == 0);
    load->n++;
}

/* A token more or less is no other workload, however short the prompts are. */
static bool near(const uint32_t range[2], uint32_t planned) {
    uint64_t slack = planned < 20 ? 1 : planned / 20;
    return range[0] + slack >= planned && range[1] <= planned + slack;
}

static void text_of_range(char *out, size_t size, const uint32_t range[2]) {
    if (range[0] == range[1])
        snprintf(out, size, "%u", range[0]);
    else
        snprintf(out, size, "%u to %u", range[0], range[1]);
}

static void compare_loads(run_account *a, const run_load *load, const st_workload *planned) {
    char prompt[32], generated[32];
    a->comparable =
        load->n == planned->streams && near(load->prompt, planned->prompt) && near(load->generated, planned->generate);
    if (a->comparable) return;
    text_of_range(prompt, sizeof prompt, load->prompt);
    text_of_range(generated, sizeof generated, load->generated);
    snprintf(a->not_compared, sizeof a->not_compared,
             "predicted for %u prompt%s of %u tokens, %u generated; %s %u of %s tokens, %s generated", planned->streams,
             planned->streams == 1 ? "" : "s", planned->prompt, planned->generate,
             load->n == 1 ? "this was" : "these were", load->n, prompt, generated);
}

/* ---- with the steps as they were ---- */

static int simulate_again(run_account *a, const run_expected *e, const st_schedule *schedule, stretto_error *err) {
    st_sim_rates r;
    int rc = st_pace_simulate(e->pace, &a->steps, schedule, &e->workload, &r, err);
    a->with_steps = run_rates_of_sim(&r);
    return rc;
}

static void tell_steps(run_account *a, run_expected *e, const st_schedule *schedule) {
    stretto_error why = {0};
    if (schedule->draft != ST_DRAFT_NONE) {
        snprintf(a->no_steps, sizeof a->no_steps, "how many steps drafts take depends on the text");
    } else if (!e->has_costs) {
        snprintf(a->no_steps, sizeof a->no_steps, "the schedule has no \"costs\", which it was predicted from");
    } else if (!e->pace) {
        snprintf(a->no_steps, sizeof a->no_steps, "the schedule's \"costs\" are of other units or chunks");
    } else {
        a->steps = st_pace_finish(e->pace);
        for (uint32_t u = 0; u < schedule->n_units; u++)
            snprintf(a->units[u], sizeof a->units[u], "%s", schedule->units[u]);
        a->has_steps = simulate_again(a, e, schedule, &why) == STRETTO_OK;
        if (!a->has_steps) snprintf(a->no_steps, sizeof a->no_steps, "%.*s", ST_CUT(why.text, 190));
    }
}

void run_account_of(run_account *out, run_expected *expected, const st_schedule *schedule, const run_rates *measured,
                    const run_load *load) {
    *out = (run_account){.measured = *measured,
                         .predicted = expected->rates,
                         .workload = expected->workload,
                         .has_prediction = expected->there,
                         .for_known = expected->for_known};
    if (!expected->there) return;
    if (expected->for_known)
        compare_loads(out, load, &expected->workload);
    else
        snprintf(out->not_compared, sizeof out->not_compared,
                 "the schedule has no \"workload\", for which it was predicted");
    if (out->comparable) tell_steps(out, expected, schedule);
}

/* ---- text ---- */

#define QUOTIENT_LONG 1e6 /* from here on with an exponent: a schedule may predict anything above 0 */

static void print_quotients(cli *cx, const char *what, const run_rates *measured, const run_rates *predicted) {
    const struct {
        double measured, predicted;
        const char *what;
    } parts[] = {{measured->tokens_per_s, predicted->tokens_per_s, " for tokens/s"},
                 {measured->prefill_tokens_per_s, predicted->prefill_tokens_per_s, " for prompts"},
                 {measured->ttft_ms, predicted->ttft_ms, " for the first token"}};
    st_buf text = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!(parts[i].measured > 0 && parts[i].predicted > 0)) continue;
        const double quotient = parts[i].measured / parts[i].predicted;
        st_buf_printf(&text, quotient < QUOTIENT_LONG ? "%s%.2f%s" : "%s%.3g%s", text.len ? ", " : "", quotient,
                      parts[i].what);
    }
    if (text.len > 0 && !text.failed) cli_note(cx, "%s: %s", what, text.data);
    st_buf_free(&text);
}

static void print_steps(cli *cx, const run_account *a) {
    double decode = a->steps.decode, prefill = a->steps.prefill;
    if (decode > 0 && prefill > 0)
        cli_note(cx, "steps took %.2f times as long as planned, those of prompts %.2f", decode, prefill);
    else
        cli_note(cx, "steps took %.2f times as long as planned", decode > 0 ? decode : prefill);
    print_quotients(cx, "the rest", &a->measured, &a->with_steps);
}

void run_account_print(cli *cx, const run_account *a) {
    run_rates_print(cx, "measured", &a->measured);
    if (!a->has_prediction) return;
    run_rates_print(cx, "predicted", &a->predicted);
    if (!a->comparable) {
        cli_note(cx, "not to be compared: %s", a->not_compared);
        return;
    }
    print_quotients(cx, "measured over predicted", &a->measured, &a->predicted);
    if (a->has_steps)
        print_steps(cx, a);
    else
        cli_note(cx, "steps are not compared: %s", a->no_steps);
}

/* ---- JSON ---- */

static json_t *factor_json(double factor) {
    return factor > 0 ? st_json_real(factor) : json_null();
}

static json_t *steps_json(const run_account *a) {
    json_t *object = json_object(), *units = json_array();
    for (uint32_t u = 0; u < a->steps.n_units; u++) {
        json_t *unit = json_object();
        st_json_set(&unit, "unit", st_json_text(a->units[u]));
        st_json_set(&unit, "decode", factor_json(a->steps.unit_decode[u]));
        st_json_set(&unit, "prefill", factor_json(a->steps.unit_prefill[u]));
        st_json_append(&units, unit);
    }
    st_json_set(&object, "decode", factor_json(a->steps.decode));
    st_json_set(&object, "prefill", factor_json(a->steps.prefill));
    st_json_set(&object, "units", units);
    return object;
}

json_t *run_account_json(const run_account *a) {
    json_t *object = json_object();
    st_json_set(&object, "measured", run_rates_json(&a->measured));
    if (!a->has_prediction) return object;
    st_json_set(&object, "predicted", run_rates_json(&a->predicted));
    if (a->for_known) st_json_set(&object, "workload", st_workload_json(&a->workload));
    if (!a->comparable) st_json_set(&object, "not_compared", st_json_text(a->not_compared));
    if (a->no_steps[0]) st_json_set(&object, "steps_not_compared", st_json_text(a->no_steps));
    if (!a->has_steps) return object;
    st_json_set(&object, "steps_over_planned", steps_json(a));
    st_json_set(&object, "predicted_with_steps", run_rates_json(&a->with_steps));
    return object;
}
