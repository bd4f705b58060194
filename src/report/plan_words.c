/* SPDX-License-Identifier: MIT */
#include "report/plan_words.h"

#include <math.h>

double st_plan_above(double measured, double predicted) {
    return predicted > 0 ? 100 * (measured / predicted - 1) : 0;
}

void st_plan_above_text(st_buf *out, double measured, double predicted, double margin) {
    st_buf_printf(out, "%+.0f ", st_plan_above(measured, predicted) + 0.0);
    if (margin > 0) st_buf_printf(out, "±%.0f ", 100 * margin);
    st_buf_text(out, "%");
}

/* What the goal compares, as far as measured figures have it: of a throughput the time of a token rather than when all
 * is done. */
static double measured_score(const st_choice *choice, const st_measured *m) {
    const double n = choice->workload.generate, rate = m->stream_tokens_per_s;
    switch (choice->goal) {
    case ST_GOAL_TTFT:
        return m->ttft_ns;
    case ST_GOAL_LATENCY:
        return n > 1 ? (m->ttft_ns + (n - 1) * (rate > 0 ? 1e9 / rate : INFINITY)) / n : m->ttft_ns;
    default:
        return m->tokens_per_s > 0 ? 1e9 / m->tokens_per_s : INFINITY;
    }
}

static void count_steps(st_plan_checked *checked, const st_measured *m) {
    const st_sim_rates *with = &m->with_steps;
    if (!(with->ttft_ns > 0)) return;
    checked->n_steps++;
    checked->steps_rates += fabs(st_plan_above(m->tokens_per_s, with->tokens_per_s)) <= ST_PLAN_CLOSE;
    checked->steps_first += fabs(st_plan_above(m->ttft_ns, with->ttft_ns)) <= ST_PLAN_CLOSE;
}

st_plan_checked st_plan_check_of(const st_choice *choice) {
    st_plan_checked checked = {0};
    for (size_t i = 0; i < choice->n_possible; i++) {
        const st_choice_row *row = &choice->rows[i];
        const st_measured *m = &row->measured;
        if (!m->done) continue;
        checked.n++;
        checked.rounds = m->rounds;
        checked.rates += fabs(st_plan_above(m->tokens_per_s, row->result.tokens_per_s)) <= ST_PLAN_CLOSE;
        checked.first += fabs(st_plan_above(m->ttft_ns, row->result.ttft_ns)) <= ST_PLAN_CLOSE;
        count_steps(&checked, m);
        if (!checked.best || measured_score(choice, m) < measured_score(choice, &checked.best->measured))
            checked.best = row;
    }
    return checked;
}

static void checked_text(st_buf *out, unsigned rates, unsigned first, unsigned n) {
    st_buf_printf(out, "tokens/s of %u, the first token of %u of %u schedules", rates, first, n);
}

void st_plan_checked_text(st_buf *out, const st_plan_checked *checked) {
    checked_text(out, checked->rates, checked->first, checked->n);
}

void st_plan_checked_steps_text(st_buf *out, const st_plan_checked *checked) {
    checked_text(out, checked->steps_rates, checked->steps_first, checked->n_steps);
}

void st_plan_rounds_text(st_buf *out, const st_plan_checked *checked) {
    st_buf_printf(out, "means of %u runs each; ±: half of the 95 %% interval of the mean", checked->rounds);
}

void st_plan_path_text(st_buf *out, const st_choice_row *row) {
    const st_sim_path *path = &row->result.path;
    double whole = row->result.end_ns;
    for (uint32_t u = 0; u <= row->schedule.n_units; u++) {
        if (path->unit_ns[u] < 0.0005 * whole) continue;
        st_buf_printf(out, "%s %.1f %%, ", u < row->schedule.n_units ? row->schedule.units[u] : "host",
                      100 * path->unit_ns[u] / whole);
    }
    st_buf_printf(out, "between them %.1f %%", 100 * path->latency_ns / whole);
}

void st_plan_task_text(st_buf *out, const st_choice *choice) {
    const st_workload *w = &choice->workload;
    st_buf_printf(out, "%u stream%s, %u token%s of prompt, %u to generate%s; for %s", w->streams,
                  w->streams == 1 ? "" : "s", w->prompt, w->prompt == 1 ? "" : "s", w->generate,
                  w->streams == 1 ? "" : " each", st_goal_names[choice->goal]);
}

const char *st_plan_goal_column(enum st_goal goal) {
    static const char *const columns[] = {
        [ST_GOAL_LATENCY] = "ms/token", [ST_GOAL_THROUGHPUT] = "done, ms", [ST_GOAL_TTFT] = NULL};
    return columns[goal];
}

const char *st_plan_goal_text(enum st_goal goal) {
    static const char *const texts[] = {
        [ST_GOAL_LATENCY] = "from handing over to a stream's last token, over its tokens",
        [ST_GOAL_THROUGHPUT] = "from handing over until all streams have their last token",
        [ST_GOAL_TTFT] = "from handing over to the first token, mean over the streams",
    };
    return texts[goal];
}
