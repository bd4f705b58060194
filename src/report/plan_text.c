/* SPDX-License-Identifier: MIT */
#include "report/plan_report.h"
#include "report/plan_words.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 80
#define TITLE_WIDTH 32 /* with the column of the goal, where it has one */
#define GOAL_WIDTH 9
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Mean over the schedule's units. */
static double busy(const st_choice_row *row) {
    double sum = 0;
    for (uint32_t u = 0; u < row->schedule.n_units; u++) sum += row->result.utilisation[u];
    return sum / row->schedule.n_units;
}

static int title_width(enum st_goal goal) {
    return st_plan_goal_column(goal) ? TITLE_WIDTH - GOAL_WIDTH : TITLE_WIDTH;
}

static void row_text(st_buf *out, const st_choice_row *row, enum st_goal goal) {
    const st_sim_result *r = &row->result;
    st_figure score, all, each, first, gap;
    size_t width = (size_t)title_width(goal), length = strlen(row->title);
    st_buf_text(out, "  ");
    st_text_wrap(out, row->title, 2, 4, WIDTH);
    if (length > width) st_buf_text(out, "\n  ");
    st_buf_printf(out, "%*s", (int)(length > width ? width : width - length), "");
    if (st_plan_goal_column(goal)) st_buf_printf(out, " %*s", GOAL_WIDTH - 1, st_figure_ms(score, row->score));
    st_buf_printf(out, " %8s %6s %8s %7s %6.0f %3.0f %%\n", st_figure_of(all, r->tokens_per_s),
                  st_figure_of(each, r->stream_tokens_per_s), st_figure_ms(first, r->ttft_ns),
                  st_figure_ms(gap, r->gap_ns), (double)r->memory_bytes / 1e6, 100 * busy(row));
}

static void measured_text(st_buf *out, const st_choice_row *row) {
    const st_measured *m = &row->measured;
    if (m->why[0]) {
        st_buf_text(out, "    not measured: ");
        st_text_wrap(out, m->why, 18, 6, WIDTH);
        st_buf_text(out, "\n");
    }
    if (!m->done) return;
    st_buf title = {0};
    st_figure all, each, first;
    st_buf_text(&title, "    measured ");
    st_plan_above_text(&title, m->tokens_per_s, row->result.tokens_per_s, m->rate_margin);
    st_buf_text(&title, ", first ");
    st_plan_above_text(&title, m->ttft_ns, row->result.ttft_ns, m->ttft_margin);
    st_figure_of(all, m->tokens_per_s);
    out->failed |= title.failed;
    if (!title.failed)
        st_buf_printf(out, "%s %*s %6s %8s\n", title.data,
                      TITLE_WIDTH + 2 + 8 - (int)st_text_columns(title.data, title.len), all,
                      st_figure_of(each, m->stream_tokens_per_s), st_figure_ms(first, m->ttft_ns));
    st_buf_free(&title);
}

static void impossible_text(st_buf *out, const st_choice *choice) {
    if (choice->n_possible == choice->n_rows) return;
    st_buf_text(out, "\n  not possible\n");
    for (size_t i = choice->n_possible; i < choice->n_rows; i++) {
        st_buf line = {0};
        st_buf_printf(&line, "%s: %s", choice->rows[i].title, choice->rows[i].why);
        st_buf_text(out, "  ");
        if (line.failed) out->failed = true;
        if (!line.failed) st_text_wrap(out, line.data, 2, 4, WIDTH);
        st_buf_text(out, "\n");
        st_buf_free(&line);
    }
}

/* A paragraph below the table, whose lines but the first begin after indent columns. Frees line. */
static void line_text(st_buf *out, st_buf *line, size_t indent) {
    st_buf_text(out, "  ");
    out->failed |= line->failed;
    if (!line->failed) st_text_wrap(out, line->data, 2, indent, WIDTH);
    st_buf_text(out, "\n");
    st_buf_free(line);
}

static void path_text(st_buf *out, const st_choice_row *row) {
    st_buf line = {0};
    st_buf_text(&line, "critical path: ");
    st_plan_path_text(&line, row);
    line_text(out, &line, 8);
}

static void answer_text(st_buf *out, const st_choice *choice, bool color) {
    st_buf_text(out, "\n  ");
    if (choice->n_possible == 0) {
        st_buf_text(out, "no schedule is possible\n");
        return;
    }
    if (color) st_buf_text(out, BOLD);
    st_buf_text(out, "best: ");
    st_text_wrap(out, choice->reason, 8, 8, WIDTH);
    if (color) st_buf_text(out, PLAIN);
    st_buf_text(out, "\n");
    if (choice->turn[0]) {
        st_buf_text(out, "  ");
        st_text_wrap(out, choice->turn, 2, 8, WIDTH);
        st_buf_text(out, "\n");
    }
    path_text(out, &choice->rows[0]);
}

static void table_text(st_buf *out, const st_choice *choice) {
    enum st_goal goal = choice->goal;
    st_buf line = {0};
    st_buf_printf(out, "\n  %-*s", title_width(goal), "predicted");
    if (st_plan_goal_column(goal)) st_buf_printf(out, " %*s", GOAL_WIDTH - 1, st_plan_goal_column(goal));
    st_buf_printf(out, " %8s %6s %8s %7s %6s %5s\n", "tokens/s", "each", "first ms", "gap ms", "MB", "busy");
    for (size_t i = 0; i < choice->n_possible; i++) {
        row_text(out, &choice->rows[i], goal);
        measured_text(out, &choice->rows[i]);
    }
    st_buf_printf(&line,
                  "in order of %s: %s; each: tokens/s of one stream; first: until its first token; gap: between two; "
                  "MB: weights and KV; busy: mean of the units",
                  st_plan_goal_column(goal) ? st_plan_goal_column(goal) : "first ms", st_plan_goal_text(goal));
    line_text(out, &line, 2);
}

/* How many predictions were within a tenth of what was measured. */
static void checked_text(st_buf *out, const st_choice *choice) {
    st_plan_checked checked = st_plan_check_of(choice);
    st_buf line = {0};
    if (checked.n == 0) return;
    st_buf_printf(&line, "predicted within %g %%: ", ST_PLAN_CLOSE);
    st_plan_checked_text(&line, &checked);
    line_text(out, &line, 8);
    if (checked.n_steps > 0) {
        st_buf_text(&line, "with steps as they took: ");
        st_plan_checked_steps_text(&line, &checked);
        line_text(out, &line, 8);
    }
    if (checked.rounds > 1) {
        st_plan_rounds_text(&line, &checked);
        line_text(out, &line, 8);
    }
    st_buf_printf(&line, "measured the fastest: %s", checked.best->title);
    line_text(out, &line, 8);
}

void st_plan_text(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin, bool color) {
    if (costs->title[0]) {
        st_text_wrap(out, costs->title, 0, 2, WIDTH);
        st_buf_text(out, "\n");
    }
    if (origin && origin->host) {
        st_text_host(out, origin->host, origin->others ? *origin->others : -1);
        st_buf_text(out, "\n");
    }
    st_plan_task_text(out, choice);
    st_buf_text(out, "\n");
    if (costs->measured[0]) {
        st_buf_text(out, "costs: ");
        st_text_wrap(out, costs->measured, 7, 2, WIDTH);
        st_buf_text(out, "\n");
    }
    if (choice->n_possible > 0) table_text(out, choice);
    impossible_text(out, choice);
    answer_text(out, choice, color);
    checked_text(out, choice);
}
