/* SPDX-License-Identifier: MIT
 * Parts of a plan's page. */
#ifndef ST_REPORT_PLAN_HTML_IMPL_H
#define ST_REPORT_PLAN_HTML_IMPL_H

#include "plan/choose.h"

/* What ran when on each unit under one possible schedule: predicted above, measured below, on one axis. `again` is the
 * row's simulation with its events. */
void st_html_plan_timeline(st_buf *out, const st_choice_row *row, const st_sim_result *again);

#endif
