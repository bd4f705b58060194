/* SPDX-License-Identifier: MIT
 * A choice of schedules as text, Markdown, JSON and a page. */
#ifndef ST_REPORT_PLAN_REPORT_H
#define ST_REPORT_PLAN_REPORT_H

#include "plan/choose.h"
#include "report/json.h"

/* At most 80 columns: the table of schedules, those that are impossible with their reasons, and the answer. */
void st_plan_text(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin, bool color);

void st_plan_markdown(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin);

/* Schema stretto-plan/1 (docs/PLAN.md); the caller's reference. */
json_t *st_plan_json(const st_choice *choice, const st_costs *costs, const st_origin *origin);

/* JSON of trace events for Perfetto and chrome://tracing: what was predicted of each possible schedule and, where it
 * was run, what was measured; the caller's reference. */
json_t *st_plan_trace(const st_choice *choice, const st_costs *costs, const st_origin *origin);

/* A page of its own for a browser: the answer, predicted and measured side by side, and what ran when under each
 * possible schedule; the data as st_plan_json. Simulates each schedule once more. */
void st_plan_html(st_buf *out, const st_choice *choice, const st_costs *costs, const st_origin *origin);

/* What a simulation gave, as in "predicted"; units are the schedule's. And what it was simulated for, as in "workload".
 */
json_t *st_predicted_json(const st_sim_result *result, const st_schedule *schedule);
json_t *st_workload_json(const st_workload *workload);

#endif
