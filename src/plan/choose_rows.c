/* SPDX-License-Identifier: MIT
 * What becomes of a schedule that is considered: a row with what it comes to, or why it is impossible. */
#include "base/error.h"
#include "base/utf8.h"
#include "plan/choose_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double chooser_score(enum st_goal goal, const st_sim_result *r) {
    return goal == ST_GOAL_LATENCY ? r->latency_ns : goal == ST_GOAL_THROUGHPUT ? r->end_ns : r->ttft_ns;
}

/* The micro-batch with which one prompt is read soonest. */
static uint32_t best_micro_batch(const chooser *c, const st_schedule *s) {
    static const uint32_t sizes[] = {16, 32, 64, 128, 256};
    st_workload prompt = {1, c->workload->prompt, 1};
    st_schedule tried = *s;
    double least = INFINITY;
    uint32_t best = s->micro_batch;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        st_sim_result result;
        tried.micro_batch = sizes[i];
        if (st_simulate(&result, c->costs, &tried, &prompt, &(st_sim_options){.seed = c->seed, .cancel = c->cancel},
                        NULL))
            continue;
        if (result.ttft_ns < least * (1 - 1e-9)) least = result.ttft_ns, best = sizes[i];
        st_sim_result_free(&result);
        if (sizes[i] >= prompt.prompt) break;
    }
    return best;
}

double chooser_try(const chooser *c, const st_schedule *s) {
    st_schedule best = *s;
    st_sim_result result;
    st_sim_options options = {.seed = c->seed, .cancel = c->cancel};
    best.micro_batch = best_micro_batch(c, s);
    if (st_simulate(&result, c->costs, &best, c->workload, &options, NULL)) return INFINITY;
    double score = chooser_score(c->out->goal, &result);
    st_sim_result_free(&result);
    return score;
}

static st_choice_row *new_row(chooser *c, const st_schedule *s) {
    st_choice *out = c->out;
    if (out->n_rows == out->cap_rows) {
        size_t cap = out->cap_rows ? 2 * out->cap_rows : 32;
        st_choice_row *rows = realloc(out->rows, cap * sizeof *rows);
        if (!rows) {
            c->code = st_fail_memory(c->err, "the schedules", cap * sizeof *rows);
            return NULL;
        }
        out->rows = rows;
        out->cap_rows = cap;
    }
    st_choice_row *row = &out->rows[out->n_rows++];
    *row = (st_choice_row){.schedule = *s};
    return row;
}

static void name_row(st_choice_row *row, const char *title) {
    snprintf(row->title, sizeof row->title, "%.*s", ST_CUT(title, sizeof row->title - 1));
}

static void set_title(st_choice_row *row) {
    st_buf title = {0};
    st_schedule_title(&title, &row->schedule);
    name_row(row, title.failed ? "" : title.data);
    st_buf_free(&title);
}

void chooser_add_impossible(chooser *c, const st_schedule *s, const char *title, const char *why) {
    st_choice_row *row = c->code ? NULL : new_row(c, s);
    if (!row) return;
    name_row(row, title);
    snprintf(row->why, sizeof row->why, "%s", why);
}

void chooser_predict(chooser *c, st_choice_row *row) {
    stretto_error why = {0};
    st_sim_result_free(&row->result);
    row->possible = false;
    st_sim_options options = {.seed = c->seed, .record = true, .cancel = c->cancel}; /* for the critical path */
    int code = st_simulate(&row->result, c->costs, &row->schedule, c->workload, &options, &why);
    free(row->result.events);
    row->result.events = NULL;
    row->result.n_events = 0;
    if (code == STRETTO_OK) {
        row->possible = true;
        row->score = chooser_score(c->out->goal, &row->result);
    } else if (code == STRETTO_E_INPUT) {
        snprintf(row->why, sizeof row->why, "%.*s", ST_CUT(why.text, 310));
    } else {
        c->code = st_fail(c->err, code, "%s", why.text);
    }
}

/* The costs are those of so many threads: a run has to have as many. None are told where there is one a core. */
static void set_threads(const st_costs *costs, st_schedule *s) {
    bool fewer = false;
    for (uint32_t u = 0; u < s->n_units; u++) {
        uint32_t own = st_costs_unit(costs, s->units[u]);
        if (own == ST_COST_NONE) continue;
        s->threads[u] = costs->units[own].n_threads;
        fewer = fewer || (s->threads[u] > 0 && s->threads[u] != costs->units[own].n_cores);
    }
    if (!fewer) memset(s->threads, 0, sizeof s->threads);
}

/* Whether it is possible. */
static bool add_predicted(chooser *c, const st_schedule *s) {
    st_choice_row *row = c->code ? NULL : new_row(c, s);
    if (!row) return false;
    row->schedule.micro_batch = best_micro_batch(c, s);
    set_threads(c->costs, &row->schedule);
    set_title(row);
    chooser_predict(c, row);
    return row->possible;
}

static st_schedule with_streams(const st_schedule *s, uint32_t streams) {
    st_schedule fewer = *s;
    st_schedule_set_streams(&fewer, streams);
    return fewer;
}

/* As many of its streams in flight, at least two, as the memories have room for; 0: none. */
static uint32_t streams_that_fit(const chooser *c, const st_schedule *s) {
    uint64_t tokens = (uint64_t)c->workload->prompt + c->workload->generate;
    uint32_t unit_of[ST_PLAN_UNITS_MAX], fit = 0, least = 2, most = s->streams;
    while (least <= most) {
        uint32_t middle = (least + most) / 2;
        st_schedule fewer = with_streams(s, middle);
        if (st_costs_fit(c->costs, &fewer, tokens, unit_of, NULL)) {
            most = middle - 1;
        } else {
            fit = middle;
            least = middle + 1;
        }
    }
    return fit;
}

st_schedule chooser_fitting(const chooser *c, const st_schedule *s) {
    uint32_t fit = streams_that_fit(c, s);
    return fit > 0 ? with_streams(s, fit) : *s;
}

static bool places_differ(const st_schedule *a, const st_schedule *b) {
    if (a->n_units != b->n_units || a->n_chunks != b->n_chunks) return true;
    for (uint32_t u = 0; u < a->n_units; u++)
        if (strcmp(a->units[u], b->units[u]) != 0) return true;
    for (uint32_t c = 0; c < a->n_chunks; c++)
        if (a->chunks[c].unit != b->chunks[c].unit) return true;
    return false;
}

bool chooser_differ(const st_schedule *a, const st_schedule *b) {
    return a->kind != b->kind || a->streams != b->streams || a->batch != b->batch || a->pipelined != b->pipelined ||
           a->prompt_unit != b->prompt_unit || a->draft != b->draft || a->longest_draft != b->longest_draft ||
           a->draft_unit != b->draft_unit || strcmp(a->draft_model, b->draft_model) != 0 || places_differ(a, b);
}

static bool is_there(const chooser *c, const st_schedule *s) {
    for (size_t i = 0; i < c->out->n_rows; i++) {
        const st_schedule *other = &c->out->rows[i].schedule;
        if (other->kind == s->kind && !chooser_differ(other, s)) return true;
    }
    return false;
}

void chooser_add(chooser *c, const st_schedule *s) {
    if (add_predicted(c, s) || c->code) return;
    st_schedule fewer = chooser_fitting(c, s);
    if (fewer.streams < s->streams && !is_there(c, &fewer)) add_predicted(c, &fewer);
}

void chooser_add_new(chooser *c, const st_schedule *s) {
    if (!is_there(c, s)) chooser_add(c, s);
}
