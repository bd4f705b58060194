/* SPDX-License-Identifier: MIT */
#include "report/plan_report.h"
#include "report/plan_words.h"
#include "report/text.h"

static void table(st_buf *out, const st_choice *choice) {
    st_buf_text(out,
                "| schedule | tokens/s | each stream | first token, ms | between tokens, ms | memory, MB | busy |\n"
                "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (size_t i = 0; i < choice->n_possible; i++) {
        const st_choice_row *row = &choice->rows[i];
        const st_sim_result *r = &row->result;
        st_figure all, each, first, gap;
        st_buf_text(out, "| ");
        st_text_cell(out, row->title);
        st_buf_printf(out, " | %s | %s | %s | %s | %.0f |", st_figure_of(all, r->tokens_per_s),
                      st_figure_of(each, r->stream_tokens_per_s), st_figure_ms(first, r->ttft_ns),
                      st_figure_ms(gap, r->gap_ns), (double)r->memory_bytes / 1e6);
        for (uint32_t u = 0; u < row->schedule.n_units; u++) {
            st_buf_text(out, u ? ", " : " ");
            st_text_cell(out, row->schedule.units[u]);
            st_buf_printf(out, " %.0f %%", 100 * r->utilisation[u]);
        }
        st_buf_text(out, " |\n");
    }
}

static void measured(st_buf *out, const st_choice *choice) {
    bool any = false;
    for (size_t i = 0; i < choice->n_possible; i++) {
        const st_choice_row *row = &choice->rows[i];
        const st_measured *m = &row->measured;
        if (!m->done) continue;
        if (!any)
            st_buf_text(out, "\n## Measured\n\n| schedule | tokens/s | predicted | first token, ms | predicted |\n"
                             "| --- | ---: | ---: | ---: | ---: |\n");
        any = true;
        st_figure all, expected, first, expected_first;
        st_buf_text(out, "| ");
        st_text_cell(out, row->title);
        st_buf_printf(out, " | %s | %s | %s | %s |\n", st_figure_of(all, m->tokens_per_s),
                      st_figure_of(expected, row->result.tokens_per_s), st_figure_ms(first, m->ttft_ns),
                      st_figure_ms(expected_first, row->result.ttft_ns));
    }
}

static void impossible(st_buf *out, const st_choice *choice) {
    if (choice->n_possible == choice->n_rows) return;
    st_buf_text(out, "\n## Not possible\n\n");
    for (size_t i = choice->n_possible; i < choice->n_rows; i++)
        st_buf_printf(out, "- %s: %s.\n", choice->rows[i].title, choice->rows[i].why);
}

void st_plan_markdown(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    st_buf_text(out, "# Plan\n\n");
    if (choice->n_possible == 0) {
        st_buf_text(out, "No schedule is possible.\n");
    } else {
        st_buf_printf(out, "**%s.** %s%s\n", choice->reason, choice->turn, choice->turn[0] ? "." : "");
    }
    st_buf_text(out, "\n");
    if (costs->title[0]) st_buf_printf(out, "- Model: %s\n", costs->title);
    st_buf_text(out, "- Workload: ");
    st_plan_task_text(out, choice);
    if (costs->measured[0]) st_buf_printf(out, "\n- Costs: %s", costs->measured);
    if (origin && origin->host) {
        st_buf_printf(out, "\n- Host: %s, ", origin->host->cpu_model);
        st_text_host(out, origin->host, -1);
    }
    if (origin && origin->argv) {
        st_buf_text(out, "\n- Command: `");
        st_text_command(out, origin->argc, origin->argv);
        st_buf_text(out, "`");
    }
    st_buf_text(out, "\n\n## Predicted\n\n");
    if (choice->n_possible) table(out, choice);
    measured(out, choice);
    impossible(out, choice);
}
