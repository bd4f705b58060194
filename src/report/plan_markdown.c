/* SPDX-License-Identifier: MIT */
#include "report/plan_report.h"
#include "report/plan_words.h"
#include "report/text.h"

static void busy(st_buf *out, const st_choice_row *row) {
    for (uint32_t u = 0; u < row->schedule.n_units; u++) {
        st_buf_text(out, u ? ", " : " ");
        st_text_cell(out, row->schedule.units[u]);
        st_buf_printf(out, " %.0f %%", 100 * row->result.utilisation[u]);
    }
}

static void table_row(st_buf *out, const st_choice_row *row, enum st_goal goal) {
    const st_sim_result *r = &row->result;
    st_figure score, all, each, first, gap;
    st_buf_text(out, "| ");
    st_text_cell(out, row->title);
    if (st_plan_goal_column(goal)) st_buf_printf(out, " | %s", st_figure_ms(score, row->score));
    st_buf_printf(out, " | %s | %s | %s | %s | %.0f |", st_figure_of(all, r->tokens_per_s),
                  st_figure_of(each, r->stream_tokens_per_s), st_figure_ms(first, r->ttft_ns),
                  st_figure_ms(gap, r->gap_ns), (double)r->memory_bytes / 1e6);
    busy(out, row);
    st_buf_text(out, " |\n");
}

static void table(st_buf *out, const st_choice *choice) {
    const char *column = st_plan_goal_column(choice->goal);
    st_buf_text(out, "\n## Predicted\n\n| schedule |");
    if (column) st_buf_printf(out, " %s |", column);
    st_buf_printf(out,
                  " tokens/s | each stream | first token, ms | between tokens, ms | memory, MB | busy |\n"
                  "| --- | %s---: | ---: | ---: | ---: | ---: | --- |\n",
                  column ? "---: | " : "");
    for (size_t i = 0; i < choice->n_possible; i++) table_row(out, &choice->rows[i], choice->goal);
    st_buf_printf(out,
                  "\nFrom best to worst by the time %s. tokens/s: all tokens but each stream's first, over the time in "
                  "which any stream decodes.\n",
                  st_plan_goal_text(choice->goal));
}

static void measured_row(st_buf *out, const st_choice_row *row) {
    const st_measured *m = &row->measured;
    st_figure all, expected, first, expected_first;
    st_buf_text(out, "| ");
    st_text_cell(out, row->title);
    st_buf_printf(out, " | %s | %s | ", st_figure_of(all, m->tokens_per_s),
                  st_figure_of(expected, row->result.tokens_per_s));
    st_plan_above_text(out, m->tokens_per_s, row->result.tokens_per_s, m->rate_margin);
    st_buf_printf(out, " | %s | %s | ", st_figure_ms(first, m->ttft_ns),
                  st_figure_ms(expected_first, row->result.ttft_ns));
    st_plan_above_text(out, m->ttft_ns, row->result.ttft_ns, m->ttft_margin);
    st_buf_text(out, " |\n");
}

static void measured(st_buf *out, const st_choice *choice) {
    st_plan_checked checked = st_plan_check_of(choice);
    if (checked.n == 0) return;
    st_buf_text(out, "\n## Measured\n\n"
                     "| schedule | tokens/s | predicted | difference | first token, ms | predicted | difference |\n"
                     "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < choice->n_possible; i++)
        if (choice->rows[i].measured.done) measured_row(out, &choice->rows[i]);
    st_buf_text(out, "\n- Measured the fastest: ");
    st_text_markdown(out, checked.best->title);
    st_buf_printf(out, ".\n- Predicted within %g %%: ", ST_PLAN_CLOSE);
    st_plan_checked_text(out, &checked);
    if (checked.n_steps > 0) {
        st_buf_text(out, ".\n- With steps as they took: ");
        st_plan_checked_steps_text(out, &checked);
    }
    if (checked.rounds > 1) {
        st_buf_text(out, ".\n- Differences: ");
        st_plan_rounds_text(out, &checked);
    }
    st_buf_text(out, ".\n");
}

static void impossible(st_buf *out, const st_choice *choice) {
    if (choice->n_possible == choice->n_rows) return;
    st_buf_text(out, "\n## Not possible\n\n");
    for (size_t i = choice->n_possible; i < choice->n_rows; i++) {
        st_buf_text(out, "- ");
        st_text_markdown(out, choice->rows[i].title);
        st_buf_text(out, ": ");
        st_text_markdown(out, choice->rows[i].why);
        st_buf_text(out, ".\n");
    }
}

static void answer(st_buf *out, const st_choice *choice) {
    st_buf_text(out, "# Plan\n\n");
    if (choice->n_possible == 0) {
        st_buf_text(out, "No schedule is possible.\n\n");
        return;
    }
    st_buf path = {0};
    st_buf_text(out, "**");
    st_text_markdown(out, choice->reason);
    st_buf_text(out, ".**");
    if (choice->turn[0]) {
        st_buf_text(out, " ");
        st_text_markdown(out, choice->turn);
        st_buf_text(out, ".");
    }
    st_plan_path_text(&path, &choice->rows[0]);
    st_buf_text(out, "\n\nCritical path: ");
    if (path.data) st_text_markdown(out, path.data);
    out->failed |= path.failed;
    st_buf_free(&path);
    st_buf_text(out, ".\n\n");
}

static void command(st_buf *out, const st_origin *origin) {
    st_buf line = {0};
    st_text_command(&line, origin->argc, origin->argv);
    st_buf_text(out, "\n- Command: ");
    if (line.data) st_text_code(out, line.data);
    out->failed |= line.failed;
    st_buf_free(&line);
}

static void conditions(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    if (costs->title[0]) {
        st_buf_text(out, "- Model: ");
        st_text_markdown(out, costs->title);
        st_buf_text(out, "\n");
    }
    st_buf_text(out, "- Workload: ");
    st_plan_task_text(out, choice);
    if (costs->measured[0]) {
        st_buf_text(out, "\n- Costs: ");
        st_text_markdown(out, costs->measured);
    }
    if (origin && origin->host) {
        st_buf_text(out, "\n- Host: ");
        st_text_markdown(out, origin->host->cpu_model);
        st_buf_text(out, ", ");
        st_text_host(out, origin->host, origin->others ? *origin->others : -1);
    }
    if (origin && origin->argv) command(out, origin);
    st_buf_text(out, "\n");
}

void st_plan_markdown(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    answer(out, choice);
    conditions(out, choice, costs, origin);
    if (choice->n_possible) table(out, choice);
    measured(out, choice);
    impossible(out, choice);
}
