/* SPDX-License-Identifier: MIT */
#include "report/html.h"
#include "report/page.h"
#include "report/plan_html_impl.h"
#include "report/plan_report.h"
#include "report/plan_words.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* ---- the answer ---- */

/* One finding, whose text it takes. */
static void finding(st_buf *out, const char *term, st_buf *text) {
    st_buf_printf(out, "<li><span class=\"where\">%s</span><div>", term);
    st_html_text(out, text->data ? text->data : "");
    st_buf_text(out, "</div></li>\n");
    out->failed |= text->failed;
    st_buf_free(text);
}

static void check_findings(st_buf *out, const st_choice *choice) {
    st_plan_checked checked = st_plan_check_of(choice);
    st_buf text = {0};
    if (checked.n == 0) return;
    st_buf_text(&text, checked.best->title);
    finding(out, "measured the fastest", &text);
    st_plan_checked_text(&text, &checked);
    finding(out, "predicted within 10 %", &text);
    if (checked.n_steps == 0) return;
    st_plan_checked_steps_text(&text, &checked);
    finding(out, "with steps as they took", &text);
}

/* The reason, with what it begins with, the best schedule, in bold. */
static void best(st_buf *out, const st_choice *choice) {
    const char *title = choice->n_possible ? choice->rows[0].title : "No schedule is possible";
    size_t n = strlen(title);
    st_buf_text(out, "<p class=\"answer\"><strong>");
    st_html_text(out, title);
    st_buf_text(out, "</strong>");
    if (choice->n_possible && strncmp(choice->reason, title, n) == 0) st_html_text(out, choice->reason + n);
    st_buf_text(out, ".</p>\n");
}

static void answer(st_buf *out, const st_choice *choice) {
    static const char *const questions[] = {"Which schedule answers soonest?", "Which schedule is done soonest?",
                                            "Which schedule gives the first token soonest?"};
    st_buf text = {0};
    st_buf_printf(out, "<section class=\"card\">\n<h2>%s</h2>\n", questions[choice->goal]);
    best(out, choice);
    st_buf_text(out, "<ul class=\"findings\">\n");
    check_findings(out, choice);
    if (choice->turn[0]) {
        st_buf_text(&text, choice->turn);
        finding(out, "what would change it", &text);
    }
    if (choice->n_possible) {
        st_plan_path_text(&text, &choice->rows[0]);
        finding(out, "critical path", &text);
    }
    st_buf_text(out, "</ul>\n</section>\n");
}

/* ---- the table ---- */

static void cell(st_buf *out, const char *label, const char *text) {
    st_buf_printf(out, "<td role=\"cell\" data-label=\"%s\">%s</td>", label, text);
}

/* "+3 ±2 %" of what was measured above what was predicted; without a margin where that is unknown. */
static void cell_difference(st_buf *out, const char *label, double measured, double predicted, double margin) {
    double above = st_plan_above(measured, predicted);
    st_buf_printf(out, "<td role=\"cell\" data-label=\"%s\"%s>", label,
                  fabs(above) - 100 * margin > ST_PLAN_CLOSE ? " class=\"far\"" : "");
    st_plan_above_text(out, measured, predicted, margin);
    st_buf_text(out, "</td>");
}

#define GOAL_LABEL 40

/* The label of the goal's column, NULL where it has none. */
static const char *goal_label(char label[static GOAL_LABEL], enum st_goal goal) {
    const char *column = st_plan_goal_column(goal);
    if (column) snprintf(label, GOAL_LABEL, "%s, predicted", column);
    return column ? label : NULL;
}

/* What was measured of a number, and how far that is from the prediction; "-" in both where nothing was. */
static void cells_measured(st_buf *out, const char *const labels[2], bool done, const char *text, double measured,
                           double predicted, double margin) {
    cell(out, labels[0], done ? text : "-");
    if (done)
        cell_difference(out, labels[1], measured, predicted, margin);
    else
        cell(out, labels[1], "-");
}

/* with: the columns of what was measured are there. */
static void table_row(st_buf *out, const st_choice_row *row, size_t at, enum st_goal goal, bool with) {
    static const char *const rate[2] = {"measured", "difference"};
    static const char *const first[2] = {"first token, measured", "first token, difference"};
    const st_sim_result *r = &row->result;
    const st_measured *m = &row->measured;
    st_figure figure;
    st_buf_printf(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><a href=\"#schedule%zu\">", at);
    st_html_text(out, row->title);
    st_buf_text(out, "</a></th>");
    char label[GOAL_LABEL];
    if (goal_label(label, goal)) cell(out, label, st_figure_ms(figure, row->score));
    cell(out, "tokens/s, predicted", st_figure_of(figure, r->tokens_per_s));
    if (with)
        cells_measured(out, rate, m->done, st_figure_of(figure, m->tokens_per_s), m->tokens_per_s, r->tokens_per_s,
                       m->rate_margin);
    cell(out, "first token, ms, predicted", st_figure_ms(figure, r->ttft_ns));
    if (with)
        cells_measured(out, first, m->done, st_figure_ms(figure, m->ttft_ns), m->ttft_ns, r->ttft_ns, m->ttft_margin);
    st_buf_printf(out, "<td role=\"cell\" data-label=\"memory, MB\">%.0f</td></tr>\n", (double)r->memory_bytes / 1e6);
}

static void column(st_buf *out, const char *text) {
    st_buf_printf(out, "<th role=\"columnheader\" scope=\"col\">%s</th>", text);
}

static void head_row(st_buf *out, enum st_goal goal, bool with) {
    char label[GOAL_LABEL];
    column(out, "schedule");
    if (goal_label(label, goal)) column(out, label);
    column(out, "tokens/s, predicted");
    if (with) column(out, "measured");
    if (with) column(out, "difference");
    column(out, "first token, ms, predicted");
    if (with) column(out, "measured");
    if (with) column(out, "difference");
    column(out, "memory, MB");
}

/* Without what was measured where nothing was. */
static void table(st_buf *out, const st_choice *choice) {
    const bool with = st_plan_check_of(choice).n > 0;
    if (choice->n_possible == 0) return;
    st_buf_printf(out,
                  "<section class=\"card\">\n<h2>Predicted%s</h2>\n"
                  "<table class=\"times titled\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">",
                  with ? " and measured" : "");
    head_row(out, choice->goal, with);
    st_buf_text(out, "</tr></thead>\n<tbody role=\"rowgroup\">\n");
    for (size_t i = 0; i < choice->n_possible; i++) table_row(out, &choice->rows[i], i, choice->goal, with);
    st_buf_printf(out,
                  "</tbody></table>\n<p class=\"note\">From best to worst as predicted, by the time %s. tokens/s: all "
                  "tokens but each stream's first, over the time in which any stream decodes%s.</p>\n</section>\n",
                  st_plan_goal_text(choice->goal),
                  with ? "; measured: means of time over the rounds, ±: half of the 95 % interval of such a mean" : "");
}

/* ---- schedules ---- */

/* What the table leaves out. */
static void facts(st_buf *out, const st_choice_row *row) {
    const st_sim_result *r = &row->result;
    st_figure each, measured, gap, last;
    st_buf path = {0};
    st_buf_printf(out, "<p class=\"note\">Each stream: %s tokens/s", st_figure_of(each, r->stream_tokens_per_s));
    if (row->measured.done)
        st_buf_printf(out, " (measured %s)", st_figure_of(measured, row->measured.stream_tokens_per_s));
    st_buf_printf(out, ", %s ms between tokens. All done after %s ms. Critical path: ", st_figure_ms(gap, r->gap_ns),
                  st_figure_ms(last, r->end_ns));
    st_plan_path_text(&path, row);
    st_html_text(out, path.data ? path.data : "");
    out->failed |= path.failed;
    st_buf_free(&path);
    st_buf_text(out, ".");
    if (row->measured.why[0]) {
        st_buf_text(out, " Not measured: ");
        st_html_text(out, row->measured.why);
        st_buf_text(out, ".");
    }
    st_buf_text(out, "</p>\n");
}

static void schedule(st_buf *out, const st_choice *choice, const st_costs *costs, size_t at) {
    const st_choice_row *row = &choice->rows[at];
    st_sim_result again; /* the same seed, so the same as before, this time with its events */
    st_sim_options options = {.seed = choice->seed, .record = true};
    stretto_error err = {0};
    st_buf_printf(out, "<section class=\"card\" id=\"schedule%zu\">\n<h3 class=\"first\">", at);
    st_html_text(out, row->title);
    st_buf_text(out, "</h3>\n");
    facts(out, row);
    if (st_simulate(&again, costs, &row->schedule, &choice->workload, &options, &err)) {
        out->failed = true; /* it was simulated before: only memory can be missing now */
    } else {
        st_html_plan_timeline(out, row, &again);
        st_sim_result_free(&again);
    }
    st_buf_text(out, "</section>\n");
}

static void impossible(st_buf *out, const st_choice *choice) {
    if (choice->n_possible == choice->n_rows) return;
    st_buf_text(out, "<section class=\"card\">\n<h2>Not possible</h2>\n<ul class=\"findings reasons\">\n");
    for (size_t i = choice->n_possible; i < choice->n_rows; i++) {
        st_buf_text(out, "<li><span class=\"where\">");
        st_html_text(out, choice->rows[i].title);
        st_buf_text(out, "</span><div>");
        st_html_text(out, choice->rows[i].why);
        st_buf_text(out, "</div></li>\n");
    }
    st_buf_text(out, "</ul>\n</section>\n");
}

/* What titles, findings and pictures speak of. */
static void words(st_buf *out) {
    static const char *const texts[][2] = {
        {"stream", "one text that is being generated"},
        {"prefill, decode", "reading a prompt; generating, a token a step"},
        {"one thread, threads", "all chunks on one unit, one stream after the other"},
        {"placed", "chunks on several units, one stream after the other"},
        {"staged", "chunks on several units, several streams in flight"},
        {"in one call", "all chunks on one unit; all streams share each call, so that weights are read once for all"},
        {"the whole model on several units", "all chunks on each unit, which has streams of its own"},
        {"prompts on, decode on", "one unit reads prompts and hands them over to the other, which generates"},
        {"micro-batches", "parts of a prompt that pass through the chunks one by one"},
        {"host work beside", "a stream's next step takes its token from the step before, and the host makes text of it "
                             "meanwhile; otherwise the next step waits for the host"},
        {"critical path", "the chain of events, each started by the end of the one before, that ends with the last "
                          "token: what takes part in it decides how long all takes"},
        {"with steps as they took",
         "how many are within 10 % when each schedule is simulated with the pace that its own "
         "steps had; what is off then is the simulation, not the machine's pace"},
        {"overlap factor", "of two steps that start together: 1 where the shorter one costs nothing beside the other, "
                           "0 where both take as long as one after the other"},
    };
    st_buf_text(out, "<section class=\"card\">\n<h2>Words</h2>\n<dl class=\"facts\">\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        st_buf_printf(out, "<dt>%s</dt><dd>%s</dd>\n", texts[i][0], texts[i][1]);
    st_buf_text(out, "</dl>\n</section>\n");
}

static void conditions(st_buf *out, const st_choice *choice, const st_costs *costs, const st_page *page) {
    st_buf text = {0};
    st_buf_text(out, "<section class=\"card\">\n<h2>How it came about</h2>\n"
                     "<p>Every schedule was simulated, call by call, from what each chunk costs on each unit, alone "
                     "and beside the others.");
    if (st_plan_check_of(choice).n > 0)
        st_buf_text(out, " Then each was run, in turns with the others; the pictures show the last of its runs, the "
                         "table means of all. The host's work is not drawn as measured: it has no stamps of its own.");
    st_buf_text(out, "</p>\n<dl class=\"facts\">\n");
    st_page_machine(out, page);
    st_plan_task_text(&text, choice);
    st_page_fact(out, "workload", &text);
    if (costs->measured[0]) {
        st_buf_text(&text, costs->measured);
        st_page_fact(out, "costs", &text);
    }
    st_buf_text(out, "</dl>\n");
    st_page_again(out, page);
    st_buf_text(out, "</section>\n");
}

void st_plan_html(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    st_buf task = {0};
    st_plan_task_text(&task, choice);
    const st_page page = {.kind = "Plan",
                          .title = costs->title,
                          .task = task.failed ? NULL : task.data,
                          .file = "plan.json",
                          .data = "the plan and the costs that it rests on",
                          .others = origin && origin->others ? *origin->others : -1,
                          .origin = origin};
    st_page_begin(out, &page);
    answer(out, choice);
    table(out, choice);
    for (size_t i = 0; i < choice->n_possible; i++) schedule(out, choice, costs, i);
    impossible(out, choice);
    words(out);
    conditions(out, choice, costs, &page);
    st_page_end(out, &page, st_plan_json(choice, costs, origin));
    out->failed |= task.failed;
    st_buf_free(&task);
}
